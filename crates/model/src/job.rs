//! Jobs: batches of items that are worked on in the background (CONTRACT, "Jobs").

use jiff::Timestamp;
use serde_json::Value;

use crate::id::*;
use crate::value::Failure;
use crate::wire::{wire, words};

wire! {
    /// A batch as it stands now. Items come by page.
    pub struct JobRecord {
        pub job_id: JobId,
        pub session_id: SessionId,
        pub task_id: Option<TaskId>,
        pub title: Option<String>,
        pub status: JobStatus,
        pub requested_by: String,
        pub instruction_ref: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub input_refs: Vec<String>,
        pub output_schema_ref: Option<String>,
        pub max_runtime_ms: Option<u64>,
        /// The items before it have been handed out.
        pub item_cursor: u64,
        pub progress: JobCounts,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
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
        pub status: JobItemStatus,
        pub attempt_count: u32,
        pub retryable: bool,
        pub thread_id: Option<ThreadId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<String>,
        pub last_error: Option<Failure>,
        pub updated_at: Timestamp,
    }

    /// What one item is about.
    pub struct JobItemInput {
        pub job_item_id: JobItemId,
        /// The input itself, where it is small.
        pub arguments: Option<Value>,
        pub input_ref: Option<String>,
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

    pub enum JobItemStatus {
        Pending,
        Running,
        Completed,
        Failed,
        /// Its outcome reached whoever asked for the job.
        Reported,
    }
}

impl JobStatus {
    /// Whether nothing more will happen by itself.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::TimedOut)
    }
}
