//! A task whose agent waits for a decision waits with it, and goes on when nothing is left to decide.

use factum_model::NewEvent;
use factum_model::events::{TaskResumed, TaskWaiting};
use factum_model::id::TurnId;
use factum_model::task::{Propagation, TaskStatus};
use factum_model::value::Status;

use super::draft::Draft;
use super::inbound;
use crate::context::Context;
use crate::session::state::SessionState;
use crate::session::text::clip;
use crate::session::waiting::waits_for;

/// Called behind `events` that open or resolve actions of a turn: moves the task that the turn is done for.
pub(in super::super) fn actions_changed(
    state: &SessionState,
    turn_id: &TurnId,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    // Almost no turn is of a task.
    let (Some(_), Some(shell)) = (state.tasks.turns.get(turn_id), &state.shell) else { return };
    let mut draft = Draft::begin(state, &shell.session_id, &[], std::mem::take(events), context);
    // The same decision may have ended the turn, and with it the attempt.
    if let Some(task_id) = draft.tasks.turns.get(turn_id).cloned() {
        inbound::forward_permissions(&mut draft, &task_id, turn_id);
        let status = draft.status(&task_id);
        let scope = draft.run_scope(&task_id);
        let waits = waits_for(state, turn_id, &draft.events).map(|(waits, prompt)| (waiting(waits), prompt));
        match waits {
            Some((waiting, prompt)) if at_work(status) && status != waiting => {
                let prompt = clip(&prompt, draft.context.limits.task_text_chars_max);
                let (reason, resource, native_status) = (Some(prompt), None, None);
                draft.push(scope, TaskWaiting { status: waiting, reason, resource, native_status });
                inbound::tell_peer(&mut draft, &task_id);
            }
            None if at_work(status) && status != TaskStatus::Running => {
                let resumed_by = draft.context.caller.to_owned();
                let (reason, origin_task_id) = (None, None);
                let (status, propagation) = (TaskStatus::Running, Propagation::None);
                draft.push(scope, TaskResumed { status, resumed_by, reason, propagation, origin_task_id });
                inbound::tell_peer(&mut draft, &task_id);
            }
            _ => {}
        }
    }
    *events = draft.events;
}

fn waiting(status: Status) -> TaskStatus {
    match status {
        Status::WaitingPermission => TaskStatus::WaitingPermission,
        _ => TaskStatus::WaitingInput,
    }
}

/// Only these follow the turn: a task that is paused or being cancelled stays so.
fn at_work(status: TaskStatus) -> bool {
    matches!(status, TaskStatus::Running | TaskStatus::WaitingInput | TaskStatus::WaitingPermission)
}
