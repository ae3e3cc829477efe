//! Commands about permissions and the surroundings they are decided in.

use jiff::Timestamp;
use serde_json::Value;

use crate::events::ToolEntry;
use crate::id::*;
use crate::permission::*;
use crate::process::ProcessRecord;
use crate::sandbox::{ProcessLimits, SandboxProfile};
use crate::value::Knowledge;
use crate::wire::wire;

wire! {
    /// Ask what the rules say about something, and record the answer.
    pub struct EvaluatePermission {
        pub session_id: SessionId,
        pub thread_id: Option<ThreadId>,
        pub turn_id: Option<TurnId>,
        pub task_id: Option<TaskId>,
        pub tool_call_id: Option<ToolCallId>,
        pub process_id: Option<ProcessId>,
        pub subject: PermissionSubject,
        pub arguments: Option<Value>,
        /// The thread's mode where absent.
        pub mode: Option<PermissionMode>,
        /// Without anybody to ask, `ask` becomes `deny`.
        #[serde(default)]
        pub interactive: bool,
        pub idempotency_key: Option<String>,
    }

    pub struct EvaluatePermissionResult {
        #[serde(flatten)]
        pub decision: PermissionDecision,
        pub sequence: u64,
    }

    /// Decide an open permission question. The first answer wins.
    pub struct ResolvePermission {
        pub action_id: ActionId,
        /// `allow` or `deny`.
        pub decision: Verdict,
        pub reason: Option<String>,
        /// `once` where absent.
        pub scope: Option<GrantScope>,
        pub expires_at: Option<Timestamp>,
        pub idempotency_key: Option<String>,
    }

    pub struct ResolvePermissionResult {
        pub action_id: ActionId,
        #[serde(flatten)]
        pub decision: PermissionDecision,
        pub sequence: u64,
    }

    /// Which tools somebody may use here and now.
    pub struct GetToolInventory {
        pub session_id: Option<SessionId>,
        pub thread_id: Option<ThreadId>,
        pub agent: Option<String>,
        pub mode: Option<PermissionMode>,
    }

    /// `tool_inventory_snapshot`.
    pub struct GetToolInventoryResult {
        pub tools: Vec<ToolEntry>,
        pub agent: String,
        pub mode: PermissionMode,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub warnings: Vec<String>,
        pub as_of_sequence: Option<u64>,
    }

    /// Where and within which bounds things run.
    pub struct GetExecutionEnvironment {
        pub session_id: SessionId,
        pub thread_id: Option<ThreadId>,
        pub turn_id: Option<TurnId>,
    }

    /// `execution_environment_snapshot`.
    pub struct GetExecutionEnvironmentResult {
        pub session_id: SessionId,
        pub thread_id: Option<ThreadId>,
        pub knowledge: Knowledge,
        pub cwd: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub workspace_roots: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub env_refs: Vec<String>,
        pub permission_mode: PermissionMode,
        pub sandbox: Option<SandboxProfile>,
        pub process_limits: Option<ProcessLimits>,
        pub active_processes: Vec<ProcessRecord>,
        pub as_of_sequence: u64,
    }
}
