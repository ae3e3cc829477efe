//! `close_subagent`: a child agent and everything below it take no more input, children first.
//!
//! What waits in their queues is removed at once. What runs is ended at once too, or may settle until a durable timer ends
//! it; one that settles earlier is closed right then.

use std::collections::BTreeSet;

use factum_model::commands::{CloseSubagent, SubagentResult};
use factum_model::events::{QueueChange, QueueChanged, SubagentClosed, SubagentStatus, TurnFailed};
use factum_model::id::SubagentId;
use factum_model::subagent::SubagentState;
use factum_model::value::Status;
use factum_model::{Fact, NewEvent, Refusal, Timestamp};

use super::super::index::Timer;
use super::super::lookup::{require_session, thread_scope};
use super::super::state::{SessionState, Shell, Thread};
use super::super::tasks::helpers_settled;
use super::super::turn_end::{End, end_turn, failure};
use super::ended::closed_in;
use super::input::result;
use super::rows::SubagentRow;
use super::state::Subagent;
use super::view::work;
use crate::context::{Context, Decision, check};

/// `row` is how the shell found it. Closing what is closed is answered, not refused.
pub fn close_subagent(
    state: &SessionState,
    row: &SubagentRow,
    command: &CloseSubagent,
    context: &mut Context<'_>,
) -> Result<Decision<SubagentResult>, Refusal> {
    let shell = require_session(state)?;
    let grace_ms = command.grace_ms.unwrap_or(0);
    check("subagent_grace_ms", clamped(grace_ms), clamped(context.limits.subagent_grace_ms_max))?;
    let mut events = Vec::new();
    let Some(one) = state.subagents.get(&command.subagent_id) else {
        let output = SubagentResult {
            subagent_id: command.subagent_id.clone(),
            thread_id: row.thread_id.clone(),
            turn_id: None,
            status: SubagentState::Closed,
            sequence: context.sequence_after(state.sequence, &events),
        };
        return Ok(Decision { events, output });
    };
    let (by, reason) = (context.caller, command.reason.as_deref());
    if grace_ms == 0 {
        end_now(state, shell, one, by, reason, context, &mut events);
    } else {
        let at = later(context.now, grace_ms);
        end_until(state, shell, one, at, by, reason, &mut events);
        helpers_settled(state, context, &mut events);
    }
    let is_closed = closed_in(&events).contains(one.id());
    let status = if is_closed { SubagentState::Closed } else { SubagentState::Closing };
    Ok(Decision { output: result(state, one, None, status, context, &events), events })
}

/// Closes a child agent whose task is cancelled, with everything below it, at once.
pub(in super::super) fn close_for_task(
    state: &SessionState,
    subagent_id: &SubagentId,
    by: &str,
    reason: Option<&str>,
    context: &mut Context<'_>,
) -> Result<Vec<NewEvent>, Refusal> {
    let shell = require_session(state)?;
    let mut events = Vec::new();
    if let Some(one) = state.subagents.get(subagent_id) {
        end_now(state, shell, one, by, reason, context, &mut events);
    }
    Ok(events)
}

/// The time to settle is over. Decides nothing where it is closed already or was given another time.
pub(in super::super) fn fire_timer(
    state: &SessionState,
    timer: &Timer,
    context: &mut Context<'_>,
) -> Result<Decision<()>, Refusal> {
    let shell = require_session(state)?;
    let mut events = Vec::new();
    let one = timer.id.parse().ok().and_then(|id| state.subagents.get(&id));
    let due = one.and_then(|one| Some((one, one.closing.as_ref().filter(|closing| closing.at <= context.now)?)));
    if let Some((one, closing)) = due {
        end_now(state, shell, one, &closing.by, closing.reason.as_deref(), context, &mut events);
    }
    Ok(Decision { events, output: () })
}

/// Ends whatever goes on and closes.
fn end_now(
    state: &SessionState,
    shell: &Shell,
    root: &Subagent,
    by: &str,
    reason: Option<&str>,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    for one in state.subagents.with_descendants(root.id()) {
        if let Some(thread) = state.thread(&one.record.thread_id) {
            clear_queue(shell, thread, by, reason, events);
            if let Some(turn) = &thread.active {
                let message = reason.unwrap_or("the child agent was closed");
                let end = End::Failed { status: Status::Cancelled, error: failure("interrupted", message, false) };
                end_turn(state, shell, thread, turn, end, context.caller, context, events);
            }
        }
        // The end of a turn closes those that were only to settle.
        if !closed_in(events).contains(one.id()) {
            push_closed(state, one, by, reason, events);
        }
    }
    helpers_settled(state, context, events);
}

/// Closes what is idle and lets the rest settle.
fn end_until(
    state: &SessionState,
    shell: &Shell,
    root: &Subagent,
    at: Timestamp,
    by: &str,
    reason: Option<&str>,
    events: &mut Vec<NewEvent>,
) {
    let mut settling = BTreeSet::new();
    for one in state.subagents.with_descendants(root.id()) {
        let thread = state.thread(&one.record.thread_id);
        if let Some(thread) = thread {
            clear_queue(shell, thread, by, reason, events);
        }
        let busy = thread.is_some_and(|thread| thread.active.is_some());
        if !busy && !state.subagents.children(one.id()).any(|child| settling.contains(child.id())) {
            push_closed(state, one, by, reason, events);
            continue;
        }
        settling.insert(one.id());
        // A close never gives more time than an earlier one.
        if one.closing.as_ref().is_none_or(|closing| at < closing.at) {
            let fact = SubagentStatus {
                status: SubagentState::Closing,
                detail: reason.map(str::to_owned),
                last_message_ref: one.record.last_message_ref.clone(),
                close_at: Some(at),
                changed_by: Some(by.to_owned()),
            };
            events.push(NewEvent::new(one.scope(), fact));
        }
    }
}

pub(super) fn push_closed(
    state: &SessionState,
    one: &Subagent,
    by: &str,
    reason: Option<&str>,
    events: &mut Vec<NewEvent>,
) {
    let previous_status = came_to(one, events).unwrap_or_else(|| work(state, one));
    let (closed_by, reason) = (by.to_owned(), reason.map(str::to_owned));
    let fact = SubagentClosed { status: SubagentState::Closed, previous_status, closed_by, reason };
    events.push(NewEvent::new(one.scope(), fact));
}

/// What its work came to in this commit.
fn came_to(one: &Subagent, events: &[NewEvent]) -> Option<SubagentState> {
    let about = |event: &&NewEvent| event.scope.subagent_id.as_ref() == Some(one.id());
    events.iter().rev().filter(about).find_map(|event| match &event.fact {
        Fact::SubagentCompleted(fact) => Some(fact.status),
        Fact::SubagentFailed(fact) => Some(fact.status),
        _ => None,
    })
}

/// One fact for the empty queue, however many waited in it, and the end of each of them.
fn clear_queue(shell: &Shell, thread: &Thread, by: &str, reason: Option<&str>, events: &mut Vec<NewEvent>) {
    if thread.queue.is_empty() {
        return;
    }
    let scope = thread_scope(shell, &thread.thread_id);
    events.push(NewEvent::new(
        scope.clone(),
        QueueChanged {
            change: QueueChange::Removed,
            changed_turn_id: None,
            changed_by: by.to_owned(),
            reason: reason.map(str::to_owned),
            entries: Vec::new(),
        },
    ));
    for turn in &thread.queue {
        let message = reason.unwrap_or("the child agent was closed before it started");
        let fact = TurnFailed {
            status: Status::Cancelled,
            error: failure("removed_from_queue", message, false),
            ended_by: by.to_owned(),
            usage: None,
            steps: 0,
        };
        events.push(NewEvent::new(scope.clone().turn_id(&turn.entry.turn_id), fact));
    }
}

fn later(now: Timestamp, ms: u64) -> Timestamp {
    let millis = now.as_millisecond().saturating_add(i64::try_from(ms).unwrap_or(i64::MAX));
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX)
}

fn clamped(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
