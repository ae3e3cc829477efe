//! The facts of one turn, folded: how far it is, and what a model or a tool may want to look back at.
//!
//! Total like the engine's fold: a fact that does not fit changes nothing. Facts of other turns are ignored, because the
//! commit that ends a turn also starts the next one. Facts of one commit are folded together: an allowed call is ready when
//! the commit is over, a denied one was closed by the fact behind its decision.

use std::collections::BTreeSet;

use factum_model::events::{
    ActionResolved, ModelCompleted, ModelFailed, ResolutionSource, ToolFailed, ToolOutcome, ToolProgress, ToolResult,
    ToolStarted, ToolState,
};
use factum_model::id::{ActionId, ModelRequestId, StepId, ToolCallId, TurnId};
use factum_model::value::{Effect, Failure, OutputRef};
use factum_model::{Event, Fact};
use serde_json::Value;

/// The category the engine gives to a model request that a restart cut off.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// A turn so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    turn_id: TurnId,
    /// Whole answers, in order, each with the calls it asked for.
    pub rounds: Vec<Round>,
    /// A model request without an outcome.
    pub request: Option<OpenRequest>,
    /// Failed tries of the round under way. Tries that a restart cut off do not count.
    pub failed_tries: u32,
    /// Why the last try of the round under way gave no answer.
    pub failure: Option<FailedTry>,
    pub open_actions: BTreeSet<ActionId>,
    /// Whether the turn has ended, well or not.
    pub over: bool,
    /// How many facts of the turn are folded in.
    pub facts: u64,
}

/// One whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    pub text: String,
    pub stop_reason: String,
    pub calls: Vec<Call>,
}

/// A request whose answer is under way.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenRequest {
    pub request_id: ModelRequestId,
    pub step_id: StepId,
    /// What has been streamed.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FailedTry {
    pub error: Failure,
    pub will_retry: bool,
}

/// One tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub id: ToolCallId,
    pub tool_name: String,
    /// `null` until they are known.
    pub arguments: Value,
    /// What an approval is bound to.
    pub arguments_digest: String,
    pub effect: Effect,
    pub native_call_id: Option<String>,
    pub state: CallState,
    /// How often it has been run.
    pub attempts: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CallState {
    /// Somebody has to decide or answer first.
    Waiting,
    /// May run, and has not begun.
    Ready,
    /// Began; whether it ended is not known.
    Running,
    Done(Box<Outcome>),
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Succeeded { preview: Option<String>, structured: Option<Value>, result_ref: Option<Box<OutputRef>> },
    Failed { outcome: ToolOutcome, error: Failure },
}

impl Transcript {
    pub fn new(turn_id: TurnId) -> Self {
        Self {
            turn_id,
            rounds: Vec::new(),
            request: None,
            failed_tries: 0,
            failure: None,
            open_actions: BTreeSet::new(),
            over: false,
            facts: 0,
        }
    }

    /// Folds the facts of one or more whole commits.
    pub fn extend(&mut self, events: &[Event]) {
        for event in events {
            if event.scope.turn_id.as_ref() == Some(&self.turn_id) {
                self.facts += 1;
                self.fold(event);
            }
        }
    }

    pub fn turn_id(&self) -> &TurnId {
        &self.turn_id
    }

    /// Every call of the turn, in the order in which they were asked for.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.rounds.iter().flat_map(|round| &round.calls)
    }

    fn fold(&mut self, event: &Event) {
        match &event.fact {
            Fact::ModelRequested(_) => self.requested(event),
            Fact::ModelDelta(delta) => {
                if let Some(request) = &mut self.request {
                    request.text.push_str(&delta.text);
                }
            }
            Fact::ModelCompleted(fact) => self.completed(fact),
            Fact::ModelFailed(fact) => self.failed(fact),
            Fact::ToolStarted(fact) => self.call_asked_for(event, fact),
            Fact::ToolArgs(fact) => self.change(event, |call| {
                call.arguments = fact.arguments.clone().unwrap_or(Value::Null);
                call.arguments_digest = fact.arguments_digest.clone();
            }),
            Fact::ToolProgress(fact) => self.change(event, |call| call.progressed(fact)),
            Fact::ToolResult(fact) => {
                self.change(event, |call| call.state = CallState::Done(Box::new(succeeded(fact))))
            }
            Fact::ToolFailed(fact) => {
                self.change(event, |call| call.state = CallState::Done(Box::new(unsuccessful(fact))))
            }
            Fact::ActionRequired(_) => {
                self.open_actions.extend(event.scope.action_id.clone());
                self.change(event, |call| call.state = CallState::Waiting);
            }
            Fact::ActionResolved(fact) => self.resolved(event, fact),
            Fact::TurnCompleted(_) | Fact::TurnFailed(_) => self.over = true,
            _ => {}
        }
    }

    fn requested(&mut self, event: &Event) {
        let ids = event.scope.model_request_id.clone().zip(event.scope.step_id.clone());
        self.request = ids.map(|(request_id, step_id)| OpenRequest { request_id, step_id, text: String::new() });
        self.failure = None;
    }

    /// A long text is not repeated in the fact that ends it, so it is taken from its pieces.
    fn completed(&mut self, fact: &ModelCompleted) {
        let streamed = self.request.take().map(|request| request.text).unwrap_or_default();
        let text = fact.text.clone().unwrap_or(streamed);
        self.rounds.push(Round { text, stop_reason: fact.stop_reason.clone(), calls: Vec::new() });
        self.failed_tries = 0;
        self.failure = None;
    }

    fn failed(&mut self, fact: &ModelFailed) {
        self.request = None;
        self.failed_tries += u32::from(fact.error.category != INTERRUPTED);
        self.failure = Some(FailedTry { error: fact.error.clone(), will_retry: fact.will_retry });
    }

    fn call_asked_for(&mut self, event: &Event, fact: &ToolStarted) {
        let (Some(id), Some(round)) = (event.scope.tool_call_id.clone(), self.rounds.last_mut()) else { return };
        round.calls.push(Call {
            id,
            tool_name: fact.tool_name.clone(),
            arguments: Value::Null,
            arguments_digest: String::new(),
            effect: fact.effect,
            native_call_id: fact.native_call_id.clone(),
            state: CallState::Ready,
            attempts: 0,
        });
    }

    /// A decision that does not allow the call closes it with a fact of its own in the same commit.
    fn resolved(&mut self, event: &Event, fact: &ActionResolved) {
        if let Some(action_id) = &event.scope.action_id {
            self.open_actions.remove(action_id);
        }
        if fact.allowed && matches!(fact.source, ResolutionSource::Response | ResolutionSource::Policy) {
            self.change(event, |call| {
                if call.state == CallState::Waiting {
                    call.state = CallState::Ready;
                }
            });
        }
    }

    fn change(&mut self, event: &Event, change: impl FnOnce(&mut Call)) {
        let Some(id) = &event.scope.tool_call_id else { return };
        let call = self.rounds.iter_mut().rev().flat_map(|round| &mut round.calls).find(|call| call.id == *id);
        if let Some(call) = call {
            change(call);
        }
    }
}

impl Call {
    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<&Outcome> {
        if let CallState::Done(outcome) = &self.state { Some(outcome) } else { None }
    }

    fn progressed(&mut self, fact: &ToolProgress) {
        match fact.state {
            ToolState::Running => {
                self.state = CallState::Running;
                self.attempts = fact.attempt.unwrap_or(self.attempts + 1);
            }
            ToolState::Interrupted => self.state = CallState::Ready,
            ToolState::Lost => self.state = CallState::Waiting,
            ToolState::Streaming => {}
        }
    }
}

fn succeeded(fact: &ToolResult) -> Outcome {
    Outcome::Succeeded {
        preview: fact.preview.clone(),
        structured: fact.structured_content.clone(),
        result_ref: fact.result_ref.clone().map(Box::new),
    }
}

fn unsuccessful(fact: &ToolFailed) -> Outcome {
    Outcome::Failed { outcome: fact.outcome, error: fact.error.clone() }
}
