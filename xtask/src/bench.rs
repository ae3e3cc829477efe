//! `cargo xtask bench`: the binary's own benchmark, optimised as it ships.
//!
//! The measurements are the binary's (`factum bench`), so that anyone can repeat them on their machine without a checkout.

use anyhow::Result;

use crate::{sdk, shell};

pub(crate) fn run(args: &[&str]) -> Result<()> {
    if args.first().is_some_and(|what| matches!(*what, "a2a" | "all")) {
        peers()?;
    }
    shell::run(shell::cargo(&["run", "--release", "--package", "factum", "--", "bench"]).args(args))
}

/// The servers of A2A that ours is compared with, put where the binary looks for them.
fn peers() -> Result<()> {
    sdk::install()?;
    let peer =
        ["build", "--release", "--locked", "--manifest-path", "benches/peers/a2a-rust/Cargo.toml", "--target-dir"];
    shell::run(shell::cargo(&peer).arg(shell::target_dir()))
}
