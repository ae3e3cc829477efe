//! Commands about batches.

use serde_json::Value;

use crate::id::*;
use crate::job::*;
use crate::task::Execution;
use crate::wire::{one_or_many, wire};

wire! {
    /// Create a batch. It starts by itself.
    pub struct CreateJob {
        /// The task's, or a new one, where none is named.
        pub session_id: Option<SessionId>,
        /// The task it is a part of.
        pub task_id: Option<TaskId>,
        /// Your own stable id makes the call safe to repeat.
        pub job_id: Option<JobId>,
        pub title: Option<String>,
        /// What to do with each item: text, or a ref to it.
        pub instruction: Option<String>,
        pub instruction_ref: Option<String>,
        /// Who works on the items; the default agent where neither a queue nor an agent is named.
        #[serde(flatten)]
        pub execution: Execution,
        /// At least one; one without arguments where it is absent.
        #[serde(default = "one_item")]
        pub items: Vec<NewJobItem>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub input_refs: Vec<String>,
        pub output_schema_ref: Option<String>,
        /// The batch ends as `timed_out` where it is still at work after so many milliseconds. `max_runtime_ms` means the
        /// same.
        #[serde(rename = "max_runtime", alias = "max_runtime_ms")]
        pub max_runtime_ms: Option<u64>,
        /// Items at work at once; 8 where absent.
        pub max_concurrency: Option<u32>,
        /// Attempts of one item, the first one included; 1 where absent. More say that an item may be done twice: they
        /// follow a failure that may be retried and a worker that vanished.
        pub max_item_attempts: Option<u32>,
        pub idempotency_key: Option<String>,
    }

    /// One item of a batch that is about to exist.
    #[derive(Default)]
    pub struct NewJobItem {
        pub job_item_id: Option<JobItemId>,
        pub arguments: Option<Value>,
        pub input_ref: Option<String>,
    }

    pub struct CreateJobResult {
        pub job_id: JobId,
        pub session_id: SessionId,
        pub task_id: Option<TaskId>,
        pub status: JobStatus,
        pub items_total: u64,
        pub sequence: u64,
    }

    /// Batches of the account, newest first. With filters a page may show fewer than `limit` and still have a next one.
    pub struct ListJobs {
        pub session_id: Option<SessionId>,
        /// Those that work, or worked, in this thread.
        pub thread_id: Option<ThreadId>,
        pub task_id: Option<TaskId>,
        /// Any of these; one may be named alone.
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
        pub status: Vec<JobStatus>,
        /// 1 to 200; 50 where absent.
        pub limit: Option<u32>,
        pub cursor: Option<String>,
    }

    pub struct ListJobsResult {
        pub jobs: Vec<JobRecord>,
        pub next_cursor: Option<String>,
    }

    /// One batch with a page of its items.
    pub struct GetJob {
        pub job_id: JobId,
        pub item_status: Option<JobItemStatus>,
        /// How many items to show at most: 1 to 200; 50 where absent. With `item_status` a page may show fewer and still
        /// have a next one.
        pub item_limit: Option<u32>,
        /// Where the next page of items starts.
        pub item_cursor: Option<String>,
    }

    pub struct GetJobResult {
        pub job: JobRecord,
        pub items: Vec<JobItem>,
        pub next_item_cursor: Option<String>,
    }

    /// Stop a batch. Finished items stay finished.
    pub struct CancelJob {
        pub job_id: JobId,
        pub reason: Option<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct CancelJobResult {
        pub job_id: JobId,
        pub status: JobStatus,
        pub progress: JobCounts,
        pub sequence: u64,
    }

    /// Try one item again, alone: one that failed, or one that an ended batch never came to. A batch that has ended runs
    /// again until the item has.
    pub struct RetryJobItem {
        pub job_id: JobId,
        pub job_item_id: JobItemId,
        pub reason: Option<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct RetryJobItemResult {
        pub job_id: JobId,
        pub job_item_id: JobItemId,
        pub status: JobItemStatus,
        pub attempt_count: u32,
        pub sequence: u64,
    }

    /// Make jobs at given times.
    pub struct CreateSchedule {
        /// A new session where none is named.
        pub session_id: Option<SessionId>,
        /// Your own stable id makes the call safe to repeat.
        pub schedule_id: Option<ScheduleId>,
        #[serde(flatten)]
        pub schedule: Schedule,
        pub idempotency_key: Option<String>,
    }

    pub struct CreateScheduleResult {
        pub schedule_id: ScheduleId,
        pub session_id: SessionId,
        pub next_at: Option<jiff::Timestamp>,
        pub sequence: u64,
    }

    /// Schedules of the account, newest first.
    pub struct ListSchedules {
        pub session_id: Option<SessionId>,
        /// Ended ones too.
        #[serde(default)]
        pub include_ended: bool,
        /// 1 to 200; 50 where absent.
        pub limit: Option<u32>,
        pub cursor: Option<String>,
    }

    pub struct ListSchedulesResult {
        pub schedules: Vec<ScheduleRecord>,
        pub next_cursor: Option<String>,
    }

    /// Stop a schedule. Jobs it made go on.
    pub struct EndSchedule {
        pub schedule_id: ScheduleId,
        pub reason: Option<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct EndScheduleResult {
        pub schedule_id: ScheduleId,
        pub sequence: u64,
    }

    /// The child agents and jobs of a session at a glance.
    pub struct GetSubagentJobSummary {
        pub session_id: SessionId,
        /// How many of each to show: 1 to 200; 50 where absent.
        pub limit: Option<u32>,
    }
}

/// The result is the read model itself.
pub type GetSubagentJobSummaryResult = crate::read::SubagentJobSummary;

/// What a job is about where nobody says what its items are.
pub(crate) fn one_item() -> Vec<NewJobItem> {
    vec![NewJobItem::default()]
}
