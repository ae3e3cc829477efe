//! `promote_queued_turn`: move a queued turn forward, to the front where no position is given.

use factum_model::commands::{PromoteQueuedTurn, QueueResult};
use factum_model::events::{QueueChange, QueueChanged};
use factum_model::{NewEvent, Refusal};

use super::lookup::{require_session, turn_scope};
use super::remove_queued_turn::find_queued;
use super::state::SessionState;
use crate::context::{Context, Decision};

pub fn promote_queued_turn(
    state: &SessionState,
    command: &PromoteQueuedTurn,
    context: &mut Context<'_>,
) -> Result<Decision<QueueResult>, Refusal> {
    let shell = require_session(state)?;
    let thread = find_queued(state, command.thread_id.as_ref(), &command.queued_turn_id)?;
    let mut entries = thread.queue_entries();
    let from =
        entries.iter().position(|entry| entry.turn_id == command.queued_turn_id).ok_or_else(Refusal::not_found)?;
    let to = target(command.position, entries.len())?;
    let mut events = Vec::new();
    if to < from {
        let entry = entries.remove(from);
        entries.insert(to, entry);
        events.push(NewEvent::new(
            turn_scope(shell, &thread.thread_id, &command.queued_turn_id),
            QueueChanged {
                change: QueueChange::Promoted,
                changed_turn_id: Some(command.queued_turn_id.clone()),
                changed_by: context.caller.to_owned(),
                reason: None,
                entries: entries.clone(),
            },
        ));
    }
    let sequence = context.sequence_after(state.sequence, &events);
    Ok(Decision {
        output: QueueResult {
            session_id: shell.session_id.clone(),
            thread_id: thread.thread_id.clone(),
            queued_turns: entries,
            sequence,
        },
        events,
    })
}

/// The wanted place, from 0. A position from 1 to the queue's length is understood.
fn target(position: Option<u32>, len: usize) -> Result<usize, Refusal> {
    match position {
        None => Ok(0),
        Some(position) if position >= 1 && position as usize <= len => Ok(position as usize - 1),
        Some(_) => Err(Refusal::invalid(format!("position must be 1 to {len}")).with("queue_length", len)),
    }
}
