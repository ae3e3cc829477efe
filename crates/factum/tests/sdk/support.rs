//! Servers and programs for the clients.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use factum_testkit::{Launch, Server, run, within};
use tempfile::TempDir;
use tokio::process::Command;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_factum");

/// An official client: its language, and the version that is installed.
#[derive(Clone, Copy)]
pub(crate) enum Sdk {
    Python(&'static str),
    Js(&'static str),
}

pub(crate) const PYTHON_1: Sdk = Sdk::Python("1.3.0");
pub(crate) const PYTHON_03: Sdk = Sdk::Python("0.3.26");
pub(crate) const JS_1: Sdk = Sdk::Js("1.3.0");
pub(crate) const JS_03: Sdk = Sdk::Js("0.3.14");

impl Sdk {
    /// A script of `tests/sdk`, run with this client.
    pub(crate) fn script(self, name: &str) -> Command {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sdk").join(name).canonicalize().unwrap();
        let mut command = match self {
            Sdk::Python(version) => Command::new(installed(&format!("python-{version}")).join("bin/python")),
            Sdk::Js(version) => {
                let mut node = Command::new("node");
                node.current_dir(installed(&format!("js-{version}")));
                node
            }
        };
        command.arg(script).stdin(Stdio::null()).kill_on_drop(true);
        command
    }
}

/// Where `cargo xtask sdk` puts a client: beside what Cargo builds.
fn installed(name: &str) -> PathBuf {
    let target = Path::new(BINARY).ancestors().nth(2).unwrap();
    let folder = target.join("sdk").join(name);
    let whole = folder.join("installed.txt").is_file();
    assert!(whole, "the official client {name} is not installed; run `cargo xtask sdk`");
    folder
}

/// `factum serve` with the agent that the clients talk to, and a key for it.
pub(crate) async fn server() -> (TempDir, Server, String) {
    let dir = tempfile::tempdir().unwrap();
    let data_dir = dir.path().join("data");
    let words = ["key", "create", "--principal", "agent://client", "--data-dir", data_dir.to_str().unwrap()];
    let key = run(BINARY, words).await;
    assert_eq!(key.code, Some(0), "{}", key.stderr);
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sdk/factum.toml").canonicalize().unwrap();
    let launch = Launch::serve(BINARY, data_dir).arg("--config").arg(config.display().to_string());
    let server = launch.start().await;
    (dir, server, key.stdout.trim().to_owned())
}

/// Runs a script to its end, which has to be a good one.
pub(crate) async fn succeeds(command: &mut Command, server: &Server) {
    let output = within("a client", command.output()).await.unwrap();
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complained}\nthe server: {}", server.stderr());
}
