//! The read models a consumer sees. Each says which sequence it reflects.
//!
//! These are shapes only; the engine folds events into them. What is not known is said (`unknown`, `unavailable`), it is
//! not left to be guessed.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::events::{ActionType, OnTimeout, QueueEntry};
use crate::id::*;
use crate::job::JobRecord;
use crate::subagent::SubagentRecord;
use crate::task::{Attempt, DeliveryState, Priority, Progress, Relationship, TaskStatus};
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
        /// Its beginning, where it is long.
        pub text: Option<String>,
        /// The whole of it, where it was too large for the event.
        pub text_ref: Option<OutputRef>,
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
        /// Which rule or policy asks.
        pub policy: Option<String>,
        pub thread_id: ThreadId,
        pub turn_id: Option<TurnId>,
        pub tool_call_id: Option<ToolCallId>,
        pub tool_name: Option<String>,
        pub arguments_digest: Option<String>,
        pub required_at: Timestamp,
        pub timeout_at: Option<Timestamp>,
        /// What becomes of it then.
        pub on_timeout: OnTimeout,
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

    /// `task_snapshot`: what goes on among the tasks of a session.
    pub struct TaskSnapshot {
        pub session_id: SessionId,
        pub root_task_id: Option<TaskId>,
        /// How many tasks stand where, ended ones included. Of the whole session, whatever root was named.
        pub counts: BTreeMap<TaskStatus, u64>,
        pub total: u64,
        /// Accepted, queued, preparing, running or retrying.
        pub active: Vec<TaskSummary>,
        /// Waiting for input, permission or a resource, or paused.
        pub waiting: Vec<TaskSummary>,
        pub blocked: Vec<TaskSummary>,
        pub failed: Vec<TaskSummary>,
        pub lost: Vec<TaskSummary>,
        /// Newest first.
        pub recent_terminal: Vec<TaskSummary>,
        /// The edges among the open tasks that are shown.
        pub graph: Vec<TaskEdge>,
        /// Whether any of the lists was cut at the limit.
        pub truncated: bool,
        pub as_of_sequence: u64,
    }

    /// One task in a snapshot.
    pub struct TaskSummary {
        pub task_id: TaskId,
        pub parent_task_id: Option<TaskId>,
        pub root_task_id: TaskId,
        pub title: Option<String>,
        pub objective: String,
        pub status: TaskStatus,
        pub status_reason: Option<String>,
        pub priority: Priority,
        pub assignee: Option<String>,
        pub current_attempt: Option<Attempt>,
        pub attempt_count: u32,
        pub progress: Option<Progress>,
        pub blocked_by: Vec<TaskId>,
        pub open_children: u64,
        pub delivery_state: DeliveryState,
        pub last_error: Option<Failure>,
        pub updated_at: Timestamp,
    }

    /// An edge between two open tasks.
    pub struct TaskEdge {
        pub from: TaskId,
        pub to: TaskId,
        /// `parent` or `blocks`.
        pub relationship: Relationship,
    }

    /// `subagent_job_summary`: the child agents and jobs of a session, and whether they can be carried on.
    pub struct SubagentJobSummary {
        pub session_id: SessionId,
        pub subagents: Vec<SubagentRecord>,
        pub subagents_total: u64,
        pub jobs: Vec<JobRecord>,
        pub jobs_total: u64,
        /// Threads that child agents or items of jobs work in now.
        pub assigned_threads: Vec<ThreadId>,
        pub recoverability: Vec<Recoverability>,
        pub as_of_sequence: u64,
    }

    /// Whether something can be carried on, and how.
    pub struct Recoverability {
        pub subagent_id: Option<SubagentId>,
        pub job_id: Option<JobId>,
        pub recoverable: bool,
        pub reason: String,
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
