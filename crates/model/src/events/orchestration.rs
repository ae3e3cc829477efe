//! Facts about the task graph: attempts, delegation and edges.

use crate::id::{RunId, TaskId};
use crate::task::*;
use crate::value::{Failure, Usage};
use crate::wire::{wire, words};

wire! {
    /// Work was handed on. A subagent, job or channel it went to is in the envelope.
    pub struct TaskDelegated {
        pub delegated_by: String,
        pub delegate: DelegateKind,
        /// The worker, agent, thread or peer it went to.
        pub delegate_ref: String,
        pub child_task_id: Option<TaskId>,
        /// A worker's hold on the run in the envelope.
        pub lease: Option<Lease>,
        pub reason: Option<String>,
    }

    /// A worker gave a run back; it waits for the next one.
    pub struct RunReleased {
        pub released_by: String,
        pub reason: Option<String>,
    }

    /// An edge of the task graph changed.
    pub struct TaskDependencyUpdated {
        pub change: EdgeChange,
        pub changed_by: String,
        pub edge: Edge,
    }

    /// An execution began. The envelope has its `run_id` and `attempt_id`.
    pub struct TaskAttemptStarted {
        pub status: AttemptStatus,
        /// From 1.
        pub attempt_count: u32,
        pub cause: AttemptCause,
        pub previous_run_id: Option<RunId>,
        pub worker: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub input_refs: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub checkpoint_refs: Vec<String>,
        pub retry_policy: Option<RetryPolicy>,
        #[serde(flatten)]
        pub execution: Execution,
        #[serde(default)]
        pub priority: Priority,
    }

    /// An execution ended well. That alone does not complete the task.
    pub struct TaskAttemptCompleted {
        pub status: AttemptStatus,
        pub attempt_count: u32,
        pub completion_summary: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub checkpoint_refs: Vec<String>,
        pub usage: Option<Usage>,
    }

    /// An execution ended otherwise: `status` tells `failed`, `cancelled`, `timed_out` and `lost` apart.
    pub struct TaskAttemptFailed {
        pub status: AttemptStatus,
        pub attempt_count: u32,
        pub error: Failure,
        pub next_attempt: NextAttempt,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub checkpoint_refs: Vec<String>,
        pub usage: Option<Usage>,
    }
}

words! {
    /// What kind of worker a task went to.
    pub enum DelegateKind {
        Subagent,
        Thread,
        Worker,
        Job,
        Peer,
    }

    pub enum EdgeChange {
        Added,
        Updated,
        Satisfied,
        Removed,
    }

    /// What follows a failed attempt.
    pub enum NextAttempt {
        /// Nothing: the failure is final or the attempts are used up.
        None,
        /// The retry policy starts another one.
        Policy,
        /// Somebody has to ask for it.
        Manual,
        /// The process ended, and the next start carries on what it was at.
        Recovery,
    }
}
