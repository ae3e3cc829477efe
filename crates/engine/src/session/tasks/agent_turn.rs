//! Stopping the turn an agent does a task in. Where the attempt has not ended yet, the end of its turn ends it.

use factum_model::id::TurnId;
use factum_model::value::{Failure, Status};

use super::draft::Draft;
use crate::session::lookup::active_turn;
use crate::session::remove_queued_turn::{find_queued, remove_from_queue};
use crate::session::turn_end::{End, end_turn, start_next};

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
