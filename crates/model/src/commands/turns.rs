//! Commands about turns and their queue.

use crate::events::QueueEntry;
use crate::id::{SessionId, TaskId, ThreadId, TurnId};
use crate::value::{Metadata, OnBusy, Part, Status};
use crate::wire::wire;

wire! {
    /// Submit input to an agent. A missing session or thread is created.
    pub struct SubmitTurn {
        pub session_id: Option<SessionId>,
        /// The session's main thread where absent.
        pub thread_id: Option<ThreadId>,
        /// Your own stable id makes the call safe to repeat.
        pub turn_id: Option<TurnId>,
        pub agent: Option<String>,
        pub input: Vec<Part>,
        pub on_busy: Option<OnBusy>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub options: Metadata,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
        pub idempotency_key: Option<String>,
    }

    pub struct SubmitTurnResult {
        pub session_id: SessionId,
        pub thread_id: ThreadId,
        pub turn_id: TurnId,
        pub task_id: Option<TaskId>,
        /// `accepted` or `queued`.
        pub status: Status,
        /// From 1, where queued.
        pub queue_position: Option<u32>,
        pub sequence: u64,
    }

    /// Stop a turn: the active one of the thread where none is named. Stopping what is not running is not an error.
    pub struct InterruptTurn {
        pub session_id: SessionId,
        pub thread_id: Option<ThreadId>,
        pub turn_id: Option<TurnId>,
        pub reason: Option<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct InterruptTurnResult {
        pub session_id: SessionId,
        pub thread_id: ThreadId,
        pub turn_id: Option<TurnId>,
        /// False where there was nothing to stop.
        pub interrupted: bool,
        pub sequence: u64,
    }

    /// Carry a thread on: start the next queued turn of an idle thread, or say what it waits for.
    pub struct ResumeThread {
        pub session_id: SessionId,
        pub thread_id: ThreadId,
        pub resume_token: Option<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct ResumeThreadResult {
        pub session_id: SessionId,
        pub thread_id: ThreadId,
        pub status: Status,
        pub active_turn_id: Option<TurnId>,
        /// Whether this call started something.
        pub resumed: bool,
        pub sequence: u64,
    }

    /// Take a turn out of the queue before it starts.
    pub struct RemoveQueuedTurn {
        pub session_id: SessionId,
        pub thread_id: Option<ThreadId>,
        #[serde(alias = "turn_id")]
        pub queued_turn_id: TurnId,
        pub reason: Option<String>,
        pub idempotency_key: Option<String>,
    }

    /// Move a queued turn forward: to the front where no position is given.
    pub struct PromoteQueuedTurn {
        pub session_id: SessionId,
        pub thread_id: Option<ThreadId>,
        #[serde(alias = "turn_id")]
        pub queued_turn_id: TurnId,
        /// From 1.
        pub position: Option<u32>,
        pub idempotency_key: Option<String>,
    }

    pub struct QueueResult {
        pub session_id: SessionId,
        pub thread_id: ThreadId,
        pub queued_turns: Vec<QueueEntry>,
        pub sequence: u64,
    }
}
