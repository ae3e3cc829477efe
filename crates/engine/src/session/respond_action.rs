//! `respond_action`: the only way, apart from a declared timeout, that an open action is resolved.

use factum_model::commands::{RespondAction, RespondActionResult};
use factum_model::events::{ActionResolved, ActionType, ResolutionSource, ToolFailed, ToolOutcome, ToolResult};
use factum_model::id::ActionId;
use factum_model::value::Status;
use factum_model::{ErrorCode, NewEvent, Refusal, Scope};
use serde_json::{Value, json};

use super::answer_schema::{check_answer, structured};
use super::delegations;
use super::lookup::{active_turn, require_session};
use super::state::{OpenAction, SessionState, Shell};
use super::tasks::inbound::decided_here;
use super::turn_end::{End, end_turn, failure, start_next};
use super::verdict::{Verdict, answer_text, is_word, verdict};
use super::waiting::{actions_changed, asking_turn};
use crate::context::{Context, Decision};

/// The words of the review of a lost tool call.
pub(super) const RETRY: &str = "retry";
pub(super) const SKIP: &str = "skip";
pub(super) const FAIL: &str = "fail";

/// Why an answer was refused that did not come through the channel that decides.
pub const CHANNEL_SCOPED: &str = "channel_scoped";

/// Decides an open action. One that is resolved already is not in the state; the shell answers that case from its row.
pub fn respond_action(
    state: &SessionState,
    command: &RespondAction,
    context: &mut Context<'_>,
) -> Result<Decision<RespondActionResult>, Refusal> {
    let shell = require_session(state)?;
    let action = state.action(&command.action_id).ok_or_else(Refusal::not_found)?;
    check_channel(action, context)?;
    let verdict =
        verdict(&action.required, &command.decision).ok_or_else(|| not_understood(action, &command.decision))?;
    check_answer(&action.required, verdict, &command.decision, command.payload.as_ref())?;
    let mut events = Vec::with_capacity(4);
    let answer = Answer {
        decision: &command.decision,
        payload: command.payload.as_ref(),
        by: context.caller,
        source: ResolutionSource::Response,
    };
    resolve(state, shell, action, verdict, &answer, context, &mut events);
    events.extend(decided_here(state, action, &answer, verdict));
    if let Some(turn_id) = asking_turn(state, action) {
        actions_changed(state, turn_id, context, &mut events);
    }
    let sequence = context.sequence_after(state.sequence, &events);
    let output =
        RespondActionResult { action_id: command.action_id.clone(), decision: command.decision.clone(), sequence };
    Ok(Decision { output, events })
}

/// Nobody is left who may decide: the channel that alone could is closed for good. Never an approval.
pub fn refuse_for_closed_channel(
    state: &SessionState,
    action_id: &ActionId,
    context: &mut Context<'_>,
) -> Result<Decision<()>, Refusal> {
    let shell = require_session(state)?;
    let mut events = Vec::new();
    if let Some(action) = state.action(action_id).filter(|action| action.decided_through.is_some()) {
        let payload = json!({ "reason": "the remote channel that decides was closed" });
        let source = ResolutionSource::Policy;
        let answer = Answer { decision: "deny", payload: Some(&payload), by: context.caller, source };
        resolve(state, shell, action, Verdict::Deny, &answer, context, &mut events);
        if let Some(turn_id) = asking_turn(state, action) {
            actions_changed(state, turn_id, context, &mut events);
        }
    }
    Ok(Decision { events, output: () })
}

/// Seed 000: what a peer asked for is not approved privately elsewhere. Which channel it is stays with those who have it.
pub(super) fn check_channel(action: &OpenAction, context: &Context<'_>) -> Result<(), Refusal> {
    match &action.decided_through {
        None => Ok(()),
        Some(channel_id) if context.through.is_some_and(|through| through.channel_id == *channel_id) => Ok(()),
        Some(_) => {
            let message =
                "this work came through a remote channel, and only a decision that comes through it is accepted";
            Err(Refusal::new(ErrorCode::PermissionDenied, message).with("cause", CHANNEL_SCOPED))
        }
    }
}

/// An answer and where it came from.
pub(super) struct Answer<'a> {
    pub decision: &'a str,
    pub payload: Option<&'a Value>,
    pub by: &'a str,
    pub source: ResolutionSource,
}

/// The facts of a resolved action and of what it stood in front of.
pub(super) fn resolve(
    state: &SessionState,
    shell: &Shell,
    action: &OpenAction,
    verdict: Verdict,
    answer: &Answer<'_>,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    let scope = action_scope(shell, action);
    events.push(NewEvent::new(
        scope.clone(),
        ActionResolved {
            action_type: action.required.action_type,
            decision: answer.decision.to_owned(),
            payload: answer.payload.cloned(),
            resolved_by: answer.by.to_owned(),
            source: answer.source,
            allowed: allows(action, verdict, answer),
            arguments_digest: action.required.arguments_digest.clone(),
        },
    ));
    events.extend(delegations::returned(state, action, verdict, answer, &scope));
    if action.tool_call_id.is_none() {
        return;
    }
    let call_scope = Scope { action_id: None, ..scope };
    match (action.required.action_type, verdict) {
        (ActionType::Input | ActionType::Custom, Verdict::Allow | Verdict::Other) => {
            events.push(NewEvent::new(call_scope, answered(action, answer)));
        }
        (_, Verdict::Deny) => events.push(NewEvent::new(call_scope, denied(answer))),
        (ActionType::Review, _) => review(state, shell, action, call_scope, answer, context, events),
        (_, Verdict::Allow | Verdict::Other) => {}
    }
}

/// Whether the answer lets go on what waited for it. Only people and policies can; a timeout never does.
fn allows(action: &OpenAction, verdict: Verdict, answer: &Answer<'_>) -> bool {
    match (answer.source, action.required.action_type) {
        (ResolutionSource::Response | ResolutionSource::Policy, ActionType::Review) => is_word(answer.decision, RETRY),
        (ResolutionSource::Response | ResolutionSource::Policy, _) => verdict == Verdict::Allow,
        _ => false,
    }
}

/// A lost call was looked at: `retry` lets it run again, `skip` tells the model that it is lost, `fail` ends the turn.
fn review(
    state: &SessionState,
    shell: &Shell,
    action: &OpenAction,
    call_scope: Scope,
    answer: &Answer<'_>,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    if is_word(answer.decision, RETRY) {
        return;
    }
    let error = failure("lost", "a restart cut the call off; whether it took effect is not known", false);
    events.push(NewEvent::new(call_scope, ToolFailed { outcome: ToolOutcome::Lost, error, duration_ms: None }));
    if !is_word(answer.decision, FAIL) {
        return;
    }
    let Some((thread, turn)) = action.turn_id.as_ref().and_then(|turn_id| active_turn(state, turn_id)) else { return };
    let error = failure("tool_lost", "a reviewer failed the turn after a lost tool call", false);
    end_turn(state, shell, thread, turn, End::Failed { status: Status::Failed, error }, answer.by, context, events);
    start_next(state, shell, thread, context, events);
}

/// What was asked for as an object or a list stays one; any other answer is a text.
fn answered(action: &OpenAction, answer: &Answer<'_>) -> ToolResult {
    let text = answer_text(answer.decision, answer.payload);
    let plain = || json!({ "answer": text, "decision": answer.decision });
    ToolResult {
        structured_content: Some(structured(&action.required, answer.decision, answer.payload).unwrap_or_else(plain)),
        preview: Some(text),
        result_ref: None,
        artifact_refs: Vec::new(),
        duration_ms: None,
    }
}

fn denied(answer: &Answer<'_>) -> ToolFailed {
    let timed_out = answer.source == ResolutionSource::Timeout;
    let (category, message) = if timed_out {
        ("timeout", "nobody decided in time")
    } else {
        ("permission_denied", "the call was not allowed")
    };
    let outcome = if timed_out { ToolOutcome::TimedOut } else { ToolOutcome::Denied };
    ToolFailed { outcome, error: failure(category, message, false), duration_ms: None }
}

pub(super) fn action_scope(shell: &Shell, action: &OpenAction) -> Scope {
    let base = Scope::default().session_id(&shell.session_id).thread_id(&action.thread_id).action_id(&action.action_id);
    Scope {
        turn_id: action.turn_id.clone(),
        step_id: action.step_id.clone(),
        tool_call_id: action.tool_call_id.clone(),
        ..base
    }
}

fn not_understood(action: &OpenAction, decision: &str) -> Refusal {
    Refusal::invalid(format!("this action does not understand the decision {decision:?}"))
        .with("decisions", json!(action.required.decisions))
        .with("action_type", json!(action.required.action_type))
}
