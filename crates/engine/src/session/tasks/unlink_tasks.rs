//! `unlink_tasks`: takes an edge out of the graph; the log keeps it. A task that waited for nothing else starts.

use factum_model::Refusal;
use factum_model::commands::{UnlinkTasks, UnlinkTasksResult};
use factum_model::events::EdgeChange;
use factum_model::id::TaskId;
use factum_model::task::*;

use super::agenda::start_unblocked;
use super::draft::Draft;
use super::fields::check_text;
use super::link_tasks::{add_edge, direction};
use crate::context::{Context, Decision};
use crate::session::state::SessionState;

/// `edge` is the edge's row, if there is one that is not removed.
pub fn unlink_tasks(
    state: &SessionState,
    recalled: &[TaskRow],
    edge: Option<&Edge>,
    command: &UnlinkTasks,
    context: &mut Context<'_>,
) -> Result<Decision<UnlinkTasksResult>, Refusal> {
    check_text("reason", command.reason.as_deref(), context.limits)?;
    let mut draft = Draft::of(state, recalled, context)?;
    let (from, to, relationship) = direction(&command.from, &command.to, command.relationship)?;
    let other: Option<TaskId> =
        matches!(relationship, Relationship::Parent | Relationship::Blocks).then(|| to.parse().ok()).flatten();
    let mut waited = false;
    let known = match &other {
        Some(to) => {
            let (_, task) = draft.require_both(&from, to)?;
            waited = relationship == Relationship::Blocks && task.blockers.contains_key(&from);
            let below = relationship == Relationship::Parent && task.row.parent_task_id.as_ref() == Some(&from);
            below || waited || (edge.is_some() && relationship == Relationship::Blocks)
        }
        None => {
            draft.require(&from)?;
            edge.is_some()
        }
    };
    if !known {
        return Err(Refusal::precondition("there is no such edge").with("relationship", relationship.as_str()));
    }
    let status = EdgeStatus::Removed;
    add_edge(&mut draft, &from, &to, relationship, status, command.reason.clone(), EdgeChange::Removed);
    match other {
        Some(task_id) if waited => start_unblocked(&mut draft, &task_id),
        // The parent may have waited for nothing else.
        Some(_) if relationship == Relationship::Parent => draft.settle_one(&from),
        None if relationship == Relationship::SpawnedSubagent => draft.settle_one(&from),
        _ => {}
    }
    Ok(draft.finish(|draft| UnlinkTasksResult { sequence: draft.sequence() }))
}
