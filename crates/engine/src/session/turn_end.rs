//! How a turn ends, whoever ends it: what is still open is closed first, and the next queued turn starts in the same
//! commit, so that a crash finds either the old turn running or the next one, never a gap.

use factum_model::events::{
    ActionResolved, ModelFailed, QueueChange, QueueChanged, ResolutionSource, ToolFailed, ToolOutcome, TurnCompleted,
    TurnFailed, TurnStarted,
};
use factum_model::value::{Failure, Status, Usage};
use factum_model::{NewEvent, Scope};

use super::lookup::turn_scope;
use super::state::{ActiveTurn, QueuedTurn, SessionState, Shell, Thread};

/// The end of a turn.
pub(super) enum End {
    Completed { stop_reason: String, preview: Option<String> },
    Failed { status: Status, error: Failure },
}

/// Ends the active turn of a thread. `ended_by` is a principal or a part of the runtime.
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
pub(super) fn start_next(shell: &Shell, thread: &Thread, events: &mut Vec<NewEvent>) {
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
    events.push(NewEvent::new(scope, started(&next.agent, 1)));
}

pub(super) fn started(agent: &str, attempt: u32) -> TurnStarted {
    TurnStarted { status: Status::Running, agent: agent.to_owned(), attempt }
}

/// Closes what the turn leaves open. An open action is superseded, never approved; a call that had begun is said to be
/// cancelled only where it cannot have happened, and lost otherwise.
fn close_open(state: &SessionState, turn: &ActiveTurn, scope: &Scope, ended_by: &str, events: &mut Vec<NewEvent>) {
    if let Some(request) = &turn.model_request {
        let error = failure("interrupted", "the turn ended before the model did", false);
        let scope = scope.clone().step_id(&request.step_id).model_request_id(&request.request_id);
        events.push(NewEvent::new(scope, ModelFailed { error, will_retry: false, raw_ref: None }));
    }
    for action in state.actions_of(&turn.turn_id) {
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
                arguments_digest: action.required.arguments_digest.clone(),
            },
        ));
    }
    for call in &turn.calls {
        let scope = scope.clone().step_id(&call.step_id).tool_call_id(&call.tool_call_id);
        let began = call.state == super::state::CallState::Running && !call.effect.may_repeat();
        let outcome = if began { ToolOutcome::Lost } else { ToolOutcome::Cancelled };
        let message =
            if began { "the turn ended while the tool ran; it may have taken effect" } else { "the turn ended first" };
        let error = failure("interrupted", message, false);
        events.push(NewEvent::new(scope, ToolFailed { outcome, error, duration_ms: None }));
    }
}

pub(super) fn failure(category: &str, message: &str, retryable: bool) -> Failure {
    Failure { category: category.to_owned(), message: message.to_owned(), retryable, advice: None }
}
