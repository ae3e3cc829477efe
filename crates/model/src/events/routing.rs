//! Facts about the choice of a model.

use crate::routing::*;
use crate::value::Failure;
use crate::wire::wire;

wire! {
    /// What the work needs is known.
    pub struct TaskProfileResolved {
        #[serde(flatten)]
        pub profile: TaskProfile,
    }

    /// Who could do it, and who could not and why.
    pub struct RoutingCandidatesResolved {
        pub candidate_count: u32,
        pub candidates: Vec<Candidate>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub excluded: Vec<ExcludedCandidate>,
    }

    /// A model was chosen.
    pub struct RoutingDecided {
        #[serde(flatten)]
        pub decision: RoutingDecision,
    }

    /// The chosen model could not answer; another one is asked.
    pub struct RoutingFallbackApplied {
        pub from: ModelRef,
        pub to: ModelRef,
        pub reason: String,
        pub error: Option<Failure>,
        /// Who is left after this one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub fallback_chain: Vec<ModelRef>,
    }

    /// Nobody can do it.
    pub struct RoutingNotPossible {
        pub reason: String,
        pub candidate_count: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub excluded: Vec<ExcludedCandidate>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub capability_gap: Vec<String>,
        pub requires_user_override: bool,
        pub advice: Option<String>,
    }

    /// There was nothing to choose: one model can do it.
    pub struct RoutingSingleCandidate {
        pub task_kind: Option<String>,
        pub candidate_count: u32,
        pub selected_provider: String,
        pub selected_model: String,
        pub decision_source: RoutingSource,
        pub decision_reason: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub capability_gap: Vec<String>,
    }
}
