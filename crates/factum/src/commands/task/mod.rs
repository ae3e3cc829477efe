//! `factum task …`: tasks on a running server, one file per subcommand.
//!
//! `describe` is a task in words, `tree/` a graph as branches, `watch/` the same as it moves. Nothing here decides what a
//! task may do: the server says, and its words are shown.

mod complete;
mod create;
mod describe;
mod fail;
mod get;
mod link;
mod list;
mod policy;
mod progress;
mod retry;
mod start;
mod steer;
mod tree;
mod update;
mod watch;

use anyhow::Result;
use clap::{Args, Subcommand};
use factum_model::id::TaskId;
use factum_model::task::TaskStatus;

use super::here::{Here, On};
use super::look::Stands;
use crate::cli::App;
use crate::client::Remote;
use crate::failure::Exit;
use crate::glyphs::Glyphs;

/// Where the server knows no such task.
const FIND: &str = "`factum task list` shows the tasks you can see";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  factum task create 'Write the report' --require-artifact report.pdf
  factum task create 'Collect the numbers' --parent task_... --queue research --start
  factum task link task_... blocks task_...
  factum task tree task_...
  factum task watch task_...
  factum task complete task_... --artifact report.pdf --summary 'as asked'")]
pub(crate) struct Task {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a task; prints its id.
    Create(Box<On<create::Create>>),
    /// Begin the first attempt; prints the id of its run.
    Start(On<start::Start>),
    /// Change a task's own data.
    Update(Box<On<update::Update>>),
    /// Report how far a task has come.
    Progress(On<progress::Report>),
    /// Put a task aside.
    Pause(On<steer::Steer>),
    /// Let a paused task go on.
    Resume(On<steer::Steer>),
    /// End a task. Running work settles first.
    Cancel(On<steer::Steer>),
    /// Begin another attempt; prints the id of its run. The old ones stay.
    Retry(On<retry::Retry>),
    /// Declare a task complete. Refused with a list while something it needs is missing.
    Complete(On<complete::Complete>),
    /// Declare a task, or its current attempt, failed.
    Fail(On<fail::Fail>),
    /// Add an edge to the graph: FROM blocks TO, FROM is the parent of TO.
    Link(On<link::Edge>),
    /// Take an edge out of the graph.
    Unlink(On<link::Edge>),
    /// Show a task: attempts, edges, what it needs, how far it is.
    Get(On<get::Get>),
    /// List tasks, newest first.
    List(On<list::List>),
    /// Show a graph as a tree.
    Tree(On<tree::Tree>),
    /// Follow a task and everything below it until it ends. Fails where it does not complete.
    Watch(On<watch::Watch>),
}

pub(crate) async fn run(task: Task, app: &App) -> Result<Exit> {
    let here = |remote: &Remote| Here::new(remote, app, FIND);
    match task.action {
        Action::Create(on) => create::run(on.what, &here(&on.remote)?).await?,
        Action::Start(on) => start::run(on.what, &here(&on.remote)?).await?,
        Action::Update(on) => update::run(on.what, &here(&on.remote)?).await?,
        Action::Progress(on) => progress::run(on.what, &here(&on.remote)?).await?,
        Action::Pause(on) => steer::pause(on.what, &here(&on.remote)?).await?,
        Action::Resume(on) => steer::resume(on.what, &here(&on.remote)?).await?,
        Action::Cancel(on) => steer::cancel(on.what, &here(&on.remote)?).await?,
        Action::Retry(on) => retry::run(on.what, &here(&on.remote)?).await?,
        Action::Complete(on) => complete::run(on.what, &here(&on.remote)?).await?,
        Action::Fail(on) => fail::run(on.what, &here(&on.remote)?).await?,
        Action::Link(on) => link::link(on.what, &here(&on.remote)?).await?,
        Action::Unlink(on) => link::unlink(on.what, &here(&on.remote)?).await?,
        Action::Get(on) => get::run(on.what, &here(&on.remote)?).await?,
        Action::List(on) => list::run(on.what, &here(&on.remote)?).await?,
        Action::Tree(on) => tree::run(&on.what, &here(&on.remote)?).await?,
        Action::Watch(on) => return watch::run(&on.what, &here(&on.remote)?).await,
    }
    Ok(Exit::Ok)
}

/// What came of a change: the answer for a machine, a sentence for a person.
fn report(answer: &impl serde::Serialize, task_id: &TaskId, status: TaskStatus, here: &Here) -> Result<()> {
    if here.output.is_json() {
        return Ok(here.output.json(answer)?);
    }
    here.output.note(format_args!("{task_id} is {}", status.shown(Glyphs::of_locale())));
    Ok(())
}
