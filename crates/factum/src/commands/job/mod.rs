//! `factum job …`: batches on a running server, and the schedules that make them; one file per subcommand.

mod cancel;
mod create;
mod describe;
mod get;
mod items;
mod list;
mod retry_item;
mod schedule;
mod watch;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::here::{Here, On};
use crate::cli::App;
use crate::client::Remote;
use crate::failure::Exit;

/// Where the server knows no such job.
const FIND: &str = "`factum job list` and `factum job schedule list` show what you can see";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  factum job create --instruction 'Summarize this page' --items urls.txt
  ls *.md | factum job create --instruction 'Check the links' --items - --queue checks
  factum job watch job_...
  factum job get job_... --status failed
  factum job retry-item job_... item_...
  factum job schedule create --cron '0 6 * * 1-5' --time-zone Europe/Vienna --instruction 'Read the news'")]
pub(crate) struct Job {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a batch, which starts by itself; prints its id.
    Create(Box<On<create::Create>>),
    /// List batches, newest first.
    List(On<list::List>),
    /// Show a batch and its items.
    Get(On<get::Get>),
    /// Stop a batch. Finished items stay finished.
    Cancel(On<cancel::Cancel>),
    /// Try one item again, alone.
    RetryItem(On<retry_item::RetryItem>),
    /// Follow a batch until it ends. Fails where it does not complete, or items of it fail.
    Watch(On<watch::Watch>),
    /// Make batches at given times.
    Schedule(Box<schedule::ScheduleCommand>),
}

pub(crate) async fn run(job: Job, app: &App) -> Result<Exit> {
    let here = |remote: &Remote| Here::new(remote, app, FIND);
    match job.action {
        Action::Create(on) => create::run(on.what, &here(&on.remote)?).await?,
        Action::List(on) => list::run(on.what, &here(&on.remote)?).await?,
        Action::Get(on) => get::run(on.what, &here(&on.remote)?).await?,
        Action::Cancel(on) => cancel::run(on.what, &here(&on.remote)?).await?,
        Action::RetryItem(on) => retry_item::run(on.what, &here(&on.remote)?).await?,
        Action::Watch(on) => return watch::run(&on.what, &here(&on.remote)?).await,
        Action::Schedule(schedule) => schedule::run(*schedule, here).await?,
    }
    Ok(Exit::Ok)
}
