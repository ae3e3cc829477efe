//! A turn of a child agent ended: what that makes of the child.

use std::collections::BTreeSet;

use factum_model::events::{SubagentCompleted, SubagentFailed};
use factum_model::id::{SubagentId, ThreadId};
use factum_model::subagent::SubagentState;
use factum_model::value::Status;
use factum_model::{Fact, NewEvent};

use super::super::state::SessionState;
use super::super::tasks::helpers_settled;
use super::super::turn_end::{TurnEnded, failure};
use super::close::push_closed;
use super::state::Subagent;
use crate::context::Context;

/// Whoever has nothing more to do has come to rest, and one that was only to settle is closed. `state` is from before the
/// commit, `events` are what it has decided so far.
pub(in super::super) fn turn_ended(
    state: &SessionState,
    ended: &TurnEnded<'_>,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    let Some(one) = state.subagents.in_thread(ended.thread_id) else { return };
    if has_queued(state, ended.thread_id, events) {
        return;
    }
    events.push(came_to_rest(one, ended));
    settle(state, one, events);
    helpers_settled(state, context, events);
}

fn came_to_rest(one: &Subagent, ended: &TurnEnded<'_>) -> NewEvent {
    let last_message_ref = one.record.last_message_ref.clone();
    let usage = ended.usage.clone();
    let status = match ended.status {
        Status::Completed => {
            let (status, summary) = (SubagentState::Completed, ended.preview.clone());
            let fact = SubagentCompleted { status, summary, last_message_ref, output_refs: Vec::new(), usage };
            return NewEvent::new(one.scope().turn_id(ended.turn_id), fact);
        }
        Status::Cancelled => SubagentState::Cancelled,
        _ => SubagentState::Failed,
    };
    let error = ended.error.clone().unwrap_or_else(|| failure("unknown", "its turn ended without saying why", false));
    let fact = SubagentFailed { status, error, last_message_ref, usage };
    NewEvent::new(one.scope().turn_id(ended.turn_id), fact)
}

/// Closes what was only to settle and has: this one, and its parents as far as it was the last they waited for.
fn settle(state: &SessionState, one: &Subagent, events: &mut Vec<NewEvent>) {
    if one.closing.is_none() {
        return;
    }
    let mut closed = closed_in(events);
    let mut next = Some(one);
    while let Some(one) = next {
        let Some(closing) = &one.closing else { return };
        let waits = state.subagents.children(one.id()).any(|child| !closed.contains(child.id()));
        if waits || closed.contains(one.id()) || is_busy(state, &one.record.thread_id, events) {
            return;
        }
        push_closed(state, one, &closing.by, closing.reason.as_deref(), events);
        closed.insert(one.id().clone());
        next = state.subagents.parent(one);
    }
}

/// The child agents that `events` close.
pub(super) fn closed_in(events: &[NewEvent]) -> BTreeSet<SubagentId> {
    let closed = events.iter().filter(|event| matches!(event.fact, Fact::SubagentClosed(_)));
    closed.filter_map(|event| event.scope.subagent_id.clone()).collect()
}

fn is_busy(state: &SessionState, thread_id: &ThreadId, events: &[NewEvent]) -> bool {
    let ends = |event: &NewEvent| {
        let over = matches!(event.fact, Fact::TurnCompleted(_) | Fact::TurnFailed(_));
        over && event.scope.thread_id.as_ref() == Some(thread_id)
    };
    state.thread(thread_id).is_some_and(|thread| thread.active.is_some()) && !events.iter().any(ends)
}

fn has_queued(state: &SessionState, thread_id: &ThreadId, events: &[NewEvent]) -> bool {
    let changed = events.iter().rev().find_map(|event| match &event.fact {
        Fact::QueueChanged(fact) if event.scope.thread_id.as_ref() == Some(thread_id) => Some(!fact.entries.is_empty()),
        _ => None,
    });
    changed.unwrap_or_else(|| state.thread(thread_id).is_some_and(|thread| !thread.queue.is_empty()))
}
