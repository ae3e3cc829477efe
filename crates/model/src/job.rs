//! Jobs: batches of items that are worked on in the background (CONTRACT, "Jobs").

use jiff::Timestamp;
use serde_json::Value;

use crate::commands::NewJobItem;
use crate::id::*;
use crate::task::Execution;
use crate::value::Failure;
use crate::wire::{record, wire, words};

record! {
    /// A batch as it stands now. Items come by page.
    pub struct JobRecord {
        pub job_id: JobId,
        pub session_id: SessionId,
        pub task_id: Option<TaskId>,
        pub title: Option<String>,
        pub status: JobStatus,
        pub requested_by: String,
        /// Where the instruction is; `inline:` and a digest where it came as text, which stands in `job.created`.
        pub instruction_ref: String,
        /// The beginning of an instruction that came as text.
        pub instruction_preview: Option<String>,
        #[serde(flatten)]
        pub execution: Execution,
        pub schedule_id: Option<ScheduleId>,
        #[serde(default)]
        pub input_refs: Vec<String>,
        pub output_schema_ref: Option<String>,
        /// In milliseconds.
        #[serde(rename = "max_runtime", alias = "max_runtime_ms")]
        pub max_runtime_ms: Option<u64>,
        pub max_concurrency: u32,
        pub max_item_attempts: u32,
        /// So many items, from the first, have been handed out at least once.
        pub item_cursor: u64,
        pub progress: JobCounts,
        #[serde(default)]
        pub assigned_threads: Vec<ThreadId>,
        pub last_error: Option<Failure>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub started_at: Option<Timestamp>,
        pub ended_at: Option<Timestamp>,
        pub as_of_sequence: u64,
    }

    /// One item as it stands now.
    pub struct JobItem {
        pub job_item_id: JobItemId,
        /// Its place among the items, from 1.
        pub number: u64,
        pub status: JobItemStatus,
        /// Attempts that began.
        pub attempt_count: u32,
        /// Whether another attempt may help, as far as is known.
        pub retryable: bool,
        /// The newest attempt.
        pub run_id: Option<RunId>,
        /// Where an agent works, or worked, on it.
        pub thread_id: Option<ThreadId>,
        pub turn_id: Option<TurnId>,
        /// The worker that has, or had, it.
        pub worker: Option<String>,
        pub summary: Option<String>,
        #[serde(default)]
        pub output_refs: Vec<String>,
        /// Why the attempt before, or the last one, failed.
        pub last_error: Option<Failure>,
        pub updated_at: Timestamp,
    }
}

wire! {
    /// What one item is about.
    #[derive(Eq)]
    pub struct JobItemInput {
        pub job_item_id: JobItemId,
        /// The input itself, where it is small.
        pub arguments: Option<Value>,
        pub input_ref: Option<String>,
    }

    /// When jobs are made, and from what.
    pub struct Schedule {
        pub title: Option<String>,
        /// Five fields as in cron: minute, hour, day of month, month, day of week.
        pub cron: Option<String>,
        /// In which `cron` is meant, such as `Europe/Vienna`; UTC where absent.
        pub time_zone: Option<String>,
        /// Every so many milliseconds, counted from `start_at`.
        pub every_ms: Option<u64>,
        /// Not before; now where absent.
        pub start_at: Option<Timestamp>,
        /// Not after.
        pub end_at: Option<Timestamp>,
        #[serde(default)]
        pub missed: MissedRuns,
        /// What to do while the job before is still at work.
        #[serde(default)]
        pub overlap: Overlap,
        pub job: JobTemplate,
    }

    /// What each job of a schedule is.
    pub struct JobTemplate {
        pub title: Option<String>,
        /// What to do with each item.
        pub instruction: String,
        #[serde(flatten)]
        pub execution: Execution,
        /// What each item is about; at least one, and one without arguments where it is absent.
        #[serde(default = "crate::commands::one_item")]
        pub items: Vec<NewJobItem>,
        /// In milliseconds. `max_runtime_ms` means the same.
        #[serde(rename = "max_runtime", alias = "max_runtime_ms")]
        pub max_runtime_ms: Option<u64>,
        pub max_concurrency: Option<u32>,
        pub max_item_attempts: Option<u32>,
    }

    /// A schedule as it stands now.
    pub struct ScheduleRecord {
        pub schedule_id: ScheduleId,
        pub session_id: SessionId,
        pub requested_by: String,
        #[serde(flatten)]
        pub schedule: Schedule,
        /// When it is due next; absent once it has ended.
        pub next_at: Option<Timestamp>,
        pub last_at: Option<Timestamp>,
        pub last_job_id: Option<JobId>,
        pub jobs_made: u64,
        /// Due times that passed without a job of their own.
        pub missed_total: u64,
        pub created_at: Timestamp,
        pub ended_at: Option<Timestamp>,
    }

    /// How many items stand where.
    #[derive(Default, Eq)]
    pub struct JobCounts {
        pub total: u64,
        pub pending: u64,
        pub running: u64,
        pub completed: u64,
        pub failed: u64,
        pub reported: u64,
    }
}

words! {
    pub enum JobStatus {
        Created,
        Queued,
        Running,
        Paused,
        Cancelling,
        Completed,
        Failed,
        Cancelled,
        TimedOut,
        Unknown,
    }

    /// What to do about times that passed while nobody was there.
    #[derive(Default)]
    pub enum MissedRuns {
        /// One job for all of them.
        #[default]
        Once,
        /// Nothing; wait for the next time.
        Skip,
        /// A job for each, oldest first; of more than `schedule_catch_up_max` only the newest.
        All,
    }

    #[derive(Default)]
    pub enum Overlap {
        /// Make the next job beside it.
        #[default]
        Allow,
        /// Leave this time out.
        Skip,
    }

    pub enum JobItemStatus {
        Pending,
        Running,
        Completed,
        Failed,
        /// Its worker reported a result and has not handed the run in: it still holds it, or never came to.
        Reported,
    }
}

impl JobCounts {
    /// Items that have come to something.
    pub fn ended(&self) -> u64 {
        self.completed + self.failed + self.reported
    }
}

impl JobStatus {
    /// Whether nothing more will happen by itself.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::TimedOut)
    }
}
