//! Commands about batches.

use serde_json::Value;

use crate::id::*;
use crate::job::*;
use crate::wire::wire;

wire! {
    /// Create a batch. It starts by itself.
    pub struct CreateJob {
        pub session_id: Option<SessionId>,
        pub task_id: Option<TaskId>,
        /// Your own stable id makes the call safe to repeat.
        pub job_id: Option<JobId>,
        pub title: Option<String>,
        /// What to do with each item: text, or a ref to it.
        pub instruction: Option<String>,
        pub instruction_ref: Option<String>,
        pub agent: Option<String>,
        pub items: Vec<NewJobItem>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub input_refs: Vec<String>,
        pub output_schema_ref: Option<String>,
        pub max_runtime_ms: Option<u64>,
        pub max_concurrency: Option<u32>,
        pub max_item_attempts: Option<u32>,
        pub idempotency_key: Option<String>,
    }

    /// One item of a batch that is about to exist.
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

    /// Batches of the account, newest first.
    pub struct ListJobs {
        pub session_id: Option<SessionId>,
        pub thread_id: Option<ThreadId>,
        pub task_id: Option<TaskId>,
        /// Any of these.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
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
        /// How many items to show.
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
}
