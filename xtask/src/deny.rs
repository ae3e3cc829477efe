//! Dependencies: licences, sources, duplicate versions and advisories, by the rules in `deny.toml`.

use anyhow::Result;

use crate::steps::{Outcome, Steps};
use crate::{shell, tools};

/// The part of the check that belongs in every test run. It is left out where the tool is not installed: building it
/// takes longer than most of the tests. Duplicate versions are only worth knowing, so here nothing is said of them.
pub(crate) fn offline() -> Result<Outcome> {
    if !tools::DENY.is_present() {
        let why = format!("{} is not installed; `cargo xtask deny` installs and runs it", tools::DENY.name);
        return Ok(Outcome::Skipped(why));
    }
    cargo(&["deny", "check", "--allow", "duplicate", "bans", "licenses", "sources"])
}

/// Every check, installing the tool first.
pub(crate) fn run() -> Result<()> {
    tools::DENY.ensure()?;
    let mut steps = Steps::default();
    steps.run("dependencies", || cargo(&["deny", "check", "--hide-inclusion-graph", "bans", "licenses", "sources"]));
    steps.run("advisories", advisories);
    steps.finish()
}

/// Advisories live in a database of their own. Without a way to it nothing can be said, and that is what is said.
fn advisories() -> Result<Outcome> {
    if let Err(error) = shell::output(&mut shell::cargo(&["deny", "fetch", "db"])) {
        println!("{error:#}");
        let why = "the advisory database cannot be reached from here; run `cargo xtask deny` where it can";
        return Ok(Outcome::Skipped(why.to_owned()));
    }
    cargo(&["deny", "check", "--disable-fetch", "advisories"])
}

fn cargo(args: &[&str]) -> Result<Outcome> {
    shell::run(&mut shell::cargo(args)).map(|()| Outcome::Passed)
}
