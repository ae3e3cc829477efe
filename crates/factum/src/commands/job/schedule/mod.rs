//! `factum job schedule …`: when batches are made, and from what.

mod create;
mod end;
mod list;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::Here;
use crate::client::Remote;
use crate::commands::here::On;

#[derive(Debug, Args)]
pub(super) struct ScheduleCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a schedule; prints its id.
    Create(Box<On<create::Create>>),
    /// List schedules, newest first.
    List(On<list::List>),
    /// Stop a schedule. Jobs it made go on.
    End(On<end::End>),
}

pub(super) async fn run(command: ScheduleCommand, here: impl Fn(&Remote) -> Result<Here>) -> Result<()> {
    match command.action {
        Action::Create(on) => create::run(on.what, &here(&on.remote)?).await,
        Action::List(on) => list::run(&on.what, &here(&on.remote)?).await,
        Action::End(on) => end::run(on.what, &here(&on.remote)?).await,
    }
}
