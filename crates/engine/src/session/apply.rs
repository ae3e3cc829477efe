//! The fold: how each fact changes the state. Total: it never fails and never asks the clock.
//!
//! A fact that does not fit (which `decide` never produces) changes nothing but the sequence, so that a log written by a
//! newer version still loads as far as it is understood.

use std::collections::VecDeque;

use factum_model::events::*;
use factum_model::read::{Diagnostics, Incident, Outcome};
use factum_model::value::{Effect, Failure, Status, Usage};
use factum_model::{Event, Fact};

use super::resting::Owner;
use super::state::*;
use super::text::clip;

/// Applies one event.
pub fn apply(state: &mut SessionState, event: &Event) {
    state.sequence = event.sequence;
    match &event.fact {
        Fact::SessionCreated(fact) => create(state, event, fact),
        Fact::SessionUpdated(fact) => update(state, fact),
        Fact::ThreadStarted(fact) => start_thread(state, event, fact),
        Fact::TurnSubmitted(fact) => submit(state, event, fact),
        Fact::QueueChanged(fact) => reorder(state, event, fact),
        Fact::TurnStarted(fact) => start_turn(state, event, fact),
        Fact::TurnCompleted(fact) => complete_turn(state, event, fact),
        Fact::TurnFailed(fact) => fail_turn(state, event, fact),
        Fact::ActionRequired(fact) => require_action(state, event, fact),
        Fact::ActionResolved(fact) => resolve_action(state, event, fact),
        Fact::RuntimeWarning(fact) => incident(state, event, &fact.code, &fact.message),
        Fact::RuntimeError(fact) => incident(state, event, &fact.code, &fact.message),
        _ => apply_to_turn(state, event),
    }
    super::tasks::apply(&mut state.tasks, event);
    super::tasks::inbound::apply(&mut state.inbound, &state.tasks, event);
    super::jobs::apply(&mut state.jobs, event);
    super::subagents::apply(&mut state.subagents, event);
    super::delegations::apply(&mut state.delegations, &state.tasks, event);
    touch(state, event);
    super::resting::apply(state, event);
}

fn touch(state: &mut SessionState, event: &Event) {
    if let Some(thread) = event.scope.thread_id.as_ref().and_then(|id| state.thread_mut(id)) {
        thread.updated_at = event.timestamp;
    }
    if let Some(shell) = &mut state.shell {
        shell.updated_at = event.timestamp;
    }
}

fn create(state: &mut SessionState, event: &Event, fact: &SessionCreated) {
    let Some(session_id) = event.scope.session_id.clone() else { return };
    state.shell = Some(Shell {
        account: fact.account_ref.clone(),
        session_id,
        runtime_id: event.runtime_id.clone(),
        title: fact.title.clone(),
        agent: fact.agent.clone(),
        created_by: fact.created_by.clone(),
        created_at: event.timestamp,
        updated_at: event.timestamp,
        metadata: fact.metadata.clone(),
    });
}

fn update(state: &mut SessionState, fact: &SessionUpdated) {
    let Some(shell) = &mut state.shell else { return };
    if fact.title.is_some() {
        shell.title = fact.title.clone();
    }
    if let Some(metadata) = &fact.metadata {
        shell.metadata = metadata.clone();
    }
}

fn start_thread(state: &mut SessionState, event: &Event, fact: &ThreadStarted) {
    let Some(thread_id) = event.scope.thread_id.clone() else { return };
    // Most sessions have one thread for ever, and there are many sessions.
    state.threads.reserve_exact(1);
    state.threads.push(Thread {
        thread_id,
        agent: fact.agent.clone(),
        title: fact.title.clone(),
        parent_thread_id: fact.parent_thread_id.clone(),
        origin: fact.origin,
        owner: Owner::of(&event.scope, fact).map(Box::new),
        active: None,
        queue: Default::default(),
        last_outcome: None,
        incidents: Default::default(),
        diagnostics: Diagnostics {
            turns_submitted: 0,
            turns_completed: 0,
            turns_failed: 0,
            turns_cancelled: 0,
            incidents_total: 0,
            model_requests: 0,
            tool_calls: 0,
            usage: Usage::default(),
        },
        updated_at: event.timestamp,
    });
}

fn thread_of<'a>(state: &'a mut SessionState, event: &Event) -> Option<&'a mut Thread> {
    state.thread_mut(event.scope.thread_id.as_ref()?)
}

/// Every submitted turn stands in the queue first, if only until the `turn.started` of the same commit.
fn submit(state: &mut SessionState, event: &Event, fact: &TurnSubmitted) {
    state.turn_count += 1;
    let Some(turn_id) = event.scope.turn_id.clone() else { return };
    let Some(thread) = thread_of(state, event) else { return };
    thread.diagnostics.turns_submitted += 1;
    thread.queue.reserve_exact(usize::from(thread.queue.is_empty()));
    thread.queue.push_back(QueuedTurn {
        entry: QueueEntry { turn_id, source: fact.source.clone(), policy: fact.on_busy, enqueued_at: event.timestamp },
        agent: fact.agent.clone(),
        submitted_sequence: event.sequence,
        decided_through: fact.decided_through.clone(),
    });
}

/// Takes over the whole order. A turn that is about to start stays in front until its `turn.started`.
fn reorder(state: &mut SessionState, event: &Event, fact: &QueueChanged) {
    let Some(thread) = thread_of(state, event) else { return };
    let mut old = std::mem::take(&mut thread.queue);
    let mut take = |turn_id| {
        let at = old.iter().position(|turn: &QueuedTurn| turn.entry.turn_id == turn_id)?;
        old.remove(at)
    };
    if fact.change == QueueChange::Started {
        thread.queue.extend(fact.changed_turn_id.clone().and_then(&mut take));
    }
    thread.queue.extend(fact.entries.iter().filter_map(|entry| take(entry.turn_id.clone())));
}

fn start_turn(state: &mut SessionState, event: &Event, fact: &TurnStarted) {
    let Some(turn_id) = event.scope.turn_id.clone() else { return };
    let Some(thread) = thread_of(state, event) else { return };
    if let Some(turn) = thread.active.as_mut().filter(|turn| turn.turn_id == turn_id) {
        turn.attempt = fact.attempt;
        return;
    }
    let Some(at) = thread.queue.iter().position(|turn| turn.entry.turn_id == turn_id) else { return };
    let Some(queued) = thread.queue.remove(at) else { return };
    if thread.queue.is_empty() {
        thread.queue = VecDeque::new();
    }
    thread.active = Some(Box::new(ActiveTurn {
        turn_id,
        agent: fact.agent.clone(),
        source: queued.entry.source,
        attempt: fact.attempt,
        submitted_at: queued.entry.enqueued_at,
        submitted_sequence: queued.submitted_sequence,
        started_at: event.timestamp,
        started_sequence: event.sequence,
        current_step_id: None,
        steps: 0,
        rounds: 0,
        failed_tries: 0,
        model_request: None,
        calls: Vec::new(),
        usage: Usage::default(),
        decided_through: queued.decided_through,
    }));
}

fn complete_turn(state: &mut SessionState, event: &Event, fact: &TurnCompleted) {
    let Some(thread) = thread_of(state, event) else { return };
    thread.diagnostics.turns_completed += 1;
    let stop_reason = Some(fact.stop_reason.clone());
    end_turn(state, event, fact.status, stop_reason, None, fact.preview.as_deref());
}

fn fail_turn(state: &mut SessionState, event: &Event, fact: &TurnFailed) {
    let Some(thread) = thread_of(state, event) else { return };
    match fact.status {
        Status::Cancelled => thread.diagnostics.turns_cancelled += 1,
        _ => {
            thread.diagnostics.turns_failed += 1;
            // What made it fail is an incident already where that was a fact of its own.
            let told = thread.incidents.back().is_some_and(|last| {
                let same =
                    (last.kind.as_str(), last.message.as_str()) == (&fact.error.category, &*kept(&fact.error.message));
                same && last.turn_id == event.scope.turn_id
            });
            if !told {
                incident(state, event, &fact.error.category, &fact.error.message);
            }
        }
    }
    end_turn(state, event, fact.status, None, Some(&fact.error), None);
}

/// Only the end of the active turn is the thread's outcome; a turn removed from the queue never was its work.
fn end_turn(
    state: &mut SessionState,
    event: &Event,
    status: Status,
    stop_reason: Option<String>,
    error: Option<&Failure>,
    preview: Option<&str>,
) {
    let Some(turn_id) = event.scope.turn_id.clone() else { return };
    let Some(thread) = thread_of(state, event) else { return };
    if thread.active.as_ref().is_none_or(|turn| turn.turn_id != turn_id) {
        return;
    }
    thread.active = None;
    let (ended_at, sequence) = (event.timestamp, event.sequence);
    let error = error.map(kept_failure);
    let preview = preview.map(kept);
    thread.last_outcome = Some(Box::new(Outcome { turn_id, status, stop_reason, error, preview, ended_at, sequence }));
}

fn require_action(state: &mut SessionState, event: &Event, fact: &ActionRequired) {
    let (Some(action_id), Some(thread_id)) = (event.scope.action_id.clone(), event.scope.thread_id.clone()) else {
        return;
    };
    set_call(state, event, |call| call.state = CallState::Waiting);
    state.actions.push(OpenAction {
        action_id,
        thread_id,
        turn_id: event.scope.turn_id.clone(),
        step_id: event.scope.step_id.clone(),
        tool_call_id: event.scope.tool_call_id.clone(),
        required: fact.clone(),
        required_at: event.timestamp,
        sequence: event.sequence,
        decided_through: event.scope.channel_id.clone(),
    });
}

fn resolve_action(state: &mut SessionState, event: &Event, fact: &ActionResolved) {
    let Some(action_id) = &event.scope.action_id else { return };
    let Some(at) = state.actions.iter().position(|action| action.action_id == *action_id) else { return };
    state.actions.remove(at);
    // Only an answer allows anything, whatever else a fact may say.
    let answered = matches!(fact.source, ResolutionSource::Response | ResolutionSource::Policy);
    if answered && fact.allowed {
        set_call(state, event, |call| call.state = CallState::Ready);
    }
}

fn turn_of<'a>(state: &'a mut SessionState, event: &Event) -> Option<&'a mut ActiveTurn> {
    let turn_id = event.scope.turn_id.as_ref()?;
    thread_of(state, event)?.active.as_deref_mut().filter(|turn| turn.turn_id == *turn_id)
}

fn set_call(state: &mut SessionState, event: &Event, change: impl FnOnce(&mut OpenCall)) {
    let Some(id) = event.scope.tool_call_id.as_ref() else { return };
    let Some(turn) = turn_of(state, event) else { return };
    if let Some(call) = turn.calls.iter_mut().find(|call| call.tool_call_id == *id) {
        change(call);
    }
}

/// Facts inside a turn: steps, model requests, tool calls, artifacts.
fn apply_to_turn(state: &mut SessionState, event: &Event) {
    match &event.fact {
        Fact::ModelRequested(_) => {
            step(state, event);
            count(state, event, |diagnostics| diagnostics.model_requests += 1);
            let open = event.scope.model_request_id.clone().zip(event.scope.step_id.clone());
            if let Some(turn) = turn_of(state, event) {
                turn.model_request = open.map(|(request_id, step_id)| OpenModelRequest { request_id, step_id });
            }
        }
        Fact::ModelCompleted(fact) => {
            let usage = fact.usage.clone().unwrap_or_default();
            if let Some(turn) = turn_of(state, event) {
                turn.model_request = None;
                turn.rounds += 1;
                turn.failed_tries = 0;
                turn.usage = turn.usage.plus(&usage);
            }
            count(state, event, |diagnostics| diagnostics.usage = diagnostics.usage.plus(&usage));
            state.usage = state.usage.plus(&usage);
        }
        Fact::ModelFailed(fact) => {
            if let Some(turn) = turn_of(state, event) {
                turn.model_request = None;
                turn.failed_tries += 1;
            }
            if fact.error.category != "interrupted" {
                incident(state, event, &fact.error.category, &fact.error.message);
            }
        }
        Fact::ToolStarted(fact) => {
            step(state, event);
            count(state, event, |diagnostics| diagnostics.tool_calls += 1);
            open_call(state, event, &fact.tool_name, fact.effect);
        }
        Fact::ToolArgs(fact) => set_call(state, event, |call| call.arguments_digest = fact.arguments_digest.clone()),
        Fact::ToolProgress(fact) => set_call(state, event, |call| match fact.state {
            ToolState::Running => {
                call.state = CallState::Running;
                call.attempt = fact.attempt.unwrap_or(call.attempt);
            }
            ToolState::Interrupted => call.state = CallState::Ready,
            ToolState::Lost => call.state = CallState::Waiting,
            ToolState::Streaming => {}
        }),
        Fact::ToolResult(_) => close_call(state, event),
        Fact::ToolFailed(fact) => {
            close_call(state, event);
            if matches!(fact.outcome, ToolOutcome::Failed | ToolOutcome::Lost | ToolOutcome::TimedOut) {
                incident(state, event, &fact.error.category, &fact.error.message);
            }
        }
        Fact::ArtifactChanged(_) => step(state, event),
        _ => {}
    }
}

fn step(state: &mut SessionState, event: &Event) {
    if let Some(turn) = turn_of(state, event) {
        turn.steps += 1;
        turn.current_step_id = event.scope.step_id.clone();
    }
}

fn count(state: &mut SessionState, event: &Event, change: impl FnOnce(&mut Diagnostics)) {
    if let Some(thread) = thread_of(state, event) {
        change(&mut thread.diagnostics);
    }
}

fn open_call(state: &mut SessionState, event: &Event, tool_name: &str, effect: Effect) {
    let Some((tool_call_id, step_id)) = event.scope.tool_call_id.clone().zip(event.scope.step_id.clone()) else {
        return;
    };
    if let Some(turn) = turn_of(state, event) {
        turn.calls.push(OpenCall {
            tool_call_id,
            step_id,
            tool_name: tool_name.to_owned(),
            effect,
            arguments_digest: String::new(),
            state: CallState::Ready,
            attempt: 0,
        });
    }
}

fn close_call(state: &mut SessionState, event: &Event) {
    let id = event.scope.tool_call_id.clone();
    if let Some(turn) = turn_of(state, event) {
        turn.calls.retain(|call| Some(&call.tool_call_id) != id.as_ref());
    }
}

fn incident(state: &mut SessionState, event: &Event, kind: &str, message: &str) {
    let turn_id = event.scope.turn_id.clone();
    let Some(thread) = thread_of(state, event) else { return };
    thread.diagnostics.incidents_total += 1;
    if thread.incidents.len() == INCIDENTS_KEPT_MAX {
        thread.incidents.pop_front();
    }
    thread.incidents.push_back(Incident {
        sequence: event.sequence,
        at: event.timestamp,
        kind: kind.to_owned(),
        message: kept(message),
        turn_id,
    });
}

fn kept(text: &str) -> String {
    clip(text, KEPT_TEXT_CHARS_MAX)
}

fn kept_failure(failure: &Failure) -> Failure {
    Failure { message: kept(&failure.message), advice: failure.advice.as_deref().map(kept), ..failure.clone() }
}
