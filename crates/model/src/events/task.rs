//! Facts about the life of a task. Attempts, delegation and the graph are in `orchestration`.
//!
//! The envelope's `task_id` says which task; each fact says the status the task has from here on.

use jiff::Timestamp;
use serde_json::Value;

use crate::id::{RunId, TaskId};
use crate::routing::TaskProfile;
use crate::task::*;
use crate::value::{Failure, Metadata};
use crate::wire::{wire, words};

wire! {
    /// A task exists.
    pub struct TaskCreated {
        pub status: TaskStatus,
        pub requested_by: String,
        pub objective: String,
        pub title: Option<String>,
        pub parent_task_id: Option<TaskId>,
        /// Absent where the task is its own root.
        pub root_task_id: Option<TaskId>,
        pub task_kind: Option<String>,
        pub task_family: Option<String>,
        #[serde(default)]
        pub visibility: Visibility,
        #[serde(default)]
        pub priority: Priority,
        pub owner: Option<String>,
        pub assignee: Option<String>,
        #[serde(flatten)]
        pub execution: Execution,
        pub scope: Option<Value>,
        pub constraints: Option<Value>,
        pub task_profile: Option<TaskProfile>,
        pub acceptance: Option<Acceptance>,
        pub retry_policy: Option<RetryPolicy>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub input_refs: Vec<String>,
        /// The fact behind this one that says what its agent is given, where that is more than the objective.
        pub input_sequence: Option<u64>,
        pub idempotency_key: Option<String>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
    }

    /// Somebody took the task on.
    pub struct TaskAccepted {
        pub status: TaskStatus,
        pub accepted_by: String,
    }

    /// The task waits for its turn.
    pub struct TaskQueued {
        pub status: TaskStatus,
        pub reason: Option<String>,
        /// Tasks that have to end first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub behind: Vec<TaskId>,
    }

    /// Work began. The envelope names the run.
    pub struct TaskStarted {
        pub status: TaskStatus,
        pub started_by: String,
        pub attempt_count: u32,
        pub native_status: Option<String>,
    }

    /// The task's own data changed. Absent means unchanged.
    #[derive(Default)]
    pub struct TaskUpdated {
        pub updated_by: String,
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
        /// The whole new metadata.
        pub metadata: Option<Metadata>,
    }

    /// The task came further.
    pub struct TaskProgress {
        pub reported_by: String,
        pub native_status: Option<String>,
        #[serde(flatten)]
        pub progress: Progress,
    }

    /// The task waits for input, permission or a resource: `status` says which, the envelope's `action_id` for whom.
    pub struct TaskWaiting {
        pub status: TaskStatus,
        pub reason: Option<String>,
        /// The credential, quota, file, host or worker that is not there.
        pub resource: Option<String>,
        pub native_status: Option<String>,
    }

    /// Something is missing.
    pub struct TaskBlocked {
        pub status: TaskStatus,
        pub reason: Option<String>,
        pub blockers: Vec<Blocker>,
    }

    /// The task was put aside.
    pub struct TaskPaused {
        pub status: TaskStatus,
        pub previous_status: TaskStatus,
        pub paused_by: String,
        pub reason: Option<String>,
        #[serde(default)]
        pub propagation: Propagation,
        /// The task whose order reached this one.
        pub origin_task_id: Option<TaskId>,
    }

    /// The task goes on.
    pub struct TaskResumed {
        pub status: TaskStatus,
        pub resumed_by: String,
        pub reason: Option<String>,
        #[serde(default)]
        pub propagation: Propagation,
        pub origin_task_id: Option<TaskId>,
    }

    /// Another attempt is coming. The old one stays as it is. Where `retry_at` is absent it begins at once.
    pub struct TaskRetrying {
        pub status: TaskStatus,
        pub cause: AttemptCause,
        pub requested_by: String,
        pub reason: Option<String>,
        /// The attempt that is coming, from 1.
        pub attempt_count: u32,
        pub previous_run_id: Option<RunId>,
        pub retry_at: Option<Timestamp>,
    }

    /// Somebody wants the task to end. It sticks: no child is added below from here on.
    pub struct TaskCancelRequested {
        pub status: TaskStatus,
        pub requested_by: String,
        pub reason: Option<String>,
        pub propagation: Propagation,
        pub origin_task_id: Option<TaskId>,
        /// Until when work under way may settle by itself.
        pub settle_by: Option<Timestamp>,
        /// Whether what has not begun below it is cancelled too, wherever the order itself ends. It was not in older versions.
        #[serde(default)]
        pub ends_unbegun: bool,
    }

    /// The task ended because somebody wanted it to.
    pub struct TaskCancelled {
        pub status: TaskStatus,
        pub cancelled_by: String,
        pub reason: Option<String>,
    }

    /// The task ended because its time was over.
    pub struct TaskTimedOut {
        pub status: TaskStatus,
        pub budget: TimeBudget,
        pub limit_ms: u64,
        pub error: Failure,
    }

    /// The task ended without its objective.
    pub struct TaskFailed {
        pub status: TaskStatus,
        pub error: Failure,
        pub failed_by: String,
        pub native_status: Option<String>,
    }

    /// Nobody can say whether the worker is still alive. Neither failed nor completed.
    pub struct TaskLost {
        pub status: TaskStatus,
        pub reason: String,
        pub worker: Option<String>,
        pub last_seen_at: Option<Timestamp>,
    }

    /// The owner declared the work complete and its facts are reconciled.
    pub struct TaskCompleted {
        pub status: TaskStatus,
        pub completed_by: String,
        pub summary: Option<String>,
        /// How each criterion came out.
        pub acceptance: Option<Acceptance>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub artifacts: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub evidence_refs: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<String>,
        pub delivery_state: DeliveryState,
        pub native_status: Option<String>,
    }

    /// A task that had ended and left memory is worked with again: what was known of it, as it was.
    pub struct TaskRecalled {
        pub record: TaskRow,
    }

    /// The task is out of the lists.
    pub struct TaskArchived {
        pub status: TaskStatus,
        pub previous_status: TaskStatus,
        pub archived_by: String,
        pub reason: Option<String>,
    }
}

words! {
    /// Which time was over.
    pub enum TimeBudget {
        Duration,
        Inactivity,
    }
}
