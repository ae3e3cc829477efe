//! Facts about model requests and reasoning.

use crate::value::{Effect, Failure, OutputRef, Usage};
use crate::wire::wire;

wire! {
    /// The intent to ask a model. Without a `model.completed` or `model.failed` behind it, the outcome is unknown.
    pub struct ModelRequested {
        pub provider: String,
        pub model: String,
        /// Which exchange of the turn this is, from 1.
        pub round: u32,
        /// How often this round has been tried, from 1.
        pub attempt: u32,
        pub effect: Effect,
    }

    /// A piece of the answer's text.
    pub struct ModelDelta {
        pub text: String,
        /// Counts the pieces of one request from 0.
        pub index: u32,
    }

    /// The model finished its answer.
    pub struct ModelCompleted {
        /// `end_turn`, `tool_use`, `length` or the provider's own word.
        pub stop_reason: String,
        pub usage: Option<Usage>,
        /// The whole text where it is small.
        pub text: Option<String>,
        pub text_ref: Option<OutputRef>,
        pub raw_ref: Option<String>,
        pub tool_calls: u32,
    }

    /// The request ended without an answer.
    pub struct ModelFailed {
        pub error: Failure,
        pub will_retry: bool,
        pub raw_ref: Option<String>,
    }

    /// A piece of reasoning outside the final text.
    pub struct ReasoningDelta {
        pub text: String,
        pub index: u32,
    }

    /// Reasoning in short.
    pub struct ReasoningSummary {
        pub text: String,
    }
}
