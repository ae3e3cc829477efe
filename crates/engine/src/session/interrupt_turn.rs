//! `interrupt_turn`: stop a turn. Stopping what does not run is answered, not refused.

use factum_model::commands::{InterruptTurn, InterruptTurnResult};
use factum_model::value::Status;
use factum_model::{NewEvent, Refusal};

use super::lookup::{require_session, require_thread};
use super::remove_queued_turn::{remove_from_queue, tell_removed};
use super::state::{SessionState, Thread};
use super::turn_end::{End, end_turn, failure, start_next};
use crate::context::{Context, Decision};

pub fn interrupt_turn(
    state: &SessionState,
    command: &InterruptTurn,
    context: &mut Context<'_>,
) -> Result<Decision<InterruptTurnResult>, Refusal> {
    let shell = require_session(state)?;
    let thread = find_thread(state, command)?;
    let mut events: Vec<NewEvent> = Vec::new();
    let active =
        thread.active.as_ref().filter(|turn| command.turn_id.as_ref().is_none_or(|named| turn.turn_id == *named));
    let queued = command.turn_id.as_ref().filter(|named| thread.queue.iter().any(|turn| turn.entry.turn_id == **named));
    let mut stopped = None;
    if let Some(turn) = active {
        let message = command.reason.as_deref().unwrap_or("interrupted by the caller");
        let end = End::Failed { status: Status::Cancelled, error: failure("interrupted", message, false) };
        end_turn(state, shell, thread, turn, end, context.caller, context, &mut events);
        start_next(state, shell, thread, context, &mut events);
        stopped = Some(turn.turn_id.clone());
    } else if let Some(turn_id) = queued {
        remove_from_queue(shell, thread, turn_id, command.reason.as_deref(), context.caller, &mut events);
        tell_removed(state, thread, turn_id, command.reason.as_deref(), context, &mut events);
        stopped = Some(turn_id.clone());
    }
    let sequence = context.sequence_after(state.sequence, &events);
    Ok(Decision {
        output: InterruptTurnResult {
            session_id: shell.session_id.clone(),
            thread_id: thread.thread_id.clone(),
            interrupted: stopped.is_some(),
            turn_id: stopped.or_else(|| command.turn_id.clone()),
            sequence,
        },
        events,
    })
}

/// The named thread; else the one that has the named turn; else the main one.
fn find_thread<'a>(state: &'a SessionState, command: &InterruptTurn) -> Result<&'a Thread, Refusal> {
    if let (None, Some(turn_id)) = (&command.thread_id, &command.turn_id) {
        let has = |thread: &&Thread| {
            thread.active.as_ref().is_some_and(|turn| turn.turn_id == *turn_id)
                || thread.queue.iter().any(|turn| turn.entry.turn_id == *turn_id)
        };
        if let Some(thread) = state.threads.iter().find(has) {
            return Ok(thread);
        }
    }
    require_thread(state, command.thread_id.as_ref())
}
