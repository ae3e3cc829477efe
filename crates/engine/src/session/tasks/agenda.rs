//! Works off what follows from facts by itself: orders that spread down the graph, tasks whose blockers are done.

use factum_model::events::{EdgeChange, TaskDependencyUpdated, TaskWaiting};
use factum_model::id::TaskId;
use factum_model::task::*;
use factum_model::{NewEvent, Refusal};

use super::create_task::blocked;
use super::draft::Draft;
use super::start_task::{Start, start};
use super::state::Since;
use crate::context::{Context, Decision};
use crate::session::state::{SessionState, Shell};

/// How many tasks one commit reaches. A commit has a largest size, and readers want to get a word in. Few in tests, so that
/// there is almost always a rest to be carried on.
pub(super) const REACH_MAX: usize = if cfg!(test) { 8 } else { 200 };

/// Carries on what one commit was too small for.
pub fn continue_tasks(state: &SessionState, context: &mut Context<'_>) -> Result<Decision<()>, Refusal> {
    let events = super::helped::stop_next(state, context)?;
    if !events.is_empty() {
        return Ok(Decision { events, output: () });
    }
    Ok(Draft::of(state, &[], context)?.finish(|_| ()))
}

/// The same, behind facts that are decided already.
pub(in super::super) fn carry_on(
    state: &SessionState,
    shell: &Shell,
    events: Vec<NewEvent>,
    context: &mut Context<'_>,
) -> Vec<NewEvent> {
    Draft::begin(state, &shell.session_id, &[], events, context).finish(|_| ()).events
}

/// How many facts one commit may have when another step is taken. A step may complete everything above the task it ends.
const EVENTS_MAX: usize = 1_000;

pub(super) fn work_off(draft: &mut Draft<'_, '_>) {
    // What is above ends before what is behind begins, in whatever order the two are reached.
    draft.settle();
    for _ in 0..REACH_MAX {
        // Nothing is weighed where nothing follows.
        if draft.tasks.agenda.is_empty() || draft.events.len() >= EVENTS_MAX || draft.is_full() || !step(draft) {
            return;
        }
        draft.settle();
    }
}

fn step(draft: &mut Draft<'_, '_>) -> bool {
    let agenda = &draft.tasks.agenda;
    if let Some(task_id) = agenda.settle.get_min().cloned() {
        draft.settle_one(&task_id);
    } else if let Some((task_id, order)) = agenda.cancel.get_min().cloned() {
        super::cancel_task::cancel(draft, &task_id, &order, true);
    } else if let Some((task_id, order)) = agenda.pause.get_min().cloned() {
        super::pause_task::pause(draft, &task_id, &order, true);
    } else if let Some((task_id, order)) = agenda.resume.get_min().cloned() {
        super::resume_task::resume(draft, &task_id, &order, true);
    } else if let Some((task_id, blockers)) = agenda.unblock.get_min() {
        let (task_id, blocker) = (task_id.clone(), blockers.get_min().cloned());
        if let Some(blocker) = blocker {
            satisfied(draft, &blocker, &task_id);
        }
        start_unblocked(draft, &task_id);
    } else if let Some(task_id) = agenda.retell.get_min().cloned() {
        blocked(draft, &task_id);
    } else {
        return false;
    }
    true
}

/// A blocker is done.
fn satisfied(draft: &mut Draft<'_, '_>, blocker: &TaskId, task_id: &TaskId) {
    let since = draft.tasks.get(task_id).and_then(|task| task.blockers.get(blocker).cloned());
    let since = since.unwrap_or(Since { at: draft.context.now, reason: None });
    let edge = Edge {
        from: blocker.clone(),
        to: task_id.as_str().to_owned(),
        relationship: Relationship::Blocks,
        status: EdgeStatus::Satisfied,
        reason: since.reason,
        created_at: since.at,
        updated_at: draft.context.now,
    };
    let changed_by = "runtime://tasks".to_owned();
    draft.push(draft.scope(task_id), TaskDependencyUpdated { change: EdgeChange::Satisfied, changed_by, edge });
}

/// Starts a task that waited for its last blocker. One that was put aside, or is a draft, does not start by itself; one
/// that has begun is blocked by something else.
pub(super) fn start_unblocked(draft: &mut Draft<'_, '_>, task_id: &TaskId) {
    let Some(task) = draft.tasks.get(task_id) else { return };
    let waited = task.row.status == TaskStatus::Blocked && task.row.attempt.is_none();
    if !waited || !task.blockers.is_empty() {
        return;
    }
    let begun = start(draft, task_id, Start::default());
    if let Err(refusal) = begun {
        // A bound of the session is in the way, not the task: it waits for room, and start_task tries again.
        let fact = TaskWaiting {
            status: TaskStatus::WaitingResource,
            reason: Some(refusal.message),
            resource: None,
            native_status: None,
        };
        draft.push(draft.scope(task_id), fact);
    }
}
