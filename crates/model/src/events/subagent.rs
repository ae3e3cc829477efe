//! Facts about child agents.
//!
//! In `subagent.spawned` the envelope's session, thread, turn and task are the parent's; later facts stand in the child's
//! own thread.

use jiff::Timestamp;

use crate::id::{SubagentId, TaskId, ThreadId};
use crate::permission::PermissionMode;
use crate::subagent::*;
use crate::value::{Failure, Metadata, Part, Usage};
use crate::wire::wire;

wire! {
    /// A child agent exists.
    pub struct SubagentSpawned {
        pub status: SubagentState,
        pub spawned_by: String,
        pub agent: String,
        /// The child's own thread.
        pub child_thread_id: ThreadId,
        pub parent_subagent_id: Option<SubagentId>,
        /// The task the child works on; the envelope has the parent's.
        pub child_task_id: Option<TaskId>,
        pub role: Option<String>,
        pub nickname: Option<String>,
        pub isolation: Isolation,
        pub model_policy: Option<ModelPolicy>,
        pub permission_mode: Option<PermissionMode>,
        /// 1 for a child of a thread that is no child agent's.
        pub depth: u32,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
    }

    /// A child agent's state changed.
    pub struct SubagentStatus {
        pub status: SubagentState,
        pub detail: Option<String>,
        pub last_message_ref: Option<String>,
        /// With `closing`: when it is closed whatever still runs.
        pub close_at: Option<Timestamp>,
        pub changed_by: Option<String>,
    }

    /// Somebody said something to a child agent.
    pub struct SubagentInput {
        pub input: Vec<Part>,
        pub source: String,
    }

    /// A child agent finished what it was asked.
    pub struct SubagentCompleted {
        pub status: SubagentState,
        pub summary: Option<String>,
        pub last_message_ref: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<String>,
        pub usage: Option<Usage>,
    }

    /// A child agent ended otherwise: `status` tells `failed`, `cancelled` and `lost` apart.
    pub struct SubagentFailed {
        pub status: SubagentState,
        pub error: Failure,
        pub last_message_ref: Option<String>,
        pub usage: Option<Usage>,
    }

    /// A child agent takes no more input.
    pub struct SubagentClosed {
        pub status: SubagentState,
        /// Where it stood when it was closed.
        pub previous_status: SubagentState,
        pub closed_by: String,
        pub reason: Option<String>,
    }
}
