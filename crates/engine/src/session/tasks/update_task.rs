//! `update_task`: changes a task's own data, and its status where no other command does that.

use factum_model::Refusal;
use factum_model::commands::{TaskResult, UpdateTask};
use factum_model::events::{TaskAccepted, TaskArchived, TaskBlocked, TaskQueued, TaskUpdated, TaskWaiting};
use factum_model::id::TaskId;
use factum_model::task::*;

use super::draft::Draft;
use super::fields;
use super::finish_attempt::complete_if_enough;
use super::start_task::{Start, refuse_move, require_move, start};
use super::state::Task;
use crate::context::{Context, Decision, check};
use crate::session::state::SessionState;

pub fn update_task(
    state: &SessionState,
    recalled: &[TaskRow],
    command: &UpdateTask,
    context: &mut Context<'_>,
) -> Result<Decision<TaskResult>, Refusal> {
    check_fields(command, context)?;
    let mut draft = Draft::of(state, recalled, context)?;
    let task_id = &command.task_id;
    let task = draft.require(task_id)?;
    if task.row.status == TaskStatus::Archived {
        return Err(refuse_move(&task, "changed", "it is archived"));
    }
    if let Some(fact) = updated(command, draft.context) {
        draft.push(draft.scope(task_id), fact);
    }
    if let Some(status) = command.status.filter(|status| *status != task.row.status) {
        set_status(&mut draft, &task, status, command)?;
    }
    complete_if_enough(&mut draft, task_id);
    Ok(draft.finish(|draft| TaskResult {
        task_id: task_id.clone(),
        status: draft.status(task_id),
        sequence: draft.sequence(),
    }))
}

fn check_fields(command: &UpdateTask, context: &Context<'_>) -> Result<(), Refusal> {
    let limits = context.limits;
    limits.check_title(command.title.as_deref())?;
    if let Some(metadata) = &command.metadata {
        limits.check_metadata("metadata_bytes", metadata)?;
    }
    if let Some(objective) = &command.objective {
        if objective.trim().is_empty() {
            return Err(Refusal::invalid("objective must say what the task is for"));
        }
        check("task_objective_chars", objective.chars().count(), limits.task_objective_chars_max)?;
    }
    fields::check_policy(command.retry_policy.as_ref(), limits)?;
    for (field, name) in
        [("owner", &command.owner), ("assignee", &command.assignee), ("native_status", &command.native_status)]
    {
        fields::check_name(field, name.as_deref(), limits)?;
    }
    fields::check_text("status_reason", command.status_reason.as_deref(), limits)?;
    fields::check_acceptance(command.acceptance.as_ref(), limits)?;
    fields::check_profile(command.task_profile.as_ref(), limits)?;
    fields::check_values([command.scope.as_ref(), command.constraints.as_ref()], limits)
}

/// The fact about data, where any is changed.
fn updated(command: &UpdateTask, context: &Context<'_>) -> Option<TaskUpdated> {
    let command = command.clone();
    let fact = TaskUpdated {
        updated_by: context.caller.to_owned(),
        status: None,
        native_status: command.native_status,
        status_reason: command.status_reason,
        title: command.title,
        objective: command.objective,
        visibility: command.visibility,
        priority: command.priority,
        owner: command.owner,
        assignee: command.assignee,
        scope: command.scope,
        constraints: command.constraints,
        task_profile: command.task_profile,
        acceptance: command.acceptance,
        retry_policy: command.retry_policy,
        delivery_state: command.delivery_state,
        metadata: command.metadata,
    };
    let nothing = TaskUpdated { updated_by: fact.updated_by.clone(), ..TaskUpdated::default() };
    (fact != nothing).then_some(fact)
}

/// Moves the task where a caller may do so: the ends, retries, pauses and cancellations have commands of their own.
fn set_status(draft: &mut Draft<'_, '_>, task: &Task, status: TaskStatus, command: &UpdateTask) -> Result<(), Refusal> {
    require_move(task, status)?;
    require_free(draft, task, status)?;
    let task_id = &task.row.task_id;
    let by = draft.context.caller.to_owned();
    let reason = command.status_reason.clone();
    let run = task.open_run().map(|attempt| attempt.status);
    match status {
        TaskStatus::Accepted if task.row.attempt.is_none() => accept(draft, task_id, task, by),
        TaskStatus::Queued if matches!(task.row.status, TaskStatus::Draft | TaskStatus::Accepted) => {
            if task.blockers.is_empty() {
                start(draft, task_id, Start::default())?;
            } else {
                accept(draft, task_id, task, by);
            }
        }
        TaskStatus::WaitingInput | TaskStatus::WaitingPermission | TaskStatus::WaitingResource => {
            let native_status = command.native_status.clone();
            draft.push(draft.scope(task_id), TaskWaiting { status, reason, resource: None, native_status });
        }
        TaskStatus::Blocked => {
            let fact = TaskBlocked { status, reason, blockers: Vec::new() };
            draft.push(draft.scope(task_id), fact);
        }
        // Nobody waits for it any more: its run is there to be claimed again.
        TaskStatus::Queued if run == Some(AttemptStatus::Queued) => {
            draft.push(draft.scope(task_id), TaskQueued { status, reason, behind: Vec::new() });
        }
        // A run that nobody has claimed is not at work, whatever anybody says.
        TaskStatus::Preparing | TaskStatus::Running if run == Some(AttemptStatus::Running) => {
            moved(draft, task_id, status, by, reason)
        }
        // Of what never began everything is known.
        TaskStatus::Stale | TaskStatus::Unknown if task.row.attempt.is_some() => {
            moved(draft, task_id, status, by, reason)
        }
        TaskStatus::Archived => {
            let previous_status = task.row.status;
            draft.push(draft.scope(task_id), TaskArchived { status, previous_status, archived_by: by, reason });
        }
        _ => return Err(refuse_move(task, status.as_str(), advice(status))),
    }
    Ok(())
}

/// Refuses to say where a task stands while something else does: an order, a timer, others it waits for, or whoever runs it.
fn require_free(draft: &Draft<'_, '_>, task: &Task, status: TaskStatus) -> Result<(), Refusal> {
    use TaskStatus::{Archived, Paused, Retrying, WaitingInput, WaitingPermission, WaitingResource};
    let run = task.open_run();
    let by_peer = |attempt: &Attempt| draft.state.delegations.get(&attempt.run_id).is_some();
    let advice = match task.row.status {
        _ if status == Archived => return Ok(()),
        Paused => "resume_task goes on with it",
        Retrying => "its next attempt begins by itself; retry_task begins it now",
        _ if run.is_some_and(|attempt| attempt.turn_id.is_some()) => "the turn of its agent says where it stands",
        _ if run.is_some_and(by_peer) => "its peer says where it stands",
        _ if !task.blockers.is_empty() && matches!(status, WaitingInput | WaitingPermission | WaitingResource) => {
            "it waits for other tasks and starts by itself when they are complete"
        }
        _ => return Ok(()),
    };
    Err(refuse_move(task, status.as_str(), advice))
}

fn accept(draft: &mut Draft<'_, '_>, task_id: &TaskId, task: &Task, by: String) {
    draft.push(draft.scope(task_id), TaskAccepted { status: TaskStatus::Accepted, accepted_by: by });
    if !task.blockers.is_empty() {
        super::create_task::blocked(draft, task_id);
    }
}

fn moved(draft: &mut Draft<'_, '_>, task_id: &TaskId, status: TaskStatus, by: String, reason: Option<String>) {
    let fact = TaskUpdated { updated_by: by, status: Some(status), status_reason: reason, ..TaskUpdated::default() };
    draft.push(draft.scope(task_id), fact);
}

/// Which command does what this one does not.
fn advice(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Preparing | TaskStatus::Running | TaskStatus::Queued => "start_task begins it",
        TaskStatus::Paused => "pause_task does that",
        TaskStatus::Retrying => "retry_task does that",
        TaskStatus::Cancelling | TaskStatus::Cancelled => "cancel_task does that",
        TaskStatus::Completed => "complete_task does that",
        TaskStatus::Failed => "fail_task does that",
        _ => "no command does that",
    }
}
