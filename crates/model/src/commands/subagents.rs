//! Commands about child agents. Every wait has a bound.

use crate::id::*;
use crate::permission::PermissionMode;
use crate::subagent::*;
use crate::value::{Metadata, Part};
use crate::wire::{wire, words};

wire! {
    /// Start a child agent below a thread.
    pub struct SpawnSubagent {
        pub session_id: SessionId,
        /// The main thread where absent.
        pub parent_thread_id: Option<ThreadId>,
        pub parent_turn_id: Option<TurnId>,
        /// The task it is spawned for; the one it works on where absent.
        pub parent_task_id: Option<TaskId>,
        pub parent_subagent_id: Option<SubagentId>,
        /// The task the child works on.
        pub task_id: Option<TaskId>,
        /// Your own stable id makes the call safe to repeat.
        pub subagent_id: Option<SubagentId>,
        /// The parent's agent where absent.
        pub agent: Option<String>,
        pub role: Option<String>,
        pub nickname: Option<String>,
        /// The parent's where absent, and never weaker than it.
        pub isolation: Option<Isolation>,
        /// `inherit` where absent.
        pub model_policy: Option<ModelPolicy>,
        /// The parent's where absent, and never wider than it.
        pub permission_mode: Option<PermissionMode>,
        /// Its first turn; a child without one is idle until something is said to it.
        #[serde(default)]
        pub input: Vec<Part>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
        pub idempotency_key: Option<String>,
    }

    pub struct SpawnSubagentResult {
        pub subagent_id: SubagentId,
        pub session_id: SessionId,
        /// The child's own thread.
        pub thread_id: ThreadId,
        pub turn_id: Option<TurnId>,
        pub task_id: Option<TaskId>,
        pub status: SubagentState,
        pub sequence: u64,
    }

    /// Say something to a child agent.
    pub struct SendSubagentInput {
        pub subagent_id: SubagentId,
        pub input: Vec<Part>,
        pub idempotency_key: Option<String>,
    }

    /// Carry on a child agent that stopped and is not closed.
    pub struct ResumeSubagent {
        pub subagent_id: SubagentId,
        /// It is told to continue where absent.
        pub input: Option<Vec<Part>>,
        pub resume_token: Option<String>,
        pub idempotency_key: Option<String>,
    }

    /// Stop a child agent and everything below it.
    pub struct CloseSubagent {
        pub subagent_id: SubagentId,
        pub reason: Option<String>,
        /// How long running turns may take to end by themselves; they are ended at once where absent.
        pub grace_ms: Option<u64>,
        pub idempotency_key: Option<String>,
    }

    /// Where a child agent stands after a command.
    pub struct SubagentResult {
        pub subagent_id: SubagentId,
        pub thread_id: ThreadId,
        pub turn_id: Option<TurnId>,
        pub status: SubagentState,
        pub sequence: u64,
    }

    /// Wait until child agents have come to rest, or the time is over.
    pub struct WaitSubagents {
        pub subagent_ids: Vec<SubagentId>,
        #[serde(default)]
        pub until: WaitUntil,
        /// How long to wait; 20 seconds where absent. 0 only looks.
        pub timeout_ms: Option<u64>,
    }

    pub struct WaitSubagentsResult {
        /// As they stand now, in the order they were named.
        pub subagents: Vec<SubagentRecord>,
        /// Whether the time was over first.
        pub timed_out: bool,
    }

    /// Child agents of a session, or of one of its threads, turns, tasks or child agents; oldest first.
    pub struct ListSubagents {
        pub session_id: SessionId,
        pub thread_id: Option<ThreadId>,
        pub turn_id: Option<TurnId>,
        pub task_id: Option<TaskId>,
        pub subagent_id: Option<SubagentId>,
        /// Not only direct children.
        #[serde(default)]
        pub descendants: bool,
        /// 1 to 200; 50 where absent.
        pub limit: Option<u32>,
        pub cursor: Option<String>,
    }

    pub struct ListSubagentsResult {
        pub subagents: Vec<SubagentRecord>,
        pub next_cursor: Option<String>,
        pub as_of_sequence: u64,
    }
}

words! {
    /// How many have to come to rest.
    #[derive(Default)]
    pub enum WaitUntil {
        #[default]
        All,
        Any,
    }
}
