//! Facts about pending decisions.

use jiff::Timestamp;
use serde_json::Value;

use crate::value::Metadata;
use crate::wire::{wire, words};

wire! {
    /// The runtime waits for a decision that only `respond_action` or the declared timeout policy can give.
    pub struct ActionRequired {
        pub action_type: ActionType,
        pub prompt: String,
        /// The decisions that are understood. Empty for free input.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub decisions: Vec<String>,
        pub input_schema: Option<Value>,
        /// Which rule or policy asks.
        pub policy: Option<String>,
        pub tool_name: Option<String>,
        /// What the answer is bound to.
        pub arguments_digest: Option<String>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub scope: Metadata,
        pub timeout_at: Option<Timestamp>,
        pub on_timeout: OnTimeout,
    }

    /// The decision is made. The first answer wins.
    pub struct ActionResolved {
        pub action_type: ActionType,
        pub decision: String,
        pub payload: Option<Value>,
        pub resolved_by: String,
        pub source: ResolutionSource,
        /// Whether what waited may go on. What a word meant when it was said is a fact; it is not read out of the word again.
        #[serde(default)]
        pub allowed: bool,
        pub arguments_digest: Option<String>,
    }
}

words! {
    pub enum ActionType {
        ToolPermission,
        Input,
        Authorization,
        Review,
        Custom,
    }

    /// What a decision nobody gave in time becomes. Never an approval.
    pub enum OnTimeout {
        /// It stays open.
        Wait,
        Deny,
        Cancel,
    }

    /// Who or what resolved an action.
    pub enum ResolutionSource {
        Response,
        Timeout,
        Policy,
        AuthFailure,
        /// The work it belonged to ended first.
        Superseded,
    }
}
