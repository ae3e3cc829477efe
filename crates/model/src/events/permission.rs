//! Facts about permissions and the policies behind them.

use jiff::Timestamp;

use crate::events::ResolutionSource;
use crate::permission::*;
use crate::wire::{wire, words};

wire! {
    /// A permission question was answered by rules, mode, hooks or host policy. `ask` means that a person is next.
    pub struct PermissionEvaluated {
        pub subject: PermissionSubject,
        pub mode: PermissionMode,
        /// Whether somebody could have been asked.
        pub interactive: bool,
        #[serde(flatten)]
        pub decision: PermissionDecision,
    }

    /// A person is asked. The envelope's `action_id` is the question.
    pub struct PermissionRequested {
        pub subject: PermissionSubject,
        pub mode: PermissionMode,
        pub requested_by: String,
        pub prompt: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub rule_refs: Vec<String>,
        #[serde(default)]
        pub destructive: bool,
        pub impact_scope: Option<String>,
        pub rollback_advice: Option<String>,
        pub expires_at: Option<Timestamp>,
    }

    /// The question has its answer.
    pub struct PermissionResolved {
        pub subject: PermissionSubject,
        pub resolved_by: String,
        pub resolution_source: ResolutionSource,
        #[serde(flatten)]
        pub decision: PermissionDecision,
    }

    /// A policy changed. What it says is behind the refs.
    pub struct PolicyChanged {
        pub policy: String,
        pub change: PolicyChange,
        pub changed_by: String,
        pub previous_ref: Option<String>,
        pub current_ref: Option<String>,
        /// The new mode, where that is what changed.
        pub permission_mode: Option<PermissionMode>,
        pub reason: Option<String>,
    }
}

words! {
    pub enum PolicyChange {
        Added,
        Updated,
        Removed,
    }
}
