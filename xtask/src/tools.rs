//! The programs that chores need beyond Cargo itself: how to see whether one is there, and how to get it.
//!
//! Everything is installed by its package name with Cargo, so a fresh machine needs nothing but Rust and a C compiler.
//! A new need is a new row.

use anyhow::{Context, Result};

use crate::shell;

/// One program.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// Arguments to cargo that succeed where the program is there.
    probe: &'static [&'static str],
    /// Arguments to cargo that install it.
    install: &'static [&'static str],
}

pub(crate) const NEXTEST: Tool = Tool {
    name: "cargo-nextest",
    probe: &["nextest", "--version"],
    install: &["install", "cargo-nextest", "--locked"],
};

pub(crate) const DENY: Tool =
    Tool { name: "cargo-deny", probe: &["deny", "--version"], install: &["install", "cargo-deny", "--locked"] };

pub(crate) const FUZZ: Tool =
    Tool { name: "cargo-fuzz", probe: &["fuzz", "--version"], install: &["install", "cargo-fuzz", "--locked"] };

/// What `cargo xtask test` installs before it starts.
pub(crate) const FOR_TESTS: &[&Tool] = &[&NEXTEST];

impl Tool {
    pub(crate) fn is_present(&self) -> bool {
        shell::succeeds(&mut shell::cargo(self.probe))
    }

    /// Installs the program unless it is there.
    pub(crate) fn ensure(&self) -> Result<()> {
        if self.is_present() {
            println!("{} is there", self.name);
            return Ok(());
        }
        println!("{} is missing: installing it", self.name);
        shell::run(&mut shell::cargo(self.install)).with_context(|| format!("cannot install {}", self.name))
    }
}
