//! The programs that chores need beyond Cargo itself: how to see whether one is there, and how to get it.
//!
//! Everything is installed by its package name, with Cargo or with the system's own installer, so a fresh machine needs
//! nothing but Rust and a C compiler.
//! A new need is a new row.

use anyhow::{Context, Result};

use crate::shell;

/// One program.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// A command that succeeds where the program is there.
    probe: &'static [&'static str],
    /// A command that installs it.
    install: &'static [&'static str],
}

pub(crate) const NEXTEST: Tool = Tool {
    name: "cargo-nextest",
    probe: &["cargo", "nextest", "--version"],
    install: &["cargo", "install", "cargo-nextest", "--locked"],
};

pub(crate) const DENY: Tool = Tool {
    name: "cargo-deny",
    probe: &["cargo", "deny", "--version"],
    install: &["cargo", "install", "cargo-deny", "--locked"],
};

pub(crate) const FUZZ: Tool = Tool {
    name: "cargo-fuzz",
    probe: &["cargo", "fuzz", "--version"],
    install: &["cargo", "install", "cargo-fuzz", "--locked"],
};

/// Runs the example of a worker.
pub(crate) const PYTHON: Tool =
    Tool { name: "python3", probe: &["python3", "--version"], install: &["apt-get", "install", "--yes", "python3"] };

/// Runs the official JavaScript client of A2A; brings npm.
pub(crate) const NODE: Tool =
    Tool { name: "npm", probe: &["npm", "--version"], install: &["apt-get", "install", "--yes", "nodejs", "npm"] };

/// What `cargo xtask test` installs before it starts.
pub(crate) const FOR_TESTS: &[&Tool] = &[&NEXTEST, &PYTHON];

impl Tool {
    pub(crate) fn is_present(&self) -> bool {
        shell::succeeds(&mut command(self.probe))
    }

    /// Installs the program unless it is there.
    pub(crate) fn ensure(&self) -> Result<()> {
        if self.is_present() {
            println!("{} is there", self.name);
            return Ok(());
        }
        println!("{} is missing: installing it", self.name);
        shell::run(&mut command(self.install)).with_context(|| format!("cannot install {}", self.name))
    }
}

fn command(words: &[&str]) -> std::process::Command {
    match words {
        ["cargo", args @ ..] => shell::cargo(args),
        [name, args @ ..] => shell::program(name, args),
        [] => shell::cargo(&[]),
    }
}
