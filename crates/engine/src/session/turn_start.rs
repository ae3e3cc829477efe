//! How a turn starts, whatever starts it: at once, from the queue, or again after a crash.

use factum_model::events::{ModelRequested, TurnStarted};
use factum_model::report::ModelIntent;
use factum_model::value::Status;
use factum_model::{NewEvent, Scope};

use crate::context::Context;

/// Starts a turn for the first time. Where its agent's first step is known, the intent stands in the same commit: the
/// model is asked one sync earlier, and a turn that waits for its model has cost one commit instead of two.
pub(super) fn start_turn(scope: Scope, agent: &str, context: &mut Context<'_>, events: &mut Vec<NewEvent>) {
    events.push(NewEvent::new(scope.clone(), started(agent, 1)));
    if let Some(intent) = (context.opening)(agent) {
        events.push(model_requested(scope, intent, 1, 1, context));
    }
}

/// Carries a turn on after a crash. What comes first then depends on how far it was, so it has no opening.
pub(super) fn start_again(scope: Scope, agent: &str, attempt: u32) -> NewEvent {
    NewEvent::new(scope, started(agent, attempt))
}

/// The intent to ask a model, as a step of the turn.
pub(super) fn model_requested(
    scope: Scope,
    intent: ModelIntent,
    round: u32,
    attempt: u32,
    context: &mut Context<'_>,
) -> NewEvent {
    let ModelIntent { provider, model, effect } = intent;
    let scope = scope.step_id(&context.step_id()).model_request_id(&context.model_request_id());
    NewEvent::new(scope, ModelRequested { provider, model, round, attempt, effect })
}

fn started(agent: &str, attempt: u32) -> TurnStarted {
    TurnStarted { status: Status::Running, agent: agent.to_owned(), attempt }
}
