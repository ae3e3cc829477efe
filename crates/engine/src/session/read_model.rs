//! What readers see: `session_snapshot`, `thread_read_model`, `queue_snapshot`. Functions of the state and nothing else.

use factum_model::events::{ResolutionSource, ToolOutcome};
use factum_model::id::ThreadId;
use factum_model::read::{
    ActiveTurn as ActiveTurnView, OpenToolCall, PendingAction, QueueSnapshot, SessionSnapshot, StepKind, StepView,
    ThreadReadModel, ThreadSummary,
};
use factum_model::value::{Status, text_of};
use factum_model::{Event, Fact, Refusal, SCHEMA_VERSION};

use super::lookup::{require_session, require_thread};
use super::state::{ActiveTurn, CallState, OpenAction, OpenCall, SessionState, Thread, waiting_status};
use super::text::clip;

/// How much of a step's text a list shows; the event has all of it.
const STEP_TEXT_CHARS_MAX: usize = 2_000;

/// The shell of a session, its threads and the steps the caller read from the log, oldest first.
pub fn session_snapshot(
    state: &SessionState,
    recent_steps: Vec<StepView>,
    history_before: Option<u64>,
) -> Result<SessionSnapshot, Refusal> {
    let shell = require_session(state)?;
    Ok(SessionSnapshot {
        schema_version: SCHEMA_VERSION.to_owned(),
        runtime_id: shell.runtime_id.clone(),
        session_id: shell.session_id.clone(),
        title: shell.title.clone(),
        agent: shell.agent.clone(),
        created_by: shell.created_by.clone(),
        created_at: shell.created_at,
        updated_at: shell.updated_at,
        metadata: shell.metadata.clone(),
        threads: state.threads.iter().map(|thread| thread_summary(state, thread)).collect(),
        recent_steps,
        history_before,
        turn_count: state.turn_count,
        usage: state.usage.clone(),
        as_of_sequence: state.sequence,
    })
}

/// What a thread is doing.
pub fn thread_read_model(state: &SessionState, thread_id: Option<&ThreadId>) -> Result<ThreadReadModel, Refusal> {
    let shell = require_session(state)?;
    let thread = require_thread(state, thread_id)?;
    Ok(ThreadReadModel {
        session_id: shell.session_id.clone(),
        thread_id: thread.thread_id.clone(),
        status: thread.status(state),
        agent: thread.agent.clone(),
        title: thread.title.clone(),
        parent_thread_id: thread.parent_thread_id.clone(),
        active_turn_id: thread.active.as_ref().map(|turn| turn.turn_id.clone()),
        active_turn: thread.active.as_ref().map(|turn| active_turn(state, turn)),
        pending_actions: actions_of(state, thread).map(pending_action).collect(),
        queued_turns: thread.queue_entries(),
        last_outcome: thread.last_outcome.as_deref().cloned(),
        incidents: thread.incidents.iter().cloned().collect(),
        diagnostics: thread.diagnostics.clone(),
        updated_at: thread.updated_at,
        as_of_sequence: state.sequence,
    })
}

/// The turns that wait in a thread.
pub fn queue_snapshot(state: &SessionState, thread_id: Option<&ThreadId>) -> Result<QueueSnapshot, Refusal> {
    let shell = require_session(state)?;
    let thread = require_thread(state, thread_id)?;
    Ok(QueueSnapshot {
        session_id: shell.session_id.clone(),
        thread_id: thread.thread_id.clone(),
        status: thread.status(state),
        active_turn_id: thread.active.as_ref().map(|turn| turn.turn_id.clone()),
        queued_turns: thread.queue_entries(),
        as_of_sequence: state.sequence,
    })
}

fn thread_summary(state: &SessionState, thread: &Thread) -> ThreadSummary {
    ThreadSummary {
        thread_id: thread.thread_id.clone(),
        status: thread.status(state),
        agent: thread.agent.clone(),
        title: thread.title.clone(),
        parent_thread_id: thread.parent_thread_id.clone(),
        active_turn_id: thread.active.as_ref().map(|turn| turn.turn_id.clone()),
        queued_turns: thread.queue.len() as u32,
        pending_actions: actions_of(state, thread).count() as u32,
        last_outcome: thread.last_outcome.as_deref().cloned(),
    }
}

fn actions_of<'a>(state: &'a SessionState, thread: &'a Thread) -> impl Iterator<Item = &'a OpenAction> {
    state.actions.iter().filter(|action| action.thread_id == thread.thread_id)
}

fn active_turn(state: &SessionState, turn: &ActiveTurn) -> ActiveTurnView {
    ActiveTurnView {
        turn_id: turn.turn_id.clone(),
        status: turn.status(state),
        agent: turn.agent.clone(),
        source: turn.source.clone(),
        attempt: turn.attempt,
        submitted_at: turn.submitted_at,
        started_at: turn.started_at,
        current_step_id: turn.current_step_id.clone(),
        steps: turn.steps,
        model_round: turn.rounds + u32::from(turn.model_request.is_some()),
        usage: turn.usage.clone(),
        tool_calls: turn.calls.iter().map(|call| open_call(state, call)).collect(),
    }
}

fn open_call(state: &SessionState, call: &OpenCall) -> OpenToolCall {
    let action = state.actions.iter().find(|action| action.tool_call_id.as_ref() == Some(&call.tool_call_id));
    let status = match call.state {
        CallState::Waiting => action.map_or(Status::WaitingInput, |action| waiting_status(action.required.action_type)),
        CallState::Ready => Status::Accepted,
        CallState::Running => Status::Running,
    };
    OpenToolCall {
        tool_call_id: call.tool_call_id.clone(),
        tool_name: call.tool_name.clone(),
        status,
        action_id: action.map(|action| action.action_id.clone()),
    }
}

fn pending_action(action: &OpenAction) -> PendingAction {
    let required = &action.required;
    PendingAction {
        action_id: action.action_id.clone(),
        action_type: required.action_type,
        prompt: required.prompt.clone(),
        decisions: required.decisions.clone(),
        input_schema: required.input_schema.clone(),
        policy: required.policy.clone(),
        thread_id: action.thread_id.clone(),
        turn_id: action.turn_id.clone(),
        tool_call_id: action.tool_call_id.clone(),
        tool_name: required.tool_name.clone(),
        arguments_digest: required.arguments_digest.clone(),
        required_at: action.required_at,
        timeout_at: required.timeout_at,
        on_timeout: required.on_timeout,
        sequence: action.sequence,
    }
}

/// How an event shows up in a list of steps; `None` for those that are not steps of their own.
pub fn step_view(event: &Event) -> Option<StepView> {
    let (kind, status, text, tool_name) = match &event.fact {
        Fact::TurnSubmitted(fact) => (StepKind::Input, fact.status, Some(text_of(&fact.input)), None),
        Fact::ModelCompleted(fact) => {
            let preview = || fact.text_ref.as_ref().and_then(|text| text.preview.clone());
            (StepKind::Message, Status::Completed, fact.text.clone().or_else(preview), None)
        }
        Fact::ReasoningSummary(fact) => (StepKind::Reasoning, Status::Completed, Some(fact.text.clone()), None),
        Fact::ToolStarted(fact) => (StepKind::Tool, Status::Accepted, None, Some(fact.tool_name.clone())),
        Fact::ToolResult(fact) => (StepKind::Tool, Status::Completed, fact.preview.clone(), None),
        Fact::ToolFailed(fact) => (StepKind::Tool, tool_status(fact.outcome), Some(fact.error.message.clone()), None),
        Fact::ActionRequired(fact) => {
            (StepKind::Action, waiting_status(fact.action_type), Some(fact.prompt.clone()), fact.tool_name.clone())
        }
        Fact::ActionResolved(fact) => {
            (StepKind::Action, resolved_status(fact.source), Some(fact.decision.clone()), None)
        }
        Fact::ArtifactChanged(fact) => (StepKind::Artifact, Status::Completed, fact.name.clone(), None),
        Fact::TurnCompleted(fact) => (StepKind::Status, fact.status, None, None),
        Fact::TurnFailed(fact) => (StepKind::Status, fact.status, Some(fact.error.message.clone()), None),
        _ => return None,
    };
    let artifact = if let Fact::ArtifactChanged(fact) = &event.fact { fact.content.clone() } else { None };
    let text_ref = match &event.fact {
        Fact::ModelCompleted(fact) => fact.text_ref.clone(),
        Fact::ToolResult(fact) => fact.result_ref.clone(),
        _ => None,
    };
    Some(StepView {
        sequence: event.sequence,
        timestamp: event.timestamp,
        thread_id: event.scope.thread_id.clone(),
        turn_id: event.scope.turn_id.clone(),
        step_id: event.scope.step_id.clone(),
        kind,
        event_type: event.fact.type_name().to_owned(),
        status,
        text: text.map(|text| clip(&text, STEP_TEXT_CHARS_MAX)),
        text_ref,
        tool_name,
        action_id: event.scope.action_id.clone(),
        artifact,
    })
}

fn tool_status(outcome: ToolOutcome) -> Status {
    match outcome {
        ToolOutcome::Failed | ToolOutcome::Denied => Status::Failed,
        ToolOutcome::Cancelled => Status::Cancelled,
        ToolOutcome::TimedOut => Status::TimedOut,
        ToolOutcome::Lost => Status::Lost,
    }
}

fn resolved_status(source: ResolutionSource) -> Status {
    match source {
        ResolutionSource::Response | ResolutionSource::Policy => Status::Completed,
        ResolutionSource::AuthFailure => Status::Failed,
        ResolutionSource::Timeout => Status::TimedOut,
        ResolutionSource::Superseded => Status::Cancelled,
    }
}
