//! `cargo xtask test`: everything a change has to pass, on any machine, in one command.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::steps::{Outcome, Steps};
use crate::{conformance, deny, docs, sdk, shell, tidy, tools};

/// How much to check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Everything,
    /// For the loop between two edits: no clippy, no generated documents.
    Quick,
}

pub(crate) fn run(scope: Scope) -> Result<()> {
    // A count left by an earlier run must not speak for this one.
    let _ = fs::remove_file(junit_file());
    let mut steps = Steps::default();
    steps.run("tools", install_tools);
    steps.run("sdk", sdk::step);
    steps.run("fmt", format);
    if scope == Scope::Everything {
        steps.run("clippy", || cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]));
    }
    steps.run("tidy", || tidy::run().map(|()| Outcome::Passed));
    if scope == Scope::Everything {
        steps.run("docs", || docs::check().map(|()| Outcome::Passed));
    }
    steps.run("deny", deny::offline);
    // Documentation examples come before the tests, so that the last runner to speak is the one that ran the most.
    steps.run("doc tests", || cargo(&["test", "--workspace", "--doc"]));
    if scope == Scope::Everything {
        steps.run("conformance", conformance::step);
    }
    steps.run("tests", run_tests);
    let verdict = steps.finish();
    if let Some(counts) = fs::read_to_string(junit_file()).ok().as_deref().and_then(Counts::of_junit) {
        println!("tests: {} passed, {} failed", counts.passed, counts.failed);
    }
    verdict
}

/// A tool that cannot be had is no failure by itself: the step that wants it says what it does without.
fn install_tools() -> Result<Outcome> {
    let missing: Vec<String> =
        tools::FOR_TESTS.iter().filter_map(|tool| tool.ensure().err()).map(|error| format!("{error:#}")).collect();
    Ok(if missing.is_empty() { Outcome::Passed } else { Outcome::Skipped(missing.join("; ")) })
}

/// Names the files and leaves the differences to `cargo fmt`, which makes them go away.
fn format() -> Result<Outcome> {
    let check = ["--check", "--", "-l", "--color", "never"];
    cargo(&[&["fmt", "--all"][..], &check].concat()).context("run `cargo fmt --all`")?;
    // The fuzz targets are a workspace of their own.
    let fuzz = ["fmt", "--manifest-path", "fuzz/Cargo.toml"];
    cargo(&[&fuzz[..], &check].concat()).context("run `cargo fmt --manifest-path fuzz/Cargo.toml`")
}

fn run_tests() -> Result<Outcome> {
    if tools::NEXTEST.is_present() {
        return cargo(&["nextest", "run", "--workspace", "--profile", "ci"]);
    }
    println!("cargo-nextest is not here: using cargo's own runner");
    cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"])
}

fn cargo(args: &[&str]) -> Result<Outcome> {
    shell::run(&mut shell::cargo(args)).map(|()| Outcome::Passed)
}

/// Where `.config/nextest.toml` has its `ci` profile leave the counts.
fn junit_file() -> PathBuf {
    shell::root().join("target/nextest/ci/junit.xml")
}

/// How many tests passed and failed.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
}

impl Counts {
    /// Reads the totals off the outermost element of a JUnit report.
    fn of_junit(report: &str) -> Option<Counts> {
        let (_, rest) = report.split_once("<testsuites ")?;
        let (attributes, _) = rest.split_once('>')?;
        let number = |name: &str| -> Option<u64> {
            let (_, value) = attributes.split_once(&format!(" {name}=\""))?;
            value.split_once('"')?.0.parse().ok()
        };
        let failed = number("failures")? + number("errors")?;
        Some(Counts { passed: number("tests")?.checked_sub(failed)?, failed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_from_the_outermost_element() {
        let report = r#"<?xml version="1.0"?>
            <testsuites name="nextest-run" tests="12" failures="2" errors="1" uuid="x" time="0.1">
                <testsuite name="a" tests="1" failures="0" errors="0">"#;
        assert_eq!(Counts::of_junit(report), Some(Counts { passed: 9, failed: 3 }));
    }

    #[test]
    fn a_report_without_counts_gives_none() {
        assert_eq!(Counts::of_junit("<testsuites name=\"x\">"), None);
        assert_eq!(Counts::of_junit(""), None);
    }
}
