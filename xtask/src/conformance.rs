//! `cargo xtask conformance`: the conformance suites of A2A against the binary, over every binding.
//!
//! The suites belong to the A2A project and are not kept here: they are read from `--suite`, from `FACTUM_ACTS_DIR`, or from
//! `../shared/acts` beside the repository. Where there are none, nothing is run and that is said.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::shell;
use crate::steps::Outcome;

/// Beside the repository.
const USUAL_SUITES: &str = "../shared/acts";

/// With the arguments of the command line.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let (suites, rest) = match args {
        ["--suite", folder, rest @ ..] => (Some(PathBuf::from(folder)), rest),
        rest => (suites(), rest),
    };
    match play(suites, rest)? {
        Outcome::Skipped(why) => println!("skipped: {why}"),
        Outcome::Passed | Outcome::Failed(_) => {}
    }
    Ok(())
}

/// As a step of `cargo xtask test`.
pub(crate) fn step() -> Result<Outcome> {
    play(suites(), &[])
}

fn play(suites: Option<PathBuf>, args: &[&str]) -> Result<Outcome> {
    let Some(suites) = suites else {
        let why = format!("no suites: {USUAL_SUITES} does not exist, and FACTUM_ACTS_DIR names no other folder");
        return Ok(Outcome::Skipped(why));
    };
    shell::run(&mut shell::cargo(&["build", "--package", "factum", "--package", "factum-conformance"]))?;
    let built = |name: &str| shell::target_dir().join("debug").join(name);
    let runner = built("factum-conformance");
    let mut command = shell::program(runner.to_str().context("the target folder's name is not UTF-8")?, &[]);
    command.arg("--suite").arg(suites).args(["--folder", "tests/conformance"]).arg("--binary").arg(built("factum"));
    shell::run(command.args(args)).map(|()| Outcome::Passed)
}

fn suites() -> Option<PathBuf> {
    let usual = shell::root().join(USUAL_SUITES);
    env::var_os("FACTUM_ACTS_DIR").map(PathBuf::from).or_else(|| usual.is_dir().then_some(usual))
}
