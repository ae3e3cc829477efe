//! What a decision about helpers means for the task they work for: whether it may have another, the edge to it, what its
//! rest lets go on, and that it is stopped with a task that is cancelled.

use std::collections::BTreeSet;

use factum_model::events::{EdgeChange, TaskDependencyUpdated};
use factum_model::id::{SessionId, SubagentId, TaskId};
use factum_model::task::*;
use factum_model::{Fact, NewEvent, Refusal, Scope};

use super::draft::Draft;
use super::graph::cancelled_above;
use super::known::require_known;
use super::state::is_open;
use crate::context::{Context, check};
use crate::session::state::SessionState;
use crate::session::{jobs, subagents};

/// Refuses helpers for a task that is not known, has ended, or is being cancelled, like children of it. `recalled` is the
/// row of a task that may have left the state.
pub(in super::super) fn require_takes_helpers(
    state: &SessionState,
    recalled: &[TaskRow],
    task_id: Option<&TaskId>,
) -> Result<(), Refusal> {
    let Some(task_id) = task_id else { return Ok(()) };
    require_known(state, recalled, Some(task_id))?;
    if let Some(cancelled) = cancelled_above(&state.tasks, task_id) {
        return Err(Refusal::precondition("nothing is added below a task that is being cancelled")
            .with("cancelled_task_id", cancelled.as_str()));
    }
    let row = state.tasks.get(task_id).map(|task| &task.row);
    let row = row.or_else(|| recalled.iter().find(|row| row.task_id == *task_id));
    match row.map(|row| row.status) {
        Some(status) if is_open(status) => Ok(()),
        status => {
            let status = status.map_or("ended", TaskStatus::as_str);
            Err(Refusal::precondition("the task has ended; nothing is added below it").with("status", status))
        }
    }
}

/// The edge from a task to a child agent that is spawned for it.
pub(in super::super) fn spawned_edge(
    state: &SessionState,
    session_id: &SessionId,
    task_id: &TaskId,
    subagent_id: &SubagentId,
    context: &Context<'_>,
) -> Result<NewEvent, Refusal> {
    let edges = state.tasks.get(task_id).map_or(0, |task| task.row.edges as usize);
    check("task_edges", edges + 1, context.limits.task_edges_max)?;
    let edge = Edge {
        from: task_id.clone(),
        to: subagent_id.as_str().to_owned(),
        relationship: Relationship::SpawnedSubagent,
        status: EdgeStatus::Active,
        reason: None,
        created_at: context.now,
        updated_at: context.now,
    };
    let changed_by = context.caller.to_owned();
    let fact = TaskDependencyUpdated { change: EdgeChange::Added, changed_by, edge };
    Ok(NewEvent::new(Scope::default().session_id(session_id).task_id(task_id), fact))
}

/// Called behind `events` in which child agents or jobs may have come to rest: satisfies edges, and ends tasks that only
/// waited for that. Called twice in one decision it does nothing the second time.
pub(in super::super) fn helpers_settled(state: &SessionState, context: &mut Context<'_>, events: &mut Vec<NewEvent>) {
    // Almost no session has any.
    let Some(shell) = state.shell.as_ref().filter(|_| !state.tasks.helpers.is_empty()) else { return };
    let (agents, tasks) = settled(state, events);
    if tasks.is_empty() {
        return;
    }
    let mut draft = Draft::begin(state, &shell.session_id, &[], std::mem::take(events), context);
    for subagent_id in agents {
        satisfy(&mut draft, &subagent_id);
    }
    for task_id in tasks {
        draft.settle_one(&task_id);
    }
    *events = draft.finish(|_| ()).events;
}

/// The child agents that rest behind `events`, and the tasks of all helpers that do.
fn settled(state: &SessionState, events: &[NewEvent]) -> (BTreeSet<SubagentId>, BTreeSet<TaskId>) {
    let helpers = &state.tasks.helpers;
    let (mut agents, mut tasks) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        match &event.fact {
            Fact::SubagentCompleted(_) | Fact::SubagentFailed(_) | Fact::SubagentClosed(_) => {
                let Some(subagent_id) = &event.scope.subagent_id else { continue };
                if let Some(agent) = helpers.agents.get(subagent_id) {
                    agents.insert(subagent_id.clone());
                    tasks.insert(agent.task_id.clone());
                }
            }
            Fact::JobCompleted(_) | Fact::JobFailed(_) | Fact::JobCancelled(_) => {
                let job = event.scope.job_id.as_ref().and_then(|job_id| helpers.jobs.get(job_id));
                tasks.extend(job.map(|job| job.task_id.clone()));
            }
            _ => {}
        }
    }
    (agents, tasks)
}

/// The child agent came to rest or was closed: what its edge stood for is there.
fn satisfy(draft: &mut Draft<'_, '_>, subagent_id: &SubagentId) {
    let Some(agent) = draft.state.tasks.helpers.agents.get(subagent_id) else { return };
    let (Some(since), Some(_)) = (&agent.edge, draft.tasks.get(&agent.task_id)) else { return };
    let known = draft.events.iter().any(|event| {
        matches!(&event.fact, Fact::TaskDependencyUpdated(fact)
            if fact.edge.relationship == Relationship::SpawnedSubagent && fact.edge.to == subagent_id.as_str())
    });
    if known {
        return;
    }
    let edge = Edge {
        from: agent.task_id.clone(),
        to: subagent_id.as_str().to_owned(),
        relationship: Relationship::SpawnedSubagent,
        status: EdgeStatus::Satisfied,
        reason: since.reason.clone(),
        created_at: since.at,
        updated_at: draft.context.now,
    };
    let changed_by = "runtime://tasks".to_owned();
    draft.push(draft.scope(&agent.task_id), TaskDependencyUpdated { change: EdgeChange::Satisfied, changed_by, edge });
}

/// Stops the next helper that an order to cancel has reached: one in each commit, decided on the state as it is.
pub(super) fn stop_next(state: &SessionState, context: &mut Context<'_>) -> Result<Vec<NewEvent>, Refusal> {
    let agenda = &state.tasks.agenda;
    if let Some((subagent_id, order)) = agenda.close.get_min() {
        return subagents::close_for_task(state, subagent_id, &order.by, order.reason.as_deref(), context);
    }
    match agenda.stop.get_min() {
        Some((job_id, order)) => jobs::cancel_for_task(state, job_id, &order.by, order.reason.as_deref(), context),
        None => Ok(Vec::new()),
    }
}
