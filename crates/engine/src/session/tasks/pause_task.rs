//! `pause_task`: puts a task aside. A worker's run may end meanwhile, an agent stops at the next safe point; none begins.

use factum_model::Refusal;
use factum_model::commands::{PauseTask, PropagatedTaskResult};
use factum_model::events::TaskPaused;
use factum_model::id::TaskId;
use factum_model::task::*;

use super::agent_turn::cut_off_turn;
use super::draft::Draft;
use super::fields::check_text;
use super::moves::may_move;
use super::propagated::answer;
use super::start_task::require_move;
use super::state::Order;
use crate::context::{Context, Decision};
use crate::session::state::SessionState;

pub fn pause_task(
    state: &SessionState,
    recalled: &[TaskRow],
    command: &PauseTask,
    context: &mut Context<'_>,
) -> Result<Decision<PropagatedTaskResult>, Refusal> {
    check_text("reason", command.reason.as_deref(), context.limits)?;
    let mut draft = Draft::of(state, recalled, context)?;
    let task = draft.require(&command.task_id)?;
    require_move(&task, TaskStatus::Paused)?;
    let order = Order {
        origin: command.task_id.clone(),
        by: draft.context.caller.to_owned(),
        reason: command.reason.clone(),
        propagation: command.propagation,
        unbegun: false,
    };
    pause(&mut draft, &command.task_id, &order, false);
    Ok(answer(draft, &command.task_id))
}

/// Pauses one task. One that cannot be paused is passed over, but the order still reaches what is below it.
pub(super) fn pause(draft: &mut Draft<'_, '_>, task_id: &TaskId, order: &Order, spreading: bool) {
    let Some(task) = draft.tasks.get(task_id) else { return };
    let (status, paused_from) = (task.row.status, task.paused_from);
    let pauses = may_move(status, TaskStatus::Paused);
    let fact = TaskPaused {
        status: if pauses { TaskStatus::Paused } else { status },
        previous_status: if pauses { status } else { paused_from.unwrap_or(status) },
        paused_by: order.by.clone(),
        reason: order.reason.clone(),
        propagation: order.propagation,
        origin_task_id: spreading.then(|| order.origin.clone()),
    };
    let before = task.clone();
    draft.push(draft.scope(task_id), fact);
    if pauses {
        cut_off_turn(draft, &before);
    }
}
