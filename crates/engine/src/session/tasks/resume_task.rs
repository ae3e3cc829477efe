//! `resume_task`: a task that was put aside goes on where it stood; one whose worker was lost begins again.

use factum_model::commands::{PropagatedTaskResult, ResumeTask};
use factum_model::events::TaskResumed;
use factum_model::id::TaskId;
use factum_model::task::*;
use factum_model::{Refusal, Scope};

use super::agenda::start_unblocked;
use super::agent_turn::carry_on_turn;
use super::draft::Draft;
use super::fields::check_text;
use super::finish_attempt::{complete_if_enough, retry_by_policy};
use super::graph::cancelled_above;
use super::inbound::follow_up;
use super::propagated::answer;
use super::start_task::{Start, refuse_move, start};
use super::state::{Order, Task};
use crate::context::{Context, Decision};
use crate::session::state::SessionState;
use crate::session::waiting::waits_for;

pub fn resume_task(
    state: &SessionState,
    recalled: &[TaskRow],
    command: &ResumeTask,
    context: &mut Context<'_>,
) -> Result<Decision<PropagatedTaskResult>, Refusal> {
    check_text("reason", command.reason.as_deref(), context.limits)?;
    let mut draft = Draft::of(state, recalled, context)?;
    let task = draft.require(&command.task_id)?;
    if !matches!(task.row.status, TaskStatus::Paused | TaskStatus::Lost) {
        return Err(refuse_move(&task, "resumed", "only a paused or lost task is resumed"));
    }
    let order = Order {
        origin: command.task_id.clone(),
        by: draft.context.caller.to_owned(),
        reason: command.reason.clone(),
        propagation: command.propagation,
        unbegun: false,
    };
    if task.row.status == TaskStatus::Lost {
        let cause = AttemptCause::WorkerLost;
        start(&mut draft, &command.task_id, Start { cause, ..Start::default() })?;
    } else {
        resume(&mut draft, &command.task_id, &order, false);
    }
    Ok(answer(draft, &command.task_id))
}

/// Resumes one task. One that was not put aside is passed over, but the order still reaches what is below it.
pub(super) fn resume(draft: &mut Draft<'_, '_>, task_id: &TaskId, order: &Order, spreading: bool) {
    let Some(task) = draft.tasks.get(task_id) else { return };
    let status = match task.paused_from.filter(|_| task.row.status == TaskStatus::Paused) {
        // Its blockers may have been linked or done meanwhile.
        Some(_) if !task.blockers.is_empty() => TaskStatus::Blocked,
        Some(before) if is_answered(draft, task, before) => TaskStatus::Running,
        Some(before) => before,
        None => task.row.status,
    };
    let fact = TaskResumed {
        status,
        resumed_by: order.by.clone(),
        reason: order.reason.clone(),
        propagation: order.propagation,
        origin_task_id: spreading.then(|| order.origin.clone()),
    };
    let passes_by = status == task.row.status;
    let before = task.clone();
    // An order that passes by is no sign of life of whoever is at work.
    let scope = if passes_by { draft.scope(task_id) } else { going_scope(draft, &before) };
    draft.push(scope, fact);
    if !passes_by {
        start_unblocked(draft, task_id);
        if cancelled_above(&draft.tasks, task_id).is_some() || !follow_up(draft, task_id) {
            complete_if_enough(draft, task_id);
        }
        retry_behind(draft, &before);
        carry_on_turn(draft, &before);
    }
}

/// Whether what its agent waited for when it was put aside was decided meanwhile.
fn is_answered(draft: &Draft<'_, '_>, task: &Task, before: TaskStatus) -> bool {
    let turn_id = task.open_run().and_then(|attempt| attempt.turn_id.as_ref());
    let waited = matches!(before, TaskStatus::WaitingInput | TaskStatus::WaitingPermission);
    waited && turn_id.is_some_and(|turn_id| waits_for(draft.state, turn_id, &draft.events).is_none())
}

/// Facts about a task whose agent is to go on name its turn: whoever runs turns looks at it then.
fn going_scope(draft: &Draft<'_, '_>, task: &Task) -> Scope {
    match task.open_run() {
        Some(attempt) if attempt.turn_id.is_some() => draft.run_scope(&task.row.task_id),
        _ => draft.scope(&task.row.task_id),
    }
}

/// The attempt failed while the task was put aside, and its policy has another one.
fn retry_behind(draft: &mut Draft<'_, '_>, before: &Task) {
    let failed = before.row.attempt.as_ref().filter(|_| before.paused_from == Some(TaskStatus::Retrying));
    if let Some(attempt) = failed.filter(|_| before.due.retry.is_none()) {
        retry_by_policy(draft, before, attempt.status);
    }
}
