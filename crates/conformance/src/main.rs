//! Runs the conformance suites of A2A against a server: `cargo xtask conformance`.
//!
//! The suites are ACTS files (A2A Conformance Test Specification): YAML that says what to send and what to expect, in words
//! that belong to no binding. Each test is run over each binding it is for, and what came back is compared.
//!
//! ```text
//!   suite ──► run ──► binding (jsonrpc · rest · grpc · raw) ──► server
//!                │                        │
//!                └── check ◄── answer ◄───┘        matcher, stream, fault, special
//! ```
//!
//! Where to look: `suite` reads the files, `run` plays one test, `binding` speaks the wire, `matcher` compares, `special` does
//! what the suites leave to their runner in prose, `report` counts. What the suites get wrong is not mended here: it stands in
//! `tests/conformance/exceptions.toml` with its reason, and an exception that is no longer needed fails the run.
//!
//! Deliberately absent: anything of the server under test. It is a URL, its card, and some credentials.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a runner of tests prints, reads its arguments and files, and makes up message ids"
)]

mod args;
mod binding;
mod client;
mod exceptions;
mod fault;
mod matcher;
mod path;
mod receiver;
mod report;
mod run;
mod special;
mod start;
mod stream;
mod suite;
mod target;
mod template;
mod until;

use std::process::ExitCode;

use anyhow::Result;

use crate::report::Verdict;

fn main() -> ExitCode {
    let args = match args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(problem) => {
            eprintln!("{problem:#}\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    match runtime(&args) {
        Ok(Verdict::Conformant) => ExitCode::SUCCESS,
        Ok(Verdict::NotConformant) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("conformance: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn runtime(args: &args::Args) -> Result<Verdict> {
    tokio::runtime::Runtime::new()?.block_on(all(args))
}

async fn all(args: &args::Args) -> Result<Verdict> {
    let suites = suite::read(&args.suite)?;
    let exceptions = exceptions::read(&args.folder)?;
    let started = start::server(args, start::WITH_EVERYTHING).await?;
    let mut results = run::all(&suites, &started.target, args).await?;
    drop(started);
    // What is about a server that offers less is asked of one that does.
    if matches!(args.server, args::Server::Start { .. }) && results.iter().any(run::Outcome::is_skipped) {
        let plain = start::server(args, start::WITHOUT_OPTIONS).await?;
        run::skipped(&mut results, &suites, &plain.target, args).await?;
    }
    report::print(&results, args);
    Ok(report::judge(&results, &exceptions, args))
}
