//! What the subcommands that speak to a server work with: a client, the output, and what to say where nothing is found.

use anyhow::Result;
use clap::Args;
use factum_model::ErrorCode;
use factum_model::registry::Command;

use crate::cli::App;
use crate::client::{Client, Remote};
use crate::config::{LogFormat, LogLevel};
use crate::failure::{Problem, refusal_of};
use crate::logging;
use crate::output::Output;

// What a subcommand is told, and of which server. (A doc comment here would become the subcommand's help.)
#[derive(Debug, Args)]
pub(super) struct On<T: Args> {
    #[command(flatten)]
    pub(super) what: T,
    #[command(flatten)]
    pub(super) remote: Remote,
}

/// What every subcommand works with.
#[derive(Clone)]
pub(super) struct Here {
    pub(super) client: Client,
    pub(super) output: Output,
    find: &'static str,
}

impl Here {
    /// `find` says how to find what is there, for those who name something that is not.
    pub(super) fn new(remote: &Remote, app: &App, find: &'static str) -> Result<Self> {
        let louder = i32::from(app.global.verbose) - i32::from(app.global.quiet);
        logging::init(LogFormat::Text, LogLevel::Warn.louder(louder));
        Ok(Self { client: Client::new(remote)?, output: app.output, find })
    }

    /// Calls a command. Where the server refuses, its words are put so that a person can act on them.
    pub(super) async fn run<C: Command>(&self, command: &C) -> Result<C::Output> {
        let outcome = self.client.run(command).await;
        outcome.map_err(|error| match refusal_of(&error) {
            Some(refusal) if refusal.code == ErrorCode::NotFound => {
                Problem::refusal(C::NAME, refusal).advice(self.find).into()
            }
            _ => error,
        })
    }
}
