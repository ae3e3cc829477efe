//! Commands that move a task through its life: start, pause, resume, cancel, retry, complete, fail.

use crate::id::*;
use crate::task::*;
use crate::value::Failure;
use crate::wire::wire;

wire! {
    /// Begin the first attempt of a task.
    pub struct StartTask {
        pub task_id: TaskId,
        /// Who will do it, where that is known already: an assignee, or `peer:NAME`. `assignee` means the same. What a queue's
        /// workers or an agent do names nobody else.
        #[serde(alias = "assignee")]
        pub worker: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub input_refs: Vec<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct StartTaskResult {
        pub task_id: TaskId,
        pub run_id: RunId,
        pub attempt_id: AttemptId,
        pub status: TaskStatus,
        pub sequence: u64,
    }

    /// Put a task aside.
    pub struct PauseTask {
        pub task_id: TaskId,
        pub reason: Option<String>,
        #[serde(default)]
        pub propagation: Propagation,
        pub idempotency_key: Option<String>,
    }

    /// Let a paused task go on.
    pub struct ResumeTask {
        pub task_id: TaskId,
        pub reason: Option<String>,
        #[serde(default)]
        pub propagation: Propagation,
        pub idempotency_key: Option<String>,
    }

    /// End a task. Running work settles first.
    pub struct CancelTask {
        pub task_id: TaskId,
        pub reason: Option<String>,
        #[serde(default)]
        pub propagation: Propagation,
        pub idempotency_key: Option<String>,
    }

    /// Where a task stands, and which others the command reached.
    pub struct PropagatedTaskResult {
        pub task_id: TaskId,
        pub status: TaskStatus,
        /// The first of the others it reached; `affected_total` counts those of this commit, and more may follow by
        /// themselves.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub affected_task_ids: Vec<TaskId>,
        pub affected_total: u64,
        pub sequence: u64,
    }

    /// Begin another attempt. The old ones stay.
    pub struct RetryTask {
        pub task_id: TaskId,
        pub reason: String,
        #[serde(default)]
        pub propagation: Propagation,
        pub worker: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub input_refs: Vec<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct RetryTaskResult {
        pub task_id: TaskId,
        pub run_id: RunId,
        pub attempt_id: AttemptId,
        pub attempt_count: u32,
        pub status: TaskStatus,
        pub sequence: u64,
    }

    /// Declare a task complete. Refused with a list while something it needs is missing.
    pub struct CompleteTask {
        pub task_id: TaskId,
        /// The run that did it; an old run is refused.
        pub run_id: Option<RunId>,
        /// The token of the claim, where a worker reports.
        pub lease_token: Option<u64>,
        pub summary: Option<String>,
        /// How the criteria came out; those not named stay as they are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub criteria: Vec<Criterion>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub artifacts: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub evidence_refs: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<String>,
        pub delivery_state: Option<DeliveryState>,
        pub native_status: Option<String>,
        pub idempotency_key: Option<String>,
    }

    /// Declare a task, or its current attempt, failed. Where the retry policy has attempts left another one follows.
    pub struct FailTask {
        pub task_id: TaskId,
        pub run_id: Option<RunId>,
        /// The token of the claim, where a worker reports.
        pub lease_token: Option<u64>,
        pub error: Failure,
        pub native_status: Option<String>,
        pub idempotency_key: Option<String>,
    }
}
