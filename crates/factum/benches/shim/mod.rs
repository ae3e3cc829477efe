//! Runs `factum bench …` with what `cargo bench` was given behind `--`.

use std::process::{Command, ExitCode};

/// Does nothing where it is run as a test: a benchmark is no test.
#[allow(clippy::disallowed_methods, reason = "the benchmark is the binary itself")]
pub(crate) fn run(benchmark: &str) -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let before = arguments.len();
    arguments.retain(|argument| argument != "--bench");
    if arguments.len() == before {
        return ExitCode::SUCCESS;
    }
    let status = Command::new(env!("CARGO_BIN_EXE_factum")).args(["bench", benchmark]).args(arguments).status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
