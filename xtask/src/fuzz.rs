//! `cargo xtask fuzz`: every fuzz target for a while.
//!
//! The targets live in `fuzz/`, a workspace of its own: coverage flags and sanitizers are not for the product's builds.
//!
//! `cargo fuzz` passes `-Z` flags (`-Zsanitizer=address`), which a stable compiler refuses. `RUSTC_BOOTSTRAP=1` makes it
//! accept them, so no nightly toolchain is needed and the fuzzed code is compiled by the compiler that ships it. The
//! variable is set for these builds alone.

use anyhow::{Result, ensure};

use crate::steps::{Outcome, Steps};
use crate::{shell, tools};

pub(crate) const SECONDS_DEFAULT: u32 = 60;

pub(crate) fn run(seconds: u32) -> Result<()> {
    ensure!(shell::root().join("fuzz/Cargo.toml").exists(), "there is no fuzz/Cargo.toml, so there is nothing to fuzz");
    tools::FUZZ.ensure()?;
    let list = shell::output(&mut shell::cargo(&["fuzz", "list"]))?;
    let targets: Vec<&str> = list.split_whitespace().collect();
    ensure!(!targets.is_empty(), "fuzz/Cargo.toml names no fuzz target");
    let mut steps = Steps::default();
    for target in targets {
        steps.run(target, || {
            println!("for {seconds} s; what it finds is kept in fuzz/artifacts/{target}");
            let limit = format!("-max_total_time={seconds}");
            let mut command = shell::cargo(&["fuzz", "run", target, "--", &limit]);
            shell::run(command.env("RUSTC_BOOTSTRAP", "1")).map(|()| Outcome::Passed)
        });
    }
    steps.finish()
}
