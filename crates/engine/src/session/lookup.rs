//! Finding what a command names, or refusing in the one way that tells nothing.

use factum_model::id::{ThreadId, TurnId};
use factum_model::{Refusal, Scope};

use super::state::{ActiveTurn, SessionState, Shell, Thread};

/// The shell of a session that exists.
pub fn require_session(state: &SessionState) -> Result<&Shell, Refusal> {
    state.shell.as_ref().ok_or_else(Refusal::not_found)
}

/// The named thread, or the main one where none is named.
pub(super) fn require_thread<'a>(state: &'a SessionState, named: Option<&ThreadId>) -> Result<&'a Thread, Refusal> {
    let thread = match named {
        Some(thread_id) => state.thread(thread_id),
        None => state.threads.first(),
    };
    thread.ok_or_else(Refusal::not_found)
}

/// The envelope ids of a thread's facts.
pub(super) fn thread_scope(shell: &Shell, thread_id: &ThreadId) -> Scope {
    Scope::default().session_id(&shell.session_id).thread_id(thread_id)
}

/// The envelope ids of a turn's facts.
pub(super) fn turn_scope(shell: &Shell, thread_id: &ThreadId, turn_id: &TurnId) -> Scope {
    thread_scope(shell, thread_id).turn_id(turn_id)
}

/// The active turn with this id, wherever it is.
pub(super) fn active_turn<'a>(state: &'a SessionState, turn_id: &TurnId) -> Option<(&'a Thread, &'a ActiveTurn)> {
    state.threads.iter().find_map(|thread| {
        let turn = thread.active.as_deref().filter(|turn| turn.turn_id == *turn_id)?;
        Some((thread, turn))
    })
}
