//! Commands about tasks: making, changing, reading and linking them. Their lifecycle is in `task_lifecycle`.

use serde_json::Value;

use crate::id::*;
use crate::routing::TaskProfile;
use crate::task::*;
use crate::value::Metadata;
use crate::wire::{one_or_many, wire};

wire! {
    /// Create a task. A missing session is created.
    pub struct CreateTask {
        /// That of the parent, or of what it waits for, or a new one where none is named.
        pub session_id: Option<SessionId>,
        pub thread_id: Option<ThreadId>,
        pub turn_id: Option<TurnId>,
        pub parent_task_id: Option<TaskId>,
        /// Your own stable id makes the call safe to repeat.
        pub task_id: Option<TaskId>,
        pub title: Option<String>,
        pub objective: String,
        pub task_kind: Option<String>,
        pub task_family: Option<String>,
        /// `draft`, `accepted` or `queued`; `accepted` where absent.
        pub status: Option<TaskStatus>,
        pub visibility: Option<Visibility>,
        pub priority: Option<Priority>,
        pub owner: Option<String>,
        pub assignee: Option<String>,
        #[serde(flatten)]
        pub execution: Execution,
        /// What the task may touch, in your words.
        pub scope: Option<Value>,
        pub constraints: Option<Value>,
        pub task_profile: Option<TaskProfile>,
        pub acceptance: Option<Acceptance>,
        pub retry_policy: Option<RetryPolicy>,
        /// Tasks that have to complete first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub blocked_by: Vec<TaskId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub input_refs: Vec<String>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
        pub idempotency_key: Option<String>,
    }

    pub struct CreateTaskResult {
        pub task_id: TaskId,
        pub session_id: SessionId,
        pub status: TaskStatus,
        pub sequence: u64,
    }

    /// Change a task's own data. Absent means unchanged.
    pub struct UpdateTask {
        pub task_id: TaskId,
        /// Only moves that are legal from the current status.
        pub status: Option<TaskStatus>,
        pub native_status: Option<String>,
        pub status_reason: Option<String>,
        pub title: Option<String>,
        pub objective: Option<String>,
        pub visibility: Option<Visibility>,
        pub priority: Option<Priority>,
        pub owner: Option<String>,
        pub assignee: Option<String>,
        pub scope: Option<Value>,
        pub constraints: Option<Value>,
        pub task_profile: Option<TaskProfile>,
        pub acceptance: Option<Acceptance>,
        pub retry_policy: Option<RetryPolicy>,
        pub delivery_state: Option<DeliveryState>,
        /// Replaces the whole metadata.
        pub metadata: Option<Metadata>,
        pub idempotency_key: Option<String>,
    }

    /// Where a task stands after a command.
    pub struct TaskResult {
        pub task_id: TaskId,
        pub status: TaskStatus,
        pub sequence: u64,
    }

    /// Report how far a task has come.
    pub struct AppendTaskProgress {
        pub task_id: TaskId,
        /// The run that reports; an old run is refused.
        pub run_id: Option<RunId>,
        /// The token of the claim, where a worker reports.
        pub lease_token: Option<u64>,
        pub native_status: Option<String>,
        #[serde(flatten)]
        pub progress: Progress,
        pub idempotency_key: Option<String>,
    }

    /// One task with all its attempts and edges.
    pub struct GetTask {
        pub task_id: TaskId,
        /// As it was at this sequence; the newest where absent. An older state is folded from the log: it takes time with the
        /// number of events before it, and is refused when `request_timeout_ms` is over.
        pub as_of: Option<u64>,
    }

    /// Tasks of the account, newest first.
    pub struct ListTasks {
        #[serde(default)]
        pub filters: TaskFilters,
        /// The same, beside `limit` and `cursor`; what stands in `filters` counts more.
        #[serde(flatten)]
        pub beside: TaskFilters,
        /// 1 to 200; 50 where absent.
        pub limit: Option<u32>,
        pub cursor: Option<String>,
    }

    /// Which tasks to list. Absent means any.
    #[derive(Default)]
    pub struct TaskFilters {
        pub session_id: Option<SessionId>,
        pub thread_id: Option<ThreadId>,
        pub parent_task_id: Option<TaskId>,
        pub root_task_id: Option<TaskId>,
        /// Any of these; one may be named alone.
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
        pub status: Vec<TaskStatus>,
        pub task_kind: Option<String>,
        pub visibility: Option<Visibility>,
        pub owner: Option<String>,
        pub assignee: Option<String>,
    }

    /// What goes on among the tasks of a session.
    pub struct GetTaskSnapshot {
        pub session_id: SessionId,
        /// Only this task and what is below it.
        pub root_task_id: Option<TaskId>,
        /// How many tasks of each kind to show: 1 to 200; 50 where absent.
        pub limit: Option<u32>,
    }

    pub struct ListTasksResult {
        pub tasks: Vec<TaskRecord>,
        pub next_cursor: Option<String>,
    }

    /// Add an edge to the task graph. Reads from left to right: `from` blocks `to`.
    pub struct LinkTasks {
        pub from: TaskId,
        /// A task, or whatever the relationship points at: a run, subagent, thread, artifact or evidence id.
        pub to: String,
        pub relationship: Relationship,
        pub reason: Option<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct LinkTasksResult {
        pub sequence: u64,
    }

    /// Take an edge out of the task graph. The log keeps it.
    pub struct UnlinkTasks {
        pub from: TaskId,
        pub to: String,
        pub relationship: Relationship,
        pub reason: Option<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct UnlinkTasksResult {
        pub sequence: u64,
    }
}

/// The result is the record itself.
pub type GetTaskResult = TaskRecord;

/// The result is the read model itself.
pub type GetTaskSnapshotResult = crate::read::TaskSnapshot;

impl TaskFilters {
    /// What one of two says, and what the other says where it says nothing.
    pub fn or(self, other: Self) -> Self {
        Self {
            session_id: self.session_id.or(other.session_id),
            thread_id: self.thread_id.or(other.thread_id),
            parent_task_id: self.parent_task_id.or(other.parent_task_id),
            root_task_id: self.root_task_id.or(other.root_task_id),
            status: if self.status.is_empty() { other.status } else { self.status },
            task_kind: self.task_kind.or(other.task_kind),
            visibility: self.visibility.or(other.visibility),
            owner: self.owner.or(other.owner),
            assignee: self.assignee.or(other.assignee),
        }
    }
}
