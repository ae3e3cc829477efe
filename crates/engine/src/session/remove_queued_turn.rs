//! `remove_queued_turn`: take a turn out of the queue before it starts.

use factum_model::commands::{QueueResult, RemoveQueuedTurn};
use factum_model::events::{QueueChange, QueueChanged, TurnFailed};
use factum_model::id::{ThreadId, TurnId};
use factum_model::value::{Failure, Status};
use factum_model::{NewEvent, Refusal};

use super::lookup::{require_session, require_thread, turn_scope};
use super::state::{SessionState, Shell, Thread};
use super::turn_end::{TurnEnded, failure, queue_order};
use crate::context::{Context, Decision};

pub fn remove_queued_turn(
    state: &SessionState,
    command: &RemoveQueuedTurn,
    context: &mut Context<'_>,
) -> Result<Decision<QueueResult>, Refusal> {
    let shell = require_session(state)?;
    let thread = find_queued(state, command.thread_id.as_ref(), &command.queued_turn_id)?;
    let mut events = Vec::with_capacity(2);
    let removed = &command.queued_turn_id;
    remove_from_queue(shell, thread, removed, command.reason.as_deref(), context.caller, &mut events);
    tell_removed(state, thread, removed, command.reason.as_deref(), context, &mut events);
    let queued_turns = thread.queue_entries().into_iter().filter(|entry| entry.turn_id != *removed).collect();
    let sequence = context.sequence_after(state.sequence, &events);
    Ok(Decision {
        output: QueueResult {
            session_id: shell.session_id.clone(),
            thread_id: thread.thread_id.clone(),
            queued_turns,
            sequence,
        },
        events,
    })
}

/// The thread in whose queue the turn waits. A turn that is not queued is not found, whatever became of it.
pub(super) fn find_queued<'a>(
    state: &'a SessionState,
    thread_id: Option<&ThreadId>,
    turn_id: &TurnId,
) -> Result<&'a Thread, Refusal> {
    let queued = |thread: &&Thread| thread.queue.iter().any(|turn| turn.entry.turn_id == *turn_id);
    match thread_id {
        Some(_) => Some(require_thread(state, thread_id)?).filter(queued),
        None => state.threads.iter().find(queued),
    }
    .ok_or_else(Refusal::not_found)
}

/// The facts of a removal: the new order, and the end of a turn that never started.
pub(super) fn remove_from_queue(
    shell: &Shell,
    thread: &Thread,
    turn_id: &TurnId,
    reason: Option<&str>,
    removed_by: &str,
    events: &mut Vec<NewEvent>,
) {
    let scope = turn_scope(shell, &thread.thread_id, turn_id);
    let entries = queue_order(thread, events).into_iter().filter(|entry| entry.turn_id != *turn_id).collect();
    events.push(NewEvent::new(
        scope.clone(),
        QueueChanged {
            change: QueueChange::Removed,
            changed_turn_id: Some(turn_id.clone()),
            changed_by: removed_by.to_owned(),
            reason: reason.map(str::to_owned),
            entries,
        },
    ));
    events.push(NewEvent::new(
        scope,
        TurnFailed {
            status: Status::Cancelled,
            error: removed_error(reason),
            ended_by: removed_by.to_owned(),
            usage: None,
            steps: 0,
        },
    ));
}

/// Whatever had the turn done hears that it never starts, in the same commit.
pub(super) fn tell_removed(
    state: &SessionState,
    thread: &Thread,
    turn_id: &TurnId,
    reason: Option<&str>,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    let ended = TurnEnded::unstarted(thread, turn_id, removed_error(reason));
    super::tasks::turn_ended(state, &ended, context, events);
    super::jobs::turn_ended(state, &ended, context, events);
}

fn removed_error(reason: Option<&str>) -> Failure {
    failure("removed_from_queue", reason.unwrap_or("removed before it started"), false)
}
