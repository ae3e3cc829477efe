//! Facts about batches. The envelope's `job_id` and `job_item_id` say which.

use jiff::Timestamp;

use crate::id::{JobId, ScheduleId, ThreadId};
use crate::job::*;
use crate::task::{AttemptCause, Execution, Lease};
use crate::value::Failure;
use crate::wire::wire;

wire! {
    /// A batch exists, with all its items.
    pub struct JobCreated {
        pub status: JobStatus,
        pub requested_by: String,
        pub title: Option<String>,
        pub instruction_ref: String,
        /// The instruction itself, where it came as text.
        pub instruction: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub input_refs: Vec<String>,
        pub output_schema_ref: Option<String>,
        /// In milliseconds.
        #[serde(rename = "max_runtime", alias = "max_runtime_ms")]
        pub max_runtime_ms: Option<u64>,
        pub max_concurrency: u32,
        pub max_item_attempts: u32,
        #[serde(flatten)]
        pub execution: Execution,
        /// The schedule that made it.
        pub schedule_id: Option<ScheduleId>,
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

    /// An item waits for a worker, as the run in the envelope.
    pub struct JobItemQueued {
        pub status: JobItemStatus,
        /// The item's place in the batch, from 1.
        pub number: u64,
        /// Which attempt it will be, from 1.
        pub attempt_count: u32,
    }

    /// Work on one item began. A turn of an agent that does it is in the envelope.
    pub struct JobItemStarted {
        pub status: JobItemStatus,
        pub number: u64,
        /// From 1.
        pub attempt_count: u32,
        /// `crash_recovery` where it carries on what the attempt before did when its process ended.
        pub cause: Option<AttemptCause>,
        pub worker: Option<String>,
        /// A worker's hold on the run in the envelope.
        pub lease: Option<Lease>,
    }

    /// A worker said what an item came to and has not handed its run in yet. What follows counts more: the run completes,
    /// fails or is given back; where it is never heard of again, this is what is known.
    pub struct JobItemReported {
        pub status: JobItemStatus,
        pub number: u64,
        pub attempt_count: u32,
        pub worker: Option<String>,
        pub summary: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<String>,
    }

    /// One item is done.
    pub struct JobItemCompleted {
        pub status: JobItemStatus,
        pub number: u64,
        pub attempt_count: u32,
        pub worker: Option<String>,
        pub summary: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<String>,
    }

    /// An attempt of one item failed. `status` is `pending` where another one follows, `reported` where it was cut off behind
    /// its result, `failed` otherwise.
    pub struct JobItemFailed {
        pub status: JobItemStatus,
        pub number: u64,
        pub attempt_count: u32,
        pub worker: Option<String>,
        pub error: Failure,
        pub will_retry: bool,
        /// When the next attempt may begin.
        pub retry_at: Option<Timestamp>,
        /// What it had reported.
        pub summary: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<String>,
        /// Where the next attempt may go on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub checkpoint_refs: Vec<String>,
    }

    /// One item will be tried again: its wait is over, or somebody asked for it.
    pub struct JobItemRetrying {
        pub status: JobItemStatus,
        /// Where it stood before.
        pub was: JobItemStatus,
        pub number: u64,
        /// Attempts so far.
        pub attempt_count: u32,
        pub requested_by: String,
        pub reason: Option<String>,
        /// What the item is about, where it had ended and is taken up again.
        pub input: Option<JobItemInput>,
        pub last_error: Option<Failure>,
        /// The batch, where it had ended too and runs again for this item.
        pub reopened: Option<ReopenedJob>,
    }

    /// A batch that had ended, as it goes on.
    pub struct ReopenedJob {
        pub job: JobRecord,
        /// Where its `job.created` is.
        pub created_sequence: u64,
        pub instruction: Option<String>,
    }

    /// Somebody, or the time, wants a batch to end. Workers that hold items of it are told and have a while to settle.
    pub struct JobCancelRequested {
        pub status: JobStatus,
        pub requested_by: String,
        pub reason: Option<String>,
        /// `cancelled` or `timed_out`: what the batch becomes.
        pub becomes: JobStatus,
        /// What workers have not settled by then is taken from them.
        pub settle_until: Timestamp,
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

wire! {
    /// Jobs will be made from a template, again and again.
    pub struct JobScheduled {
        pub schedule_id: ScheduleId,
        pub requested_by: String,
        pub schedule: Schedule,
        pub next_at: Option<Timestamp>,
        pub idempotency_key: Option<String>,
    }

    /// A schedule's time came.
    pub struct JobScheduleFired {
        pub schedule_id: ScheduleId,
        /// When it was due.
        pub due_at: Timestamp,
        /// Due times up to `due_at` that passed without a job of their own.
        pub missed: u64,
        /// The job it made; absent where it was skipped.
        pub job_id: Option<JobId>,
        pub reason: Option<String>,
        pub next_at: Option<Timestamp>,
    }

    /// A schedule makes no more jobs.
    pub struct JobScheduleEnded {
        pub schedule_id: ScheduleId,
        pub ended_by: String,
        pub reason: Option<String>,
    }
}
