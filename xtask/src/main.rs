//! The project's own chores: `cargo xtask test`, `tidy`, `docs`, `deny`, `conformance`, `sdk`,
//! `fuzz`, `bench`.
//!
//! This is the first thing a fresh machine builds, so it uses the standard library and `anyhow` and nothing else, and
//! parses its few arguments by hand. It owns how the project is checked; it does not know what the project does.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a chore runner prints, reads the environment, writes files and starts programs: that is all it is for"
)]

mod bench;
mod conformance;
mod deny;
mod docs;
mod fuzz;
mod sdk;
mod shell;
mod steps;
mod test;
mod tidy;
mod tools;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [--quick]     everything a change has to pass; --quick leaves out clippy and the generated documents
  tidy [--update]    the conventions as checks; --update lowers the recorded maximum of files that have shrunk
  docs [--check]     write docs/reference from the binary, or check that what is committed is current
  deny               licences, sources, duplicate versions and advisories of every dependency
  conformance [--suite DIR] [--binding jsonrpc|rest|grpc] [--only ID] [--verbose]
                     the conformance suites of A2A over every binding, or what is named of them
  sdk [ARGS]         install the official A2A clients below target/sdk and run the tests that use them
  fuzz [--list] [--seconds N] [TARGET ...]
                     run each fuzz target, or those named, for that long (60 s where not given)
  bench [ARGS]       build with optimisation and run `factum bench ARGS`";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[&str]) -> anyhow::Result<()> {
    match args {
        ["test"] => test::run(test::Scope::Everything),
        ["test", "--quick"] => test::run(test::Scope::Quick),
        ["tidy"] => tidy::run(),
        ["tidy", "--update"] => tidy::update(),
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        ["deny"] => deny::run(),
        ["conformance", rest @ ..] => conformance::run(rest),
        ["sdk", rest @ ..] => sdk::run(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["bench", rest @ ..] => bench::run(rest),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        [] => anyhow::bail!("no command\n{USAGE}"),
        other => anyhow::bail!("unknown: {}\n{USAGE}", other.join(" ")),
    }
}
