//! `factum task tree`: a graph as branches, parents above their children, with what holds a task up.
//!
//! `fetch` asks the server for it, `forest` is its shape cut to a size that can be read, `draw` makes lines of that.

mod draw;
mod fetch;
mod forest;

use anyhow::Result;
use clap::Args;
use factum_model::id::{SessionId, TaskId};

pub(super) use fetch::below;

use self::draw::draw;
use self::fetch::{Blockers, Graph};
use self::forest::{Bounds, Forest};
use super::Here;
use crate::glyphs::Glyphs;
use crate::terminal::columns;

#[derive(Debug, Args)]
#[command(after_help = "\
Where there are more tasks than fit, ended ones are left out first and counted.")]
pub(super) struct Tree {
    /// The task at the top.
    #[arg(value_name = "TASK", required_unless_present = "session")]
    task: Option<TaskId>,
    /// All tasks of this session instead.
    #[arg(long, value_name = "SESSION", conflicts_with = "task")]
    session: Option<SessionId>,
    /// So many levels at most.
    #[arg(long, value_name = "N", default_value = "12")]
    depth: usize,
    /// So many children of one task at most.
    #[arg(long, value_name = "N", default_value = "20")]
    width: usize,
    /// So many lines at most.
    #[arg(long, value_name = "N", default_value = "200")]
    limit: usize,
}

pub(super) async fn run(tree: &Tree, here: &Here) -> Result<()> {
    let graph = match (&tree.task, &tree.session) {
        (Some(task), _) => below(task, fetch::TREE_TASKS_MAX, here).await?,
        (None, Some(session)) => fetch::of_session(session, fetch::TREE_TASKS_MAX, here).await?,
        (None, None) => return Ok(()),
    };
    if here.output.is_json() {
        return Ok(here.output.rows(&graph.tasks)?);
    }
    let complete = graph.complete;
    let bounds = Bounds { depth: tree.depth, width: tree.width, lines: tree.limit };
    let width = if here.output.is_terminal() { columns() } else { usize::MAX };
    let blockers = blockers(&graph, here).await?;
    let forest = Forest::new(graph, blockers, &bounds);
    draw(&forest, Glyphs::of_locale(), width).iter().try_for_each(|line| here.output.line(line))?;
    if !complete {
        let max = fetch::TREE_TASKS_MAX;
        here.output.note(format_args!("there are more than {max} tasks; a task further down shows what is below it"));
    } else if forest.is_empty() {
        here.output.note("no tasks; `factum task create` makes one");
    }
    Ok(())
}

/// What holds the tasks up. They are all of one session.
async fn blockers(graph: &Graph, here: &Here) -> Result<Blockers> {
    match graph.tasks.first() {
        Some(task) => fetch::blockers(task.session_id.clone(), here).await,
        None => Ok(Blockers::default()),
    }
}
