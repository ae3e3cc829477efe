//! The read models a consumer sees. Each says which sequence it reflects.
//!
//! These are shapes only; the engine folds events into them. What is not known is said (`unknown`, `unavailable`), it is
//! not left to be guessed.

use jiff::Timestamp;
use serde_json::Value;

use crate::events::{ActionType, QueueEntry};
use crate::id::*;
use crate::value::{Failure, Metadata, OutputRef, Status, Usage};
use crate::wire::{wire, words};

wire! {
    /// `session_snapshot`: the shell of a session, its threads and a window of recent steps.
    pub struct SessionSnapshot {
        pub schema_version: String,
        pub runtime_id: RuntimeId,
        pub session_id: SessionId,
        pub title: Option<String>,
        pub agent: String,
        pub created_by: String,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub metadata: Metadata,
        pub threads: Vec<ThreadSummary>,
        /// Recent steps, oldest first.
        pub recent_steps: Vec<StepView>,
        /// Where older history continues; absent when the window reaches the beginning.
        pub history_before: Option<u64>,
        pub turn_count: u64,
        pub usage: Usage,
        pub as_of_sequence: u64,
    }

    /// One thread in a session's shell.
    pub struct ThreadSummary {
        pub thread_id: ThreadId,
        pub status: Status,
        pub agent: String,
        pub title: Option<String>,
        pub parent_thread_id: Option<ThreadId>,
        pub active_turn_id: Option<TurnId>,
        pub queued_turns: u32,
        pub pending_actions: u32,
        pub last_outcome: Option<Outcome>,
    }

    /// A step as it is shown in a list.
    pub struct StepView {
        pub sequence: u64,
        pub timestamp: Timestamp,
        pub thread_id: Option<ThreadId>,
        pub turn_id: Option<TurnId>,
        pub step_id: Option<StepId>,
        pub kind: StepKind,
        /// The event class the step was read from.
        pub event_type: String,
        pub status: Status,
        pub text: Option<String>,
        pub tool_name: Option<String>,
        pub action_id: Option<ActionId>,
        pub artifact: Option<OutputRef>,
    }

    /// `thread_read_model`: what a thread is doing now.
    pub struct ThreadReadModel {
        pub session_id: SessionId,
        pub thread_id: ThreadId,
        pub status: Status,
        pub agent: String,
        pub title: Option<String>,
        pub parent_thread_id: Option<ThreadId>,
        pub active_turn_id: Option<TurnId>,
        pub active_turn: Option<ActiveTurn>,
        pub pending_actions: Vec<PendingAction>,
        pub queued_turns: Vec<QueueEntry>,
        pub last_outcome: Option<Outcome>,
        /// The newest ones; see the events for all.
        pub incidents: Vec<Incident>,
        pub diagnostics: Diagnostics,
        pub updated_at: Timestamp,
        pub as_of_sequence: u64,
    }

    /// The turn that is being worked on.
    pub struct ActiveTurn {
        pub turn_id: TurnId,
        pub status: Status,
        pub agent: String,
        pub source: String,
        pub attempt: u32,
        pub submitted_at: Timestamp,
        pub started_at: Timestamp,
        pub current_step_id: Option<StepId>,
        pub steps: u32,
        pub model_round: u32,
        pub usage: Usage,
        pub tool_calls: Vec<OpenToolCall>,
    }

    /// A tool call without an outcome.
    pub struct OpenToolCall {
        pub tool_call_id: ToolCallId,
        pub tool_name: String,
        pub status: Status,
        pub action_id: Option<ActionId>,
    }

    /// A decision somebody is waiting for.
    pub struct PendingAction {
        pub action_id: ActionId,
        pub action_type: ActionType,
        pub prompt: String,
        pub decisions: Vec<String>,
        pub input_schema: Option<Value>,
        pub thread_id: ThreadId,
        pub turn_id: Option<TurnId>,
        pub tool_call_id: Option<ToolCallId>,
        pub tool_name: Option<String>,
        pub arguments_digest: Option<String>,
        pub required_at: Timestamp,
        pub timeout_at: Option<Timestamp>,
        pub sequence: u64,
    }

    /// How a turn ended.
    pub struct Outcome {
        pub turn_id: TurnId,
        pub status: Status,
        pub stop_reason: Option<String>,
        pub error: Option<Failure>,
        pub preview: Option<String>,
        pub ended_at: Timestamp,
        pub sequence: u64,
    }

    /// Something that went wrong and was recorded.
    pub struct Incident {
        pub sequence: u64,
        pub at: Timestamp,
        pub kind: String,
        pub message: String,
        pub turn_id: Option<TurnId>,
    }

    /// Counters of a thread.
    pub struct Diagnostics {
        pub turns_submitted: u64,
        pub turns_completed: u64,
        pub turns_failed: u64,
        pub turns_cancelled: u64,
        pub incidents_total: u64,
        pub model_requests: u64,
        pub tool_calls: u64,
        pub usage: Usage,
    }

    /// `queue_snapshot`: the turns that wait, in order.
    pub struct QueueSnapshot {
        pub session_id: SessionId,
        pub thread_id: ThreadId,
        pub status: Status,
        pub active_turn_id: Option<TurnId>,
        pub queued_turns: Vec<QueueEntry>,
        pub as_of_sequence: u64,
    }
}

words! {
    /// What a step is.
    pub enum StepKind {
        Input,
        Message,
        Reasoning,
        Tool,
        Action,
        Artifact,
        Status,
    }
}
