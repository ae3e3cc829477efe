//! How a turn ends, whoever ends it: what is still open is closed first, and the next queued turn starts in the same
//! commit, so that a crash finds either the old turn running or the next one, never a gap.

use factum_model::events::{
    ActionResolved, ModelFailed, QueueChange, QueueChanged, ResolutionSource, ToolFailed, ToolOutcome, TurnCompleted,
    TurnFailed,
};
use factum_model::id::{ActionId, ToolCallId};
use factum_model::value::{Effect, Failure, Status, Usage};
use factum_model::{Fact, NewEvent, Scope};

use super::lookup::turn_scope;
use super::state::{ActiveTurn, OpenCall, QueuedTurn, SessionState, Shell, Thread};
use super::turn_start::start_turn;
use crate::context::Context;

/// The end of a turn.
pub(super) enum End {
    Completed { stop_reason: String, preview: Option<String> },
    Failed { status: Status, error: Failure },
}

/// Ends the active turn of a thread. `ended_by` is a principal or a part of the runtime. What `events` closed already, such
/// as the action whose answer ends the turn, is not closed again.
pub(super) fn end_turn(
    state: &SessionState,
    shell: &Shell,
    thread: &Thread,
    turn: &ActiveTurn,
    end: End,
    ended_by: &str,
    events: &mut Vec<NewEvent>,
) {
    let scope = turn_scope(shell, &thread.thread_id, &turn.turn_id);
    close_open(state, turn, &scope, ended_by, events);
    let usage = Some(turn.usage.clone()).filter(|usage: &Usage| !usage.is_empty());
    let steps = turn.steps;
    events.push(match end {
        End::Completed { stop_reason, preview } => {
            NewEvent::new(scope, TurnCompleted { status: Status::Completed, stop_reason, usage, preview, steps })
        }
        End::Failed { status, error } => {
            NewEvent::new(scope, TurnFailed { status, error, ended_by: ended_by.to_owned(), usage, steps })
        }
    });
}

/// Starts the first turn of the queue, if there is one.
pub(super) fn start_next(shell: &Shell, thread: &Thread, context: &mut Context<'_>, events: &mut Vec<NewEvent>) {
    let Some(next) = thread.queue.front() else { return };
    let scope = turn_scope(shell, &thread.thread_id, &next.entry.turn_id);
    events.push(NewEvent::new(
        scope.clone(),
        QueueChanged {
            change: QueueChange::Started,
            changed_turn_id: Some(next.entry.turn_id.clone()),
            changed_by: "runtime://queue".to_owned(),
            reason: None,
            entries: thread.queue.iter().skip(1).map(|turn: &QueuedTurn| turn.entry.clone()).collect(),
        },
    ));
    start_turn(scope, &next.agent, context, events);
}

/// Closes what the turn leaves open. An open action is superseded, never approved; a call that had begun is said to be
/// cancelled only where it cannot have happened, and lost otherwise.
fn close_open(state: &SessionState, turn: &ActiveTurn, scope: &Scope, ended_by: &str, events: &mut Vec<NewEvent>) {
    let decided = events.len();
    if let Some(request) = &turn.model_request {
        let error = failure("interrupted", "the turn ended before the model did", false);
        let scope = scope.clone().step_id(&request.step_id).model_request_id(&request.request_id);
        events.push(NewEvent::new(scope, ModelFailed { error, will_retry: false, raw_ref: None }));
    }
    for action in state.actions_of(&turn.turn_id) {
        if is_resolved(&events[..decided], &action.action_id) {
            continue;
        }
        let mut scope = scope.clone().action_id(&action.action_id);
        scope.step_id = action.step_id.clone();
        scope.tool_call_id = action.tool_call_id.clone();
        events.push(NewEvent::new(
            scope,
            ActionResolved {
                action_type: action.required.action_type,
                decision: "cancelled".to_owned(),
                payload: None,
                resolved_by: ended_by.to_owned(),
                source: ResolutionSource::Superseded,
                allowed: false,
                arguments_digest: action.required.arguments_digest.clone(),
            },
        ));
    }
    for call in &turn.calls {
        if is_closed(&events[..decided], &call.tool_call_id) {
            continue;
        }
        let scope = scope.clone().step_id(&call.step_id).tool_call_id(&call.tool_call_id);
        let (outcome, message) = if may_have_happened(call) {
            (ToolOutcome::Lost, "the turn ended behind the start of the tool; it may have taken effect")
        } else {
            (ToolOutcome::Cancelled, "the turn ended first")
        };
        let error = failure("interrupted", message, false);
        events.push(NewEvent::new(scope, ToolFailed { outcome, error, duration_ms: None }));
    }
}

/// A call that was started once may have happened, also where it waits for a review or for its next try. One that may be
/// repeated is no exception: that it could run again does not undo that it ran.
fn may_have_happened(call: &OpenCall) -> bool {
    call.attempt > 0 && call.effect != Effect::Pure
}

fn is_resolved(events: &[NewEvent], action_id: &ActionId) -> bool {
    let resolves = |event: &NewEvent| matches!(event.fact, Fact::ActionResolved(_));
    events.iter().any(|event| resolves(event) && event.scope.action_id.as_ref() == Some(action_id))
}

fn is_closed(events: &[NewEvent], tool_call_id: &ToolCallId) -> bool {
    let closes = |event: &NewEvent| matches!(event.fact, Fact::ToolResult(_) | Fact::ToolFailed(_));
    events.iter().any(|event| closes(event) && event.scope.tool_call_id.as_ref() == Some(tool_call_id))
}

pub(super) fn failure(category: &str, message: &str, retryable: bool) -> Failure {
    Failure { category: category.to_owned(), message: message.to_owned(), retryable, advice: None }
}
