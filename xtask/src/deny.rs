//! Dependencies: licences, sources, duplicate versions and advisories, by the rules in `deny.toml`.

use anyhow::Result;

use crate::steps::{Outcome, Steps};
use crate::{shell, tools};

/// The checks that need nothing but the packages themselves.
const OFFLINE: &[&str] = &["deny", "check", "bans", "licenses", "sources"];

/// The part of the check that belongs in every test run. It is left out where the tool is not installed: building it
/// takes longer than all the tests.
pub(crate) fn offline() -> Result<Outcome> {
    if !tools::DENY.is_present() {
        let why = format!("{} is not installed; `cargo xtask deny` installs and runs it", tools::DENY.name);
        return Ok(Outcome::Skipped(why));
    }
    shell::run(&mut shell::cargo(OFFLINE)).map(|()| Outcome::Passed)
}

/// Every check, installing the tool first.
pub(crate) fn run() -> Result<()> {
    tools::DENY.ensure()?;
    let mut steps = Steps::default();
    steps.run("dependencies", offline);
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
    shell::run(&mut shell::cargo(&["deny", "check", "--disable-fetch", "advisories"])).map(|()| Outcome::Passed)
}
