//! `cargo xtask fuzz`: the fuzz targets, each for a while.
//!
//! The targets live in `fuzz/`, a workspace of its own: coverage flags and sanitizers are not for the product's builds.
//!
//! `cargo fuzz` passes `-Z` flags (`-Zsanitizer=address`), which a stable compiler refuses. `RUSTC_BOOTSTRAP=1` makes it
//! accept them, so no nightly toolchain is needed and the fuzzed code is compiled by the compiler that ships it. The
//! variable is set for these builds alone.

use std::fs;

use anyhow::{Context, Result, bail, ensure};

use crate::steps::{Outcome, Steps};
use crate::{shell, tools};

const SECONDS_DEFAULT: u32 = 60;

/// What libFuzzer is told about every target: how much memory and time one input may take, and how long it may be.
const BOUNDS: &[&str] = &["-rss_limit_mb=2048", "-timeout=20", "-max_len=8192", "-len_control=0"];

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
enum Asked<'a> {
    List,
    /// Every target where none is named.
    Run {
        seconds: u32,
        targets: Vec<&'a str>,
    },
}

pub(crate) fn run(args: &[&str]) -> Result<()> {
    let asked = parse(args)?;
    ensure!(shell::root().join("fuzz/Cargo.toml").exists(), "there is no fuzz/Cargo.toml, so there is nothing to fuzz");
    tools::FUZZ.ensure()?;
    let list = shell::output(&mut shell::cargo(&["fuzz", "list"]))?;
    let known: Vec<&str> = list.split_whitespace().collect();
    ensure!(!known.is_empty(), "fuzz/Cargo.toml names no fuzz target");
    match asked {
        Asked::List => {
            println!("{}", known.join("\n"));
            Ok(())
        }
        Asked::Run { seconds, targets } => {
            let unknown = targets.iter().find(|target| !known.contains(target));
            ensure!(unknown.is_none(), "there is no target {}; there are {}", unknown.unwrap_or(&""), known.join(", "));
            run_all(if targets.is_empty() { &known } else { &targets }, seconds)
        }
    }
}

/// Reads `[--list] [[--seconds] N] [TARGET ...]`.
fn parse<'a>(args: &[&'a str]) -> Result<Asked<'a>> {
    let (mut seconds, mut targets) = (SECONDS_DEFAULT, Vec::new());
    let mut rest = args.iter().copied();
    while let Some(word) = rest.next() {
        match word {
            "--list" => return Ok(Asked::List),
            "--seconds" => {
                let text = rest.next().context("--seconds wants a number behind it")?;
                seconds = text.parse().with_context(|| format!("not seconds: {text}"))?;
            }
            option if option.starts_with('-') => bail!("unknown option {option}; see `cargo xtask help`"),
            number if number.parse::<u32>().is_ok() => seconds = number.parse()?,
            target => targets.push(target),
        }
    }
    Ok(Asked::Run { seconds, targets })
}

fn run_all(targets: &[&str], seconds: u32) -> Result<()> {
    let mut steps = Steps::default();
    for target in targets {
        steps.run(target, || run_one(target, seconds).map(|()| Outcome::Passed));
    }
    steps.finish()
}

/// What is found out on the way stays in `fuzz/corpus`, which is not committed; what to begin with is in `fuzz/seeds`.
fn run_one(target: &str, seconds: u32) -> Result<()> {
    println!("for {seconds} s; what it finds is kept in fuzz/artifacts/{target}");
    let (corpus, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
    fs::create_dir_all(shell::root().join(&corpus)).with_context(|| format!("cannot make {corpus}"))?;
    let limit = format!("-max_total_time={seconds}");
    let mut args = vec!["fuzz", "run", target, corpus.as_str()];
    if shell::root().join(&seeds).exists() {
        args.push(&seeds);
    }
    args.extend(["--", &limit]);
    args.extend(BOUNDS);
    shell::run(shell::cargo(&args).env("RUSTC_BOOTSTRAP", "1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for() {
        let run = |seconds, targets: &[&'static str]| Asked::Run { seconds, targets: targets.to_vec() };
        for (args, expected) in [
            (&[][..], run(SECONDS_DEFAULT, &[])),
            (&["300"], run(300, &[])),
            (&["--seconds", "5", "event"], run(5, &["event"])),
            (&["event", "frame"], run(SECONDS_DEFAULT, &["event", "frame"])),
            (&["--list"], Asked::List),
        ] {
            assert_eq!(parse(args).unwrap(), expected, "{args:?}");
        }
        for wrong in [&["--seconds"][..], &["--seconds", "soon"], &["--fast"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
