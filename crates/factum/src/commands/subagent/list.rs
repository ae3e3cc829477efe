//! `factum subagent list`: a family as a tree.

use anyhow::Result;
use clap::Args;
use factum_model::commands::ListSubagents;
use factum_model::id::{SessionId, SubagentId, TaskId, ThreadId, TurnId};
use factum_model::subagent::{SubagentRecord, SubagentState};

use super::Here;
use super::tree::tree;
use crate::glyphs::Glyphs;

/// As many child agents as the server puts on a page.
const PAGE_SUBAGENTS: u32 = 200;

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("within").args(["below", "thread", "turn", "task"]))]
pub(super) struct List {
    /// The session.
    #[arg(value_name = "SESSION")]
    session: SessionId,
    /// Only those below this child agent.
    #[arg(long, value_name = "SUBAGENT")]
    below: Option<SubagentId>,
    /// Only those below this thread.
    #[arg(long, value_name = "THREAD")]
    thread: Option<ThreadId>,
    /// Only those spawned by this turn.
    #[arg(long, value_name = "TURN")]
    turn: Option<TurnId>,
    /// Only those spawned for this task.
    #[arg(long, value_name = "TASK")]
    task: Option<TaskId>,
    /// Only children, not their children.
    #[arg(long)]
    direct: bool,
    /// Leave out those that are closed.
    #[arg(long)]
    open: bool,
    /// So many at most.
    #[arg(long, default_value = "200", value_name = "N", conflicts_with = "all")]
    limit: usize,
    /// Everything there is, however much.
    #[arg(long)]
    all: bool,
}

pub(super) async fn run(list: List, here: &Here) -> Result<()> {
    let max = if list.all { usize::MAX } else { list.limit };
    let open = list.open;
    let wanted = |one: &SubagentRecord| !open || one.status != SubagentState::Closed;
    let mut command = ListSubagents {
        session_id: list.session,
        thread_id: list.thread,
        turn_id: list.turn,
        task_id: list.task,
        subagent_id: list.below,
        descendants: !list.direct,
        limit: None,
        cursor: None,
    };
    let mut found: Vec<SubagentRecord> = Vec::new();
    while found.len() < max {
        command.limit = Some(u32::try_from(max - found.len()).unwrap_or(u32::MAX).min(PAGE_SUBAGENTS));
        let page = here.run(&command).await?;
        found.extend(page.subagents.into_iter().filter(wanted));
        command.cursor = page.next_cursor;
        if command.cursor.is_none() {
            break;
        }
    }
    if here.output.is_json() {
        here.output.rows(&found)?;
    } else {
        tree(&found, Glyphs::of_locale()).iter().try_for_each(|line| here.output.line(line))?;
    }
    match command.cursor {
        Some(_) => here.output.note("there are more; --limit or --all shows them"),
        None if found.is_empty() => here.output.note("no child agents; `factum subagent spawn` makes one"),
        None => {}
    }
    Ok(())
}
