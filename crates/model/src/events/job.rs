//! Facts about batches. The envelope's `job_id` and `job_item_id` say which.

use crate::id::ThreadId;
use crate::job::*;
use crate::value::Failure;
use crate::wire::wire;

wire! {
    /// A batch exists, with all its items.
    pub struct JobCreated {
        pub status: JobStatus,
        pub requested_by: String,
        pub title: Option<String>,
        pub instruction_ref: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub input_refs: Vec<String>,
        pub output_schema_ref: Option<String>,
        pub max_runtime_ms: Option<u64>,
        pub max_concurrency: Option<u32>,
        pub max_item_attempts: Option<u32>,
        pub items: Vec<JobItemInput>,
        pub idempotency_key: Option<String>,
    }

    /// Work on the batch began.
    pub struct JobStarted {
        pub status: JobStatus,
        pub worker: Option<String>,
    }

    /// The batch came further.
    pub struct JobProgress {
        pub progress: JobCounts,
        pub item_cursor: u64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub assigned_threads: Vec<ThreadId>,
        pub message: Option<String>,
    }

    /// Work on one item began.
    pub struct JobItemStarted {
        pub status: JobItemStatus,
        /// From 1.
        pub attempt_count: u32,
        pub worker: Option<String>,
    }

    /// One item is done, or `reported` to whoever asked.
    pub struct JobItemCompleted {
        pub status: JobItemStatus,
        pub attempt_count: u32,
        pub summary: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<String>,
    }

    /// One item failed.
    pub struct JobItemFailed {
        pub status: JobItemStatus,
        pub attempt_count: u32,
        pub error: Failure,
        pub will_retry: bool,
    }

    /// Every item has ended.
    pub struct JobCompleted {
        pub status: JobStatus,
        pub progress: JobCounts,
        pub summary: Option<String>,
    }

    /// The batch as a whole cannot go on: `status` tells `failed` and `timed_out` apart.
    pub struct JobFailed {
        pub status: JobStatus,
        pub error: Failure,
        pub progress: JobCounts,
    }

    /// Somebody stopped the batch. Finished items stay finished.
    pub struct JobCancelled {
        pub status: JobStatus,
        pub cancelled_by: String,
        pub reason: Option<String>,
        pub progress: JobCounts,
    }
}
