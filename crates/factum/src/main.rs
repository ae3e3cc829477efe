//! The binary: command line, configuration, wiring. What it starts is in the crates below; here is only what a person or
//! a supervisor sees of them.
//!
//! Read `cli` for what there is, `commands/` for what each does, `config/` for every setting, `host` for how a runtime is
//! put on a directory, `client/` for how a running server is spoken to.

mod allocator;
mod bench;
mod card_key;
mod cli;
mod client;
mod commands;
mod config;
mod domain;
mod failure;
mod glyphs;
mod host;
mod logging;
mod nearest;
mod output;
mod params;
mod peers;
mod render;
mod secret;
mod server;
mod signals;
mod table;
mod terminal;
mod when;
mod words;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{App, Cli};
use crate::failure::{Exit, exit_of, is_broken_pipe, render};

#[global_allocator]
static ALLOCATOR: allocator::Mimalloc = allocator::Mimalloc;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout with code 0, mistakes to stderr with code 2: clap knows which is which.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::CannotRun as u8));
        }
    };
    let app = App::new(cli.global);
    let exit = commands::run(cli.command, &app).unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            return Exit::Ok;
        }
        output::say(render(&error));
        exit_of(&error)
    });
    ExitCode::from(exit as u8)
}
