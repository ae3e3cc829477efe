//! Facts about tools.

use serde_json::Value;

use crate::value::{Effect, Failure, OutputRef};
use crate::wire::{wire, words};

wire! {
    /// Which tools a turn may use.
    pub struct ToolCatalogResolved {
        pub tools: Vec<ToolEntry>,
        pub mode: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub warnings: Vec<String>,
    }

    /// One tool as it is offered (CONTRACT, "Tools").
    pub struct ToolEntry {
        pub tool_name: String,
        pub description: Option<String>,
        pub input_schema: Option<Value>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub capabilities: Vec<String>,
        pub policy: ToolPolicy,
        pub runtime_owner: ToolOwner,
        pub is_read_only: bool,
        pub is_concurrency_safe: bool,
        pub is_destructive: bool,
        pub interrupt_behavior: Option<String>,
        pub effect: Effect,
        pub metadata_ref: Option<String>,
    }

    /// A tool call was asked for. It has not run yet: the decision comes first.
    pub struct ToolStarted {
        pub tool_name: String,
        pub runtime_owner: ToolOwner,
        pub effect: Effect,
        pub needs_approval: bool,
        /// The model's own id of the call, where it has one.
        pub native_call_id: Option<String>,
    }

    /// The exact arguments, or a reference to them.
    pub struct ToolArgs {
        pub arguments: Option<Value>,
        pub arguments_ref: Option<OutputRef>,
        /// `sha256:` over the canonical form; what an approval is bound to.
        pub arguments_digest: String,
    }

    /// The tool is at work.
    pub struct ToolProgress {
        pub state: ToolState,
        pub message: Option<String>,
        pub percent: Option<u8>,
        pub output_ref: Option<OutputRef>,
        /// How often it has been run, from 1.
        pub attempt: Option<u32>,
    }

    /// The tool ended with a result.
    pub struct ToolResult {
        pub preview: Option<String>,
        pub structured_content: Option<Value>,
        pub result_ref: Option<OutputRef>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub artifact_refs: Vec<String>,
        pub duration_ms: Option<u64>,
    }

    /// The tool ended without a result.
    pub struct ToolFailed {
        pub outcome: ToolOutcome,
        pub error: Failure,
        pub duration_ms: Option<u64>,
    }
}

words! {
    pub enum ToolPolicy {
        Allowed,
        Ask,
        Denied,
        Sandboxed,
        Unavailable,
    }

    /// Who runs a tool.
    pub enum ToolOwner {
        Local,
        Mcp,
        Connector,
        Provider,
        Workflow,
        Subagent,
    }

    pub enum ToolState {
        Running,
        Streaming,
        /// A restart cut it off, and running it again is safe.
        Interrupted,
        /// A restart cut it off, and nobody can say whether it took effect.
        Lost,
    }

    /// How a call without a result ended.
    pub enum ToolOutcome {
        Failed,
        Denied,
        Cancelled,
        TimedOut,
        /// Nobody can say whether it ran.
        Lost,
    }
}
