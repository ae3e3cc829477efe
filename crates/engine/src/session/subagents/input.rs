//! `send_subagent_input`: something is said to a child agent. It is one more turn of its thread.

use factum_model::commands::{SendSubagentInput, SubagentResult};
use factum_model::events::{SubagentInput, SubagentStatus, ThreadOrigin};
use factum_model::id::{SubagentId, TurnId};
use factum_model::subagent::SubagentState;
use factum_model::value::Part;
use factum_model::{NewEvent, Refusal, Scope};

use super::super::lookup::{require_session, require_thread};
use super::super::state::{SessionState, Thread};
use super::super::thread_start::submit;
use super::state::Subagent;
use super::view::work;
use crate::context::{Context, Decision, check};

/// The shell has found the child agent, so one that is not open is closed.
pub fn send_subagent_input(
    state: &SessionState,
    command: &SendSubagentInput,
    context: &mut Context<'_>,
) -> Result<Decision<SubagentResult>, Refusal> {
    let (one, thread) = require_open(state, &command.subagent_id)?;
    let mut events = Vec::with_capacity(5);
    if thread.active.is_none() {
        let last_message_ref = one.record.last_message_ref.clone();
        let changed_by = Some(context.caller.to_owned());
        let status = SubagentState::Running;
        let begins = SubagentStatus { status, detail: None, last_message_ref, close_at: None, changed_by };
        events.push(NewEvent::new(one.scope(), begins));
    }
    let turn_id = say(state, one, thread, command.input.clone(), context, &mut events)?;
    // Whoever is busy stays what it is; one that rests begins to run.
    let status = if thread.active.is_some() { work(state, one) } else { SubagentState::Running };
    Ok(Decision { output: result(state, one, Some(turn_id), status, context, &events), events })
}

/// Refuses input for the thread of a child agent that is closed or about to be. Any other thread takes input.
pub(in super::super) fn takes_input(state: &SessionState, thread: &Thread) -> Result<(), Refusal> {
    if thread.origin != ThreadOrigin::Subagent {
        return Ok(());
    }
    let one = state.subagents.in_thread(&thread.thread_id).ok_or_else(closed)?;
    if one.closing.is_some() { Err(closing()) } else { Ok(()) }
}

/// A child agent that takes input, and its thread.
pub(super) fn require_open<'a>(
    state: &'a SessionState,
    id: &SubagentId,
) -> Result<(&'a Subagent, &'a Thread), Refusal> {
    require_session(state)?;
    let one = state.subagents.get(id).ok_or_else(closed)?;
    let thread = require_thread(state, Some(&one.record.thread_id))?;
    takes_input(state, thread)?;
    Ok((one, thread))
}

/// Submits input as a turn, behind the fact that somebody said it.
pub(super) fn say(
    state: &SessionState,
    one: &Subagent,
    thread: &Thread,
    input: Vec<Part>,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) -> Result<TurnId, Refusal> {
    if input.is_empty() {
        return Err(Refusal::invalid("input needs at least one part, such as {\"type\":\"text\",\"text\":\"hello\"}"));
    }
    check("input_parts", input.len(), context.limits.input_parts_max)?;
    if thread.active.is_some() {
        check("queue_turns", thread.queue.len() + 1, context.limits.queue_turns_max)?;
    }
    let at = events.len();
    let said = SubagentInput { input: input.clone(), source: context.caller.to_owned() };
    let turn_id = submit(state, &turn_scope(one), &one.record.thread_id, &one.record.agent, input, context, events);
    events.insert(at, NewEvent::new(one.scope().turn_id(&turn_id), said));
    Ok(turn_id)
}

/// Facts of its turns name it, and not its task: that task has no run here.
pub(super) fn turn_scope(one: &Subagent) -> Scope {
    Scope::default().session_id(&one.record.parent_session_id).subagent_id(one.id())
}

pub(super) fn result(
    state: &SessionState,
    one: &Subagent,
    turn_id: Option<TurnId>,
    status: SubagentState,
    context: &Context<'_>,
    events: &[NewEvent],
) -> SubagentResult {
    SubagentResult {
        subagent_id: one.id().clone(),
        thread_id: one.record.thread_id.clone(),
        turn_id,
        status,
        sequence: context.sequence_after(state.sequence, events),
    }
}

pub(super) fn closed() -> Refusal {
    Refusal::precondition("the child agent is closed and takes no more input").with("status", "closed")
}

fn closing() -> Refusal {
    Refusal::precondition("the child agent is being closed and takes no more input").with("status", "closing")
}
