//! `cargo xtask bench`: the binary's own benchmark, optimised as it ships.
//!
//! The measurements are the binary's (`factum bench`), so that anyone can repeat them on their machine without a checkout.

use anyhow::Result;

use crate::shell;

pub(crate) fn run(args: &[&str]) -> Result<()> {
    shell::run(shell::cargo(&["run", "--release", "--package", "factum", "--", "bench"]).args(args))
}
