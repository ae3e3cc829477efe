//! `cargo xtask sdk`: the official A2A clients, installed by name and version, and the tests that use them.
//!
//! Each client gets a folder of its own below `target/sdk`, named after package and version, so that a change of version is
//! a new folder and an old one is never half updated. The tests (`crates/factum/tests/sdk`) look for them there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell;
use crate::steps::Outcome;
use crate::tools::{NODE, PYTHON};

/// One client: its folder, and what is installed into it.
struct Client {
    folder: &'static str,
    installer: Installer,
    packages: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum Installer {
    Pip,
    Npm,
}

/// The newest of each language, and the newest that speaks 0.3. What a package needs beside it is pinned too.
const CLIENTS: &[Client] = &[
    Client {
        folder: "python-1.3.0",
        installer: Installer::Pip,
        packages: &["a2a-sdk[http-server,grpc]==1.3.0", "uvicorn[standard]==0.38.0"],
    },
    Client { folder: "python-0.3.26", installer: Installer::Pip, packages: &["a2a-sdk[grpc]==0.3.26"] },
    Client {
        folder: "js-1.3.0",
        installer: Installer::Npm,
        packages: &["@a2a-js/sdk@1.3.0", "@grpc/grpc-js@1.14.7", "@bufbuild/protobuf@2.17.0"],
    },
    Client { folder: "js-0.3.14", installer: Installer::Npm, packages: &["@a2a-js/sdk@0.3.14"] },
];

/// Installs and runs the tests that use the clients; further arguments go to the test runner.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    install()?;
    shell::run(shell::cargo(&["nextest", "run", "--package", "factum", "--test", "sdk"]).args(args))
}

/// As a step of `cargo xtask test`, before the tests.
pub(crate) fn step() -> Result<Outcome> {
    install().map(|()| Outcome::Passed)
}

pub(crate) fn install() -> Result<()> {
    PYTHON.ensure()?;
    NODE.ensure()?;
    CLIENTS.iter().try_for_each(ensure)
}

fn ensure(client: &Client) -> Result<()> {
    let folder = shell::target_dir().join("sdk").join(client.folder);
    if is_whole(&folder, client) {
        println!("{} is there", client.folder);
        return Ok(());
    }
    println!("{} is missing: installing it", client.folder);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let installed = match client.installer {
        Installer::Pip => pip(&folder, client.packages),
        Installer::Npm => npm(&folder, client.packages),
    };
    installed.with_context(|| {
        let registry = match client.installer {
            Installer::Pip => "PyPI",
            Installer::Npm => "the npm registry",
        };
        format!("the official A2A client {} cannot be installed; is {registry} reachable?", client.folder)
    })?;
    fs::write(mark(&folder), marked(client))?;
    Ok(())
}

fn pip(folder: &Path, packages: &[&str]) -> Result<()> {
    shell::run(shell::program("python3", &["-m", "venv"]).arg(folder))?;
    let pip = folder.join("bin/pip");
    let pip = pip.to_str().context("the target folder's name is not UTF-8")?;
    let quiet = ["install", "--quiet", "--disable-pip-version-check", "--no-input"];
    shell::run(shell::program(pip, &quiet).args(packages))
}

fn npm(folder: &Path, packages: &[&str]) -> Result<()> {
    let quiet = ["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
    shell::run(shell::program("npm", &quiet).arg(folder).args(packages))?;
    // Told to go elsewhere by a setting, npm does not complain.
    if !folder.join("node_modules").is_dir() {
        bail!("npm installed nothing into {}", folder.display());
    }
    Ok(())
}

/// Written last: an installation that was cut off is none.
fn mark(folder: &Path) -> PathBuf {
    folder.join("installed.txt")
}

fn marked(client: &Client) -> String {
    client.packages.join("\n")
}

fn is_whole(folder: &Path, client: &Client) -> bool {
    fs::read_to_string(mark(folder)).is_ok_and(|text| text == marked(client))
}
