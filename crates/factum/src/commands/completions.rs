//! `factum completions SHELL`: a completion script on stdout.

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::{App, Cli};
use crate::failure::Exit;

#[derive(Debug, Args)]
#[command(after_help = "Example: factum completions bash > ~/.local/share/bash-completion/completions/factum")]
pub(crate) struct Completions {
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(completions: &Completions, app: &App) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut Cli::command(), "factum", &mut script);
    app.output.text(String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
