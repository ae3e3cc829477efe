//! Subagents: child agents with their own thread, and where they stand.

use jiff::Timestamp;

use crate::id::*;
use crate::permission::PermissionMode;
use crate::value::Failure;
use crate::wire::{record, wire, words};

record! {
    /// A child agent as it stands now.
    pub struct SubagentRecord {
        pub subagent_id: SubagentId,
        pub parent_session_id: SessionId,
        pub parent_thread_id: ThreadId,
        pub parent_turn_id: Option<TurnId>,
        pub parent_task_id: Option<TaskId>,
        pub parent_subagent_id: Option<SubagentId>,
        /// The child's own thread.
        pub thread_id: ThreadId,
        /// The task it works on.
        pub task_id: Option<TaskId>,
        pub agent: String,
        pub role: Option<String>,
        pub nickname: Option<String>,
        /// What was declared; what a tool really enforced stands in its `sandbox.applied`.
        pub isolation: Isolation,
        pub model_policy: Option<ModelPolicy>,
        pub permission_mode: PermissionMode,
        /// 1 for a child of a thread that is no child agent's.
        pub depth: u32,
        pub status: SubagentState,
        pub last_message_ref: Option<String>,
        pub last_error: Option<Failure>,
        /// When it is closed whatever still runs, where somebody asked for that.
        pub close_at: Option<Timestamp>,
        pub spawned_at: Timestamp,
        pub updated_at: Timestamp,
        pub ended_at: Option<Timestamp>,
    }
}

wire! {
    /// Which model a child uses.
    pub struct ModelPolicy {
        pub choice: ModelChoice,
        pub provider: Option<String>,
        pub model: Option<String>,
    }
}

words! {
    pub enum SubagentState {
        Starting,
        Running,
        Idle,
        WaitingInput,
        WaitingPermission,
        Completed,
        Failed,
        Cancelled,
        Lost,
        /// Takes no more input; what runs may settle until `close_at`.
        Closing,
        Closed,
        Unknown,
    }

    /// What a child shares with its parent.
    #[derive(Default)]
    pub enum Isolation {
        /// Its own thread, the same workspace.
        #[default]
        Thread,
        /// Its own copy of the workspace.
        Workspace,
        /// Its own sandbox as well.
        Sandbox,
        /// Another runtime.
        Remote,
    }

    pub enum ModelChoice {
        /// The parent's.
        Inherit,
        /// The named one.
        Fixed,
        /// Whatever routing decides.
        Routed,
    }
}
