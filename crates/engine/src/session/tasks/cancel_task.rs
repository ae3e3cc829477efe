//! `cancel_task`: records that somebody wants a task to end. What runs settles first, and nothing is added or begins below it:
//! what has not begun there is cancelled with it, however far the order reaches.

use factum_model::Refusal;
use factum_model::commands::{CancelTask, PropagatedTaskResult};
use factum_model::events::TaskCancelRequested;
use factum_model::id::TaskId;
use factum_model::task::*;
use factum_model::value::{Failure, Status};

use super::agent_turn::stop_turn;
use super::clock::later;
use super::draft::Draft;
use super::fields::check_text;
use super::finish_attempt::{Leavings, attempt_failed};
use super::moves::may_move;
use super::propagated::answer;
use super::start_task::{refuse_move, require_move};
use super::state::Order;
use crate::context::{Context, Decision};
use crate::session::state::SessionState;
use crate::session::turn_end::failure;

pub fn cancel_task(
    state: &SessionState,
    recalled: &[TaskRow],
    command: &CancelTask,
    context: &mut Context<'_>,
) -> Result<Decision<PropagatedTaskResult>, Refusal> {
    check_text("reason", command.reason.as_deref(), context.limits)?;
    let mut draft = Draft::of(state, recalled, context)?;
    let task = draft.require(&command.task_id)?;
    if task.row.status == TaskStatus::Cancelling {
        // The intent is there already; it may reach further now.
        if command.propagation == Propagation::None {
            return Err(refuse_move(&task, "cancelled", "it is being cancelled already and settles by itself"));
        }
    } else {
        require_move(&task, TaskStatus::Cancelling)?;
    }
    let order = Order {
        origin: command.task_id.clone(),
        by: draft.context.caller.to_owned(),
        reason: command.reason.clone(),
        propagation: command.propagation,
        unbegun: false,
    };
    cancel(&mut draft, &command.task_id, &order, false);
    Ok(answer(draft, &command.task_id))
}

/// Cancels one task. It ends at once where nothing of it runs and nothing below it is open; an agent's turn is stopped, a
/// worker or assignee is told and has some time.
pub(super) fn cancel(draft: &mut Draft<'_, '_>, task_id: &TaskId, order: &Order, spreading: bool) {
    let Some(task) = draft.tasks.get(task_id).cloned() else { return };
    let passed_by = order.unbegun && task.has_begun();
    let moves = may_move(task.row.status, TaskStatus::Cancelling) && !passed_by;
    let running = task.open_run().filter(|attempt| attempt.status == AttemptStatus::Running);
    let reason = order.reason.clone().or_else(|| order.unbegun.then(|| UNBEGUN.to_owned()));
    let grace = draft.context.limits.task_cancel_grace_ms;
    let fact = TaskCancelRequested {
        status: if moves { TaskStatus::Cancelling } else { task.row.status },
        requested_by: order.by.clone(),
        reason: reason.clone(),
        propagation: order.propagation,
        origin_task_id: spreading.then(|| order.origin.clone()),
        // Also where a worker holds it: a lease that is kept alive has no end of its own.
        settle_by: running.filter(|_| moves).map(|_| later(draft.context.now, grace)),
        ends_unbegun: true,
    };
    draft.push(draft.scope(task_id), fact);
    if !moves {
        return;
    }
    // Also one that still waits in its thread's queue.
    let turn_id = task.open_run().and_then(|attempt| attempt.turn_id.as_ref());
    match (turn_id, running) {
        (Some(turn_id), _) => {
            // The attempt ends first: the end of its turn then decides nothing of its own, however far an order spreads.
            attempt_failed(draft, task_id, AttemptStatus::Cancelled, cancelled(order), Leavings::default());
            stop_turn(
                draft,
                turn_id,
                Status::Cancelled,
                failure("interrupted", &cancelled(order).message, false),
                &order.by,
            );
        }
        (None, Some(_)) => {}
        (None, None) if task.open_run().is_some() => {
            attempt_failed(draft, task_id, AttemptStatus::Cancelled, cancelled(order), Leavings::default());
        }
        (None, None) if draft.tasks.open_below(task_id) == 0 => {
            draft.cancelled(task_id, &order.by, reason);
        }
        (None, None) => {}
    }
}

/// Why a task is cancelled that nobody asked to cancel.
const UNBEGUN: &str = "a task above it was cancelled before it began";

fn cancelled(order: &Order) -> Failure {
    let message = order.reason.clone().unwrap_or_else(|| "the task was cancelled".to_owned());
    Failure { category: "cancelled".to_owned(), message, retryable: false, advice: None }
}
