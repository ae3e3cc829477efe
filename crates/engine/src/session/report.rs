//! What a running turn reports: intents before it touches the world, outcomes after.
//!
//! A report of a turn that is over, or of an older run of it, is refused, so a runner that lost its turn can change
//! nothing any more.

use factum_model::events::{
    ArtifactChange, ArtifactChanged, ModelCompleted, ModelDelta, ModelFailed, ReasoningDelta, ReasoningSummary,
    RunStatus, ToolFailed, ToolOutcome, ToolProgress, ToolResult, ToolState,
};
use factum_model::id::{ModelRequestId, StepId, ToolCallId};
use factum_model::report::{Chunk, Gate, ModelAnswer, Report, Runner, ToolReport, TurnReport};
use factum_model::value::{Metadata, Status};
use factum_model::{NewEvent, Refusal, Scope};

use super::lookup::{require_session, turn_scope};
use super::state::{ActiveTurn, CallState, OpenCall, SessionState, Thread};
use super::steps::{bind_actions, call_requested, not_null};
use super::turn_end::{End, end_turn, start_next};
use super::turn_start::model_requested;
use crate::context::{Context, Decision, check};

/// Decides what a report means for its turn.
pub fn decide_report(
    state: &SessionState,
    runner: &Runner,
    report: Report,
    context: &mut Context<'_>,
) -> Result<Decision<()>, Refusal> {
    let shell = require_session(state)?;
    let (thread, turn) = running(state, runner)?;
    let scope = turn_scope(shell, &thread.thread_id, &turn.turn_id);
    let mut events = Vec::new();
    if begins(turn, &report) {
        super::tasks::require_going(state, &turn.turn_id)?;
    }
    match report {
        Report::ModelRequested(intent) => {
            no_open_request(turn)?;
            // Tries that failed count, so that neither a retry loop nor a crash loop asks for ever.
            let requests = turn.rounds as usize + turn.failed_tries as usize + 1;
            check("model_rounds", requests, context.limits.model_rounds_max as usize)?;
            let (round, attempt) = (turn.rounds + 1, turn.failed_tries + 1);
            events.push(model_requested(scope, intent, round, attempt, context));
        }
        Report::ModelStreamed { request_id, step_id, chunks } => {
            let scope = request_scope(turn, scope, &request_id, &step_id)?;
            events.extend(chunks.into_iter().map(|chunk| chunk_event(scope.clone(), chunk)));
        }
        Report::ModelCompleted { request_id, step_id, mut answer } => {
            let answer_scope = request_scope(turn, scope.clone(), &request_id, &step_id)?;
            let end = answer.ends.take().filter(|_| ends_with(state, thread, turn, &answer));
            let ended = end.map(|ends| (behind(turn, &answer), ends.preview, answer.stop_reason.clone()));
            let gated = answer.calls.iter().filter(|call| call.gate != Gate::Open).count();
            check("open_actions", state.actions.len() + gated, context.limits.open_actions_max)?;
            answered(&scope, answer_scope, answer, context, &mut events)?;
            bind_actions(turn, &mut events);
            super::tasks::artifacts_produced(state, &turn.turn_id, context, &mut events);
            if gated > 0 {
                super::waiting::actions_changed(state, &turn.turn_id, context, &mut events);
            }
            if let Some((turn, preview, stop_reason)) = ended {
                let end = End::Completed { stop_reason, preview };
                end_turn(state, shell, thread, &turn, end, context.caller, context, &mut events);
                start_next(state, shell, thread, context, &mut events);
            }
        }
        Report::ModelFailed { request_id, step_id, error, will_retry } => {
            let scope = request_scope(turn, scope, &request_id, &step_id)?;
            events.push(NewEvent::new(scope, ModelFailed { error, will_retry, raw_ref: None }));
        }
        Report::ToolRunning { tool_call_id, arguments_digest } => {
            let call = require_call(turn, &tool_call_id, CallState::Ready)?;
            if call.arguments_digest != arguments_digest {
                return Err(Refusal::precondition("the arguments are not the ones that were decided on"));
            }
            let progress = progress(ToolState::Running, None, None, Some(call.attempt + 1));
            events.push(NewEvent::new(call_scope(scope, call), progress));
        }
        Report::ToolProgressed { tool_call_id, message, percent } => {
            let call = require_call(turn, &tool_call_id, CallState::Running)?;
            events.push(NewEvent::new(call_scope(scope, call), progress(ToolState::Streaming, message, percent, None)));
        }
        Report::ToolFinished { tool_call_id, outcome } => {
            let call = require_call(turn, &tool_call_id, CallState::Running)?;
            events.push(finished(call_scope(scope, call), outcome));
        }
        Report::Status { phase, title, detail } => {
            let status = RunStatus { phase, title, detail, checkpoints: Vec::new(), metadata: Metadata::new() };
            events.push(NewEvent::new(scope, status));
        }
        Report::TurnFinished { outcome } => {
            let end = match outcome {
                TurnReport::Completed { stop_reason, preview } => {
                    nothing_open(state, turn)?;
                    End::Completed { stop_reason, preview }
                }
                TurnReport::Failed { error } => End::Failed { status: Status::Failed, error },
            };
            end_turn(state, shell, thread, turn, end, context.caller, context, &mut events);
            start_next(state, shell, thread, context, &mut events);
        }
    }
    Ok(Decision { events, output: () })
}

/// Whether a report begins something, or is about a request that was cut off.
fn begins(turn: &ActiveTurn, report: &Report) -> bool {
    match report {
        Report::ModelRequested(_) | Report::ToolRunning { .. } => true,
        Report::ModelStreamed { request_id, .. }
        | Report::ModelCompleted { request_id, .. }
        | Report::ModelFailed { request_id, .. } => {
            turn.model_request.as_ref().is_none_or(|open| open.request_id != *request_id)
        }
        _ => false,
    }
}

/// Whether a turn can end in the commit of its answer: nothing else is open, nothing new begins, and nobody refers to the
/// answer by the id of its fact, which is not known yet.
fn ends_with(state: &SessionState, thread: &Thread, turn: &ActiveTurn, answer: &ModelAnswer) -> bool {
    let begins = !answer.calls.is_empty() || !answer.artifacts.is_empty();
    let open = !turn.calls.is_empty() || state.actions_of(&turn.turn_id).next().is_some();
    !begins && !open && state.subagents.in_thread(&thread.thread_id).is_none()
}

/// The turn as it is behind its answer.
fn behind(turn: &ActiveTurn, answer: &ModelAnswer) -> ActiveTurn {
    ActiveTurn { model_request: None, usage: turn.usage.plus(&answer.usage), ..turn.clone() }
}

pub(super) fn running<'a>(state: &'a SessionState, runner: &Runner) -> Result<(&'a Thread, &'a ActiveTurn), Refusal> {
    let thread = state.thread(&runner.thread_id).ok_or_else(Refusal::not_found)?;
    let turn = thread.active.as_deref().filter(|turn| turn.turn_id == runner.turn_id && turn.attempt == runner.attempt);
    turn.map(|turn| (thread, turn)).ok_or_else(|| Refusal::precondition("this run of the turn is over"))
}

fn no_open_request(turn: &ActiveTurn) -> Result<(), Refusal> {
    if turn.model_request.is_some() {
        return Err(Refusal::precondition("a model request of this turn is open already"));
    }
    Ok(())
}

/// A turn is complete only when nothing it started is open (seed 003: success of a part is not completion).
fn nothing_open(state: &SessionState, turn: &ActiveTurn) -> Result<(), Refusal> {
    let actions = state.actions_of(&turn.turn_id).count();
    if turn.model_request.is_some() || !turn.calls.is_empty() || actions > 0 {
        return Err(Refusal::precondition("the turn still has open work")
            .with("open_tool_calls", turn.calls.len())
            .with("open_actions", actions));
    }
    Ok(())
}

fn request_scope(
    turn: &ActiveTurn,
    scope: Scope,
    request_id: &ModelRequestId,
    step_id: &StepId,
) -> Result<Scope, Refusal> {
    let open =
        turn.model_request.as_ref().is_some_and(|open| open.request_id == *request_id && open.step_id == *step_id);
    if !open {
        return Err(Refusal::precondition("this model request is not open"));
    }
    Ok(scope.step_id(step_id).model_request_id(request_id))
}

pub(super) fn require_call<'a>(
    turn: &'a ActiveTurn,
    id: &ToolCallId,
    expected: CallState,
) -> Result<&'a OpenCall, Refusal> {
    let call = turn.call(id).ok_or_else(|| Refusal::precondition("this tool call is over"))?;
    if call.state != expected {
        return Err(Refusal::precondition("the tool call is not in that state")
            .with("state", serde_json::json!(call.state))
            .with("expected", serde_json::json!(expected)));
    }
    Ok(call)
}

fn call_scope(scope: Scope, call: &OpenCall) -> Scope {
    scope.step_id(&call.step_id).tool_call_id(&call.tool_call_id)
}

fn chunk_event(scope: Scope, chunk: Chunk) -> NewEvent {
    match chunk {
        Chunk::Text { text, index } => NewEvent::new(scope, ModelDelta { text, index }),
        Chunk::Reasoning { text, index } => NewEvent::new(scope, ReasoningDelta { text, index }),
        Chunk::ReasoningSummary { text } => NewEvent::new(scope, ReasoningSummary { text }),
    }
}

/// A whole answer, with everything it asks for.
fn answered(
    turn_scope: &Scope,
    answer_scope: Scope,
    answer: ModelAnswer,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) -> Result<(), Refusal> {
    check("tool_calls", answer.calls.len(), context.limits.tool_calls_max)?;
    events.extend(answer.chunks.into_iter().map(|chunk| chunk_event(answer_scope.clone(), chunk)));
    events.push(NewEvent::new(
        answer_scope,
        ModelCompleted {
            stop_reason: answer.stop_reason,
            usage: Some(answer.usage).filter(|usage| !usage.is_empty()),
            text: answer.text,
            text_ref: answer.text_ref,
            raw_ref: None,
            tool_calls: answer.calls.len() as u32,
        },
    ));
    for artifact in answer.artifacts {
        let scope = turn_scope.clone().step_id(&context.step_id()).artifact_id(&context.artifact_id());
        let change = ArtifactChange::Created;
        let content = Some(artifact.content);
        let metadata = Metadata::new();
        events
            .push(NewEvent::new(scope, ArtifactChanged { name: artifact.name, change, version: 1, content, metadata }));
    }
    for draft in answer.calls {
        call_requested(turn_scope, draft, context, events);
    }
    Ok(())
}

fn progress(state: ToolState, message: Option<String>, percent: Option<u8>, attempt: Option<u32>) -> ToolProgress {
    ToolProgress { state, message, percent, output_ref: None, attempt }
}

fn finished(scope: Scope, outcome: ToolReport) -> NewEvent {
    match outcome {
        ToolReport::Succeeded { preview, structured_content, result_ref, duration_ms } => NewEvent::new(
            scope,
            ToolResult {
                preview,
                structured_content: structured_content.and_then(not_null),
                result_ref,
                artifact_refs: Vec::new(),
                duration_ms: Some(duration_ms),
            },
        ),
        ToolReport::Failed { error, duration_ms } => {
            NewEvent::new(scope, ToolFailed { outcome: ToolOutcome::Failed, error, duration_ms: Some(duration_ms) })
        }
    }
}
