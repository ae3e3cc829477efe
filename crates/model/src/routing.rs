//! How a model is chosen: what the work needs, who could do it, and what was decided (CONTRACT, "Routing").
//!
//! Choosing is the agent's job; here are the records it leaves. Having one candidate or none is as much a decision as
//! having many.

use crate::limit::LimitState;
use crate::wire::{wire, words};

wire! {
    /// What a piece of work needs from a model. Absent means that nothing was asked.
    #[derive(Default)]
    pub struct TaskProfile {
        pub kind: Option<String>,
        /// Where the profile comes from, such as `request`, `agent` or `default`.
        pub source: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub required_capabilities: Vec<String>,
        pub latency_target_ms: Option<u64>,
        pub budget_class: Option<String>,
        pub fallback_policy: Option<FallbackPolicy>,
        pub settings_source: Option<String>,
    }

    /// A model by name.
    #[derive(Eq)]
    pub struct ModelRef {
        pub provider: String,
        pub model: String,
    }

    /// A model that could do the work.
    pub struct Candidate {
        pub provider: String,
        pub model: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub capabilities: Vec<String>,
        /// From 1, best first.
        pub rank: Option<u32>,
    }

    /// A model that could not, and why.
    pub struct ExcludedCandidate {
        pub provider: String,
        pub model: String,
        pub reason: String,
    }

    /// Which model was chosen and why.
    pub struct RoutingDecision {
        pub routing_mode: RoutingMode,
        pub decision_source: RoutingSource,
        pub decision_reason: String,
        pub requested_provider: Option<String>,
        pub requested_model: Option<String>,
        pub selected_provider: Option<String>,
        pub selected_model: Option<String>,
        pub candidate_count: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub fallback_chain: Vec<ModelRef>,
        /// Required capabilities the selected model lacks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub capability_gap: Vec<String>,
        pub requires_user_override: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub limit_state_snapshot: Vec<LimitState>,
    }
}

words! {
    pub enum RoutingMode {
        NoCandidate,
        SingleCandidate,
        MultiCandidate,
    }

    /// Whose word decided.
    pub enum RoutingSource {
        Request,
        UserOverride,
        Settings,
        ExplicitDefault,
        Policy,
        Profile,
        Fallback,
    }

    /// What happens when the selected model cannot answer.
    pub enum FallbackPolicy {
        None,
        SameProvider,
        AnyCandidate,
        AskUser,
    }
}
