//! Facts about hooks. A hook changes nothing by itself: what it said is here, and what follows is a fact of its own.

use crate::hook::*;
use crate::id::HookRunId;
use crate::value::Failure;
use crate::wire::wire;

wire! {
    /// The intent to run a hook.
    pub struct HookStarted {
        pub hook_run_id: HookRunId,
        pub hook: String,
        pub point: HookPoint,
        pub purpose: HookPurpose,
        pub handler: HookHandler,
        /// What it was given: ids and refs, no secrets.
        pub input_ref: Option<String>,
        pub timeout_ms: Option<u64>,
    }

    /// A hook answered.
    pub struct HookCompleted {
        pub hook_run_id: HookRunId,
        pub hook: String,
        pub point: HookPoint,
        pub outcome: HookOutcome,
        pub reason: Option<String>,
        pub updated_input_ref: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub additional_context_refs: Vec<String>,
        pub updated_tool_output_ref: Option<String>,
        #[serde(default)]
        pub suppress_output: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub audit_refs: Vec<String>,
        pub duration_ms: u64,
    }

    /// A hook broke. `behavior` says what that means for the work it watched.
    pub struct HookFailed {
        pub hook_run_id: HookRunId,
        pub hook: String,
        pub point: HookPoint,
        pub purpose: HookPurpose,
        pub behavior: FailureBehavior,
        pub error: Failure,
        pub duration_ms: Option<u64>,
    }
}
