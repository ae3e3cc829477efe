//! After a crash: an intent without an outcome is repaired by a rule, never guessed (DESIGN, "facts first", rule 3).
//!
//! A model request is asked again. A tool call that may be repeated is made ready again; any other one is lost and a
//! person is asked. A turn that only waits for a decision needs nothing: its action is as open as it was.

use factum_model::events::{
    ActionRequired, ActionType, ModelFailed, OnTimeout, Phase, RunStatus, ToolProgress, ToolState,
};
use factum_model::value::{Failure, Metadata, Status};
use factum_model::{Fact, NewEvent, Refusal, Scope};

use super::lookup::{require_session, turn_scope};
use super::respond_action::{FAIL, RETRY, SKIP};
use super::state::{ActiveTurn, CallState, OpenCall, SessionState};
use super::steps::bind_actions;
use super::turn_end::start_next;
use super::turn_start::start_again;
use super::{delegations, jobs, tasks, waiting};
use crate::context::{Context, Decision};

/// The facts that make a session with unfinished work go on.
pub fn recover(state: &SessionState, context: &mut Context<'_>) -> Result<Decision<()>, Refusal> {
    let shell = require_session(state)?;
    let mut events = Vec::new();
    let mut weight = tasks::Weight::default();
    for thread in &state.threads {
        match &thread.active {
            Some(turn) if turn.status(state) == Status::Running => {
                let (scope, known) = (turn_scope(shell, &thread.thread_id, &turn.turn_id), events.len());
                repair(turn, scope, context, &mut events);
                tasks::turn_recovered(state, &turn.turn_id, &mut weight, context, &mut events);
                jobs::turn_recovered(state, &turn.turn_id, context, &mut events);
                // A repair that asks nothing changes nothing of how the turn's task stands: its owner may have said that.
                if events[known..].iter().any(|event| matches!(event.fact, Fact::ActionRequired(_))) {
                    waiting::actions_changed(state, &turn.turn_id, context, &mut events);
                }
            }
            Some(_) => {}
            None => start_next(state, shell, thread, context, &mut events),
        }
    }
    delegations::carry_on(&state.delegations, shell, &mut events);
    Ok(Decision { events: tasks::carry_on(state, shell, events, context), output: () })
}

fn repair(turn: &ActiveTurn, scope: Scope, context: &mut Context<'_>, events: &mut Vec<NewEvent>) {
    let title = "Carried on after a restart".to_owned();
    let status =
        RunStatus { phase: Phase::Recovering, title, detail: None, checkpoints: Vec::new(), metadata: Metadata::new() };
    events.push(NewEvent::new(scope.clone(), status));
    if let Some(request) = &turn.model_request {
        let scope = scope.clone().step_id(&request.step_id).model_request_id(&request.request_id);
        let error = Failure {
            category: "interrupted".to_owned(),
            message: "a restart cut the request off; it is asked again".to_owned(),
            retryable: true,
            advice: None,
        };
        events.push(NewEvent::new(scope, ModelFailed { error, will_retry: true, raw_ref: None }));
    }
    for call in turn.calls.iter().filter(|call| call.state == CallState::Running) {
        let scope = scope.clone().step_id(&call.step_id).tool_call_id(&call.tool_call_id);
        repair_call(call, scope, context, events);
    }
    bind_actions(turn, events);
    events.push(start_again(scope, &turn.agent, turn.attempt + 1));
}

fn repair_call(call: &OpenCall, scope: Scope, context: &mut Context<'_>, events: &mut Vec<NewEvent>) {
    let repeat = call.effect.may_repeat();
    let (state, message) = if repeat {
        (ToolState::Interrupted, "a restart cut the call off; it runs again")
    } else {
        (ToolState::Lost, "a restart cut the call off; whether it took effect is not known")
    };
    events.push(NewEvent::new(
        scope.clone(),
        ToolProgress { state, message: Some(message.to_owned()), percent: None, output_ref: None, attempt: None },
    ));
    if repeat {
        return;
    }
    events.push(NewEvent::new(
        scope.action_id(&context.action_id()),
        ActionRequired {
            action_type: ActionType::Review,
            prompt: format!(
                "The tool {} was running when the runtime stopped. It may have taken effect. Retry it, skip it, or fail the turn?",
                call.tool_name
            ),
            decisions: [RETRY, SKIP, FAIL].map(str::to_owned).to_vec(),
            input_schema: None,
            policy: Some("lost_effect".to_owned()),
            tool_name: Some(call.tool_name.clone()),
            arguments_digest: Some(call.arguments_digest.clone()),
            scope: Metadata::new(),
            timeout_at: None,
            on_timeout: OnTimeout::Wait,
        },
    ));
}
