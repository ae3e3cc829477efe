//! Stopping the turn an agent does a task in, for good or for a while. Where the attempt has not ended yet, the end of its
//! turn ends it.
//!
//! A turn whose task is paused stops where nothing is lost by it: a request to the model is cut off, as a crash would, and
//! asked again later; a tool that runs may end, and nothing begins behind it.

use factum_model::Refusal;
use factum_model::events::ModelFailed;
use factum_model::id::TurnId;
use factum_model::task::TaskStatus;
use factum_model::value::{Failure, Status};

use super::draft::Draft;
use super::state::Task;
use crate::session::lookup::{active_turn, turn_scope};
use crate::session::remove_queued_turn::{find_queued, remove_from_queue};
use crate::session::state::{ActiveTurn, CallState, OpenCall, SessionState, Thread};
use crate::session::turn_end::{End, end_turn, failure, start_next};
use crate::session::turn_start::start_again;

/// Ends a turn that runs, and takes one that still waits out of its queue: nobody is left to do it for.
pub(super) fn stop_turn(draft: &mut Draft<'_, '_>, turn_id: &TurnId, status: Status, error: Failure, by: &str) {
    let (state, known) = (draft.state, draft.events.len());
    let Some(shell) = &state.shell else { return };
    if let Some((thread, turn)) = active_turn(state, turn_id) {
        let end = End::Failed { status, error };
        end_turn(state, shell, thread, turn, end, by, draft.context, &mut draft.events);
        start_next(state, shell, thread, draft.context, &mut draft.events);
    } else if let Ok(thread) = find_queued(state, None, turn_id) {
        remove_from_queue(shell, thread, turn_id, Some(&error.message), by, &mut draft.events);
    }
    draft.catch_up(known);
}

/// Cuts off what the model is asked in the turn of a task that is put aside.
pub(super) fn cut_off_turn(draft: &mut Draft<'_, '_>, task: &Task) {
    let state = draft.state;
    let Some((thread, turn)) = turn_of(state, task) else { return };
    let (Some(shell), Some(request)) = (&state.shell, &turn.model_request) else { return };
    let scope = turn_scope(shell, &thread.thread_id, &turn.turn_id);
    let scope = scope.step_id(&request.step_id).model_request_id(&request.request_id);
    let error = failure("interrupted", "the task was paused; the model is asked again when it is resumed", true);
    draft.push(scope, ModelFailed { error, will_retry: true, raw_ref: None });
}

/// Carries on the turn of a task that was put aside. Where a tool of it still runs, or it was never stopped, whoever runs it
/// goes on with it.
pub(super) fn carry_on_turn(draft: &mut Draft<'_, '_>, task: &Task) {
    let state = draft.state;
    let (Some((thread, turn)), Some(shell)) = (turn_of(state, task), &state.shell) else { return };
    let runs = |call: &OpenCall| call.state == CallState::Running;
    let busy = turn.model_request.is_some() || turn.calls.iter().any(runs);
    if !busy && turn.status(state) == Status::Running {
        let again = start_again(turn_scope(shell, &thread.thread_id, &turn.turn_id), &turn.agent, turn.attempt + 1);
        draft.push_event(again);
    }
}

fn turn_of<'a>(state: &'a SessionState, task: &Task) -> Option<(&'a Thread, &'a ActiveTurn)> {
    active_turn(state, task.open_run()?.turn_id.as_ref()?)
}

/// Refuses to begin anything in the turn of a task that is paused.
pub(in super::super) fn require_going(state: &SessionState, turn_id: &TurnId) -> Result<(), Refusal> {
    let task = state.tasks.turns.get(turn_id).and_then(|task_id| state.tasks.get(task_id));
    if task.is_none_or(|task| task.row.status != TaskStatus::Paused) {
        return Ok(());
    }
    Err(Refusal::precondition("the task of this turn is paused; resume_task goes on with it").with("cause", PAUSED))
}

/// The cause in the refusal of what a turn reports while its task is paused.
pub const PAUSED: &str = "paused";
