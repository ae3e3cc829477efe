//! How a turn ends, whoever ends it: what is still open is closed first, and the next queued turn starts in the same
//! commit, so that a crash finds either the old turn running or the next one, never a gap.

use factum_model::events::{
    ActionResolved, ModelFailed, QueueChange, QueueChanged, QueueEntry, ResolutionSource, ToolFailed, ToolOutcome,
    TurnCompleted, TurnFailed,
};
use factum_model::id::{ActionId, ThreadId, ToolCallId, TurnId};
use factum_model::value::{Effect, Failure, Status, Usage};
use factum_model::{Fact, NewEvent, Scope};

use super::lookup::turn_scope;
use super::respond_action::Answer;
use super::state::{ActiveTurn, OpenCall, SessionState, Shell, Thread};
use super::tasks::inbound::decided_here;
use super::turn_start::start_turn;
use super::verdict::Verdict;
use crate::context::Context;

/// The end of a turn.
pub(super) enum End {
    Completed { stop_reason: String, preview: Option<String> },
    Failed { status: Status, error: Failure },
}

/// Ends the active turn of a thread. `ended_by` is a principal or a part of the runtime. What `events` closed already, such
/// as the action whose answer ends the turn, is not closed again. Whatever had the turn done hears of it in the same commit.
#[allow(clippy::too_many_arguments, reason = "one flat decision; a struct would only rename the arguments")]
pub(super) fn end_turn(
    state: &SessionState,
    shell: &Shell,
    thread: &Thread,
    turn: &ActiveTurn,
    end: End,
    ended_by: &str,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    let scope = turn_scope(shell, &thread.thread_id, &turn.turn_id);
    close_open(state, turn, &scope, ended_by, events);
    let usage = Some(turn.usage.clone()).filter(|usage: &Usage| !usage.is_empty());
    let steps = turn.steps;
    let ended = TurnEnded::new(thread, turn, &end);
    events.push(match end {
        End::Completed { stop_reason, preview } => {
            NewEvent::new(scope, TurnCompleted { status: Status::Completed, stop_reason, usage, preview, steps })
        }
        End::Failed { status, error } => {
            NewEvent::new(scope, TurnFailed { status, error, ended_by: ended_by.to_owned(), usage, steps })
        }
    });
    super::tasks::call_back(state, turn, ended_by, context, events);
    super::subagents::turn_ended(state, &ended, context, events);
    super::tasks::turn_ended(state, &ended, context, events);
    super::jobs::turn_ended(state, &ended, context, events);
}

/// What those who had a turn done learn of its end.
pub(super) struct TurnEnded<'a> {
    pub(super) thread_id: &'a ThreadId,
    pub(super) turn_id: &'a TurnId,
    /// `completed`, `failed`, `cancelled` or `timed_out`.
    pub(super) status: Status,
    pub(super) preview: Option<String>,
    pub(super) error: Option<Failure>,
    pub(super) usage: Option<Usage>,
}

impl<'a> TurnEnded<'a> {
    fn new(thread: &'a Thread, turn: &'a ActiveTurn, end: &End) -> Self {
        let (status, preview, error) = match end {
            End::Completed { preview, .. } => (Status::Completed, preview.clone(), None),
            End::Failed { status, error } => (*status, None, Some(error.clone())),
        };
        let usage = Some(turn.usage.clone()).filter(|usage| !usage.is_empty());
        Self { thread_id: &thread.thread_id, turn_id: &turn.turn_id, status, preview, error, usage }
    }

    /// A turn that was taken out of the queue.
    pub(super) fn unstarted(thread: &'a Thread, turn_id: &'a TurnId, error: Failure) -> Self {
        let (thread_id, error) = (&thread.thread_id, Some(error));
        Self { thread_id, turn_id, status: Status::Cancelled, preview: None, error, usage: None }
    }
}

/// Starts the first turn of the queue, if there is one. Whatever has the turn done hears of it in the same commit.
pub(super) fn start_next(
    state: &SessionState,
    shell: &Shell,
    thread: &Thread,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    let Some(next) = thread.queue.front() else { return };
    let scope = turn_scope(shell, &thread.thread_id, &next.entry.turn_id);
    events.push(NewEvent::new(
        scope.clone(),
        QueueChanged {
            change: QueueChange::Started,
            changed_turn_id: Some(next.entry.turn_id.clone()),
            changed_by: "runtime://queue".to_owned(),
            reason: None,
            entries: queue_order(thread, events)
                .into_iter()
                .filter(|entry| entry.turn_id != next.entry.turn_id)
                .collect(),
        },
    ));
    start_turn(scope, &next.agent, context, events);
    super::tasks::turn_started(state, &next.entry.turn_id, context, events);
}

/// The queue of a thread behind `events`: what the end of a turn led to may have put another one into it.
pub(super) fn queue_order(thread: &Thread, events: &[NewEvent]) -> Vec<QueueEntry> {
    let changed = events.iter().rev().find_map(|event| match &event.fact {
        Fact::QueueChanged(fact) if event.scope.thread_id.as_ref() == Some(&thread.thread_id) => Some(fact),
        _ => None,
    });
    changed.map_or_else(|| thread.queue_entries(), |fact| fact.entries.clone())
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
        let source = ResolutionSource::Superseded;
        let answer = Answer { decision: "cancelled", payload: None, by: ended_by, source };
        events.extend(decided_here(state, action, &answer, Verdict::Deny));
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
