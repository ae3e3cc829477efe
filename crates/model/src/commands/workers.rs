//! Commands of workers outside the process: claim a run, keep it, report on it, end it. How they enroll is in `channels`.
//!
//! A claim is a lease. It is kept by heartbeats and carries a token that rises with every claim, so a worker that was
//! given up can be told from the one that took over: its reports are refused and recorded.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::id::*;
use crate::task::*;
use crate::value::{Failure, Metadata, Usage};
use crate::wire::wire;

wire! {
    /// Take runs to work on. Waits for one where there is none.
    pub struct ClaimRuns {
        /// The worker, as it enrolled.
        pub channel_id: ChannelId,
        /// Only from these of its queues.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub queues: Vec<String>,
        /// 1 to 100; 1 where absent.
        pub max: Option<u32>,
        /// How long a run is kept without a heartbeat; 30 seconds where absent.
        pub lease_ms: Option<u64>,
        /// How long to wait for a run; not at all where absent, at most a minute.
        pub wait_ms: Option<u64>,
        /// Makes a claim whose answer was lost safe to repeat.
        pub idempotency_key: Option<String>,
    }

    pub struct ClaimRunsResult {
        /// None where the time was over first.
        pub runs: Vec<ClaimedRun>,
        pub sequence: u64,
    }

    /// A run and what there is to do.
    pub struct ClaimedRun {
        pub run_id: RunId,
        pub attempt_id: AttemptId,
        pub attempt_count: u32,
        pub session_id: SessionId,
        pub task_id: Option<TaskId>,
        pub job_id: Option<JobId>,
        pub job_item_id: Option<JobItemId>,
        pub queue: String,
        /// Shown with every report.
        pub lease_token: u64,
        pub lease_expires_at: Timestamp,
        pub title: Option<String>,
        /// A task's objective, a job's instruction.
        pub objective: String,
        /// What one item of a job is about.
        pub arguments: Option<Value>,
        pub scope: Option<Value>,
        pub constraints: Option<Value>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub input_refs: Vec<String>,
        /// What the result of a job's item has to look like.
        pub output_schema_ref: Option<String>,
        /// Where an earlier attempt left off.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub checkpoint_refs: Vec<String>,
        pub timeout_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
    }

    /// Keep a run.
    pub struct HeartbeatRun {
        pub run_id: RunId,
        pub lease_token: u64,
        /// Not needed: a heartbeat writes nothing, and a repeat is one more.
        pub idempotency_key: Option<String>,
    }

    pub struct HeartbeatRunResult {
        pub run_id: RunId,
        pub lease_expires_at: Timestamp,
        /// Somebody wants the work to end: finish or fail the run.
        pub cancel_requested: bool,
        /// Somebody put the task aside.
        pub paused: bool,
        /// The newest fact of the session: a heartbeat writes none.
        pub sequence: u64,
    }

    /// Say what a run does: progress, steps, model and tool facts, artifacts. All of it or none is recorded.
    pub struct ReportRun {
        pub run_id: RunId,
        pub lease_token: u64,
        pub progress: Option<Progress>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub checkpoint_refs: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub facts: Vec<ReportedFact>,
        /// What an item of a job came to. The item is `reported` from here on; `complete_run` hands it in.
        pub result: Option<ReportedResult>,
        pub idempotency_key: Option<String>,
    }

    /// What a run came to, before it is handed in.
    #[derive(Eq)]
    pub struct ReportedResult {
        pub summary: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<String>,
    }

    /// An event as a worker saw it happen.
    pub struct ReportedFact {
        /// `run.status`, or one of the classes that begin with `model.`, `reasoning.`, `tool.`, `artifact.` or `output.`.
        pub r#type: String,
        pub payload: Value,
        pub step_id: Option<StepId>,
        pub tool_call_id: Option<ToolCallId>,
        pub model_request_id: Option<ModelRequestId>,
        pub artifact_id: Option<ArtifactId>,
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        pub refs: Map<String, Value>,
    }

    /// Where a run stands after a report.
    pub struct RunResult {
        pub run_id: RunId,
        pub task_id: Option<TaskId>,
        pub status: AttemptStatus,
        /// Where its task stands.
        pub task_status: Option<TaskStatus>,
        pub cancel_requested: bool,
        pub sequence: u64,
    }

    /// A run ended well. Whether that completes its task is its owner's to say.
    pub struct CompleteRun {
        pub run_id: RunId,
        pub lease_token: u64,
        /// What was reported of a job's item before, where neither this nor `output_refs` says anything.
        pub summary: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<String>,
        /// Artifacts of the task that it made, by name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub artifacts: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub evidence_refs: Vec<String>,
        /// How the task's criteria came out.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub criteria: Vec<Criterion>,
        pub usage: Option<Usage>,
        pub idempotency_key: Option<String>,
    }

    /// A run ended otherwise. The retry policy says what follows.
    pub struct FailRun {
        pub run_id: RunId,
        pub lease_token: u64,
        pub error: Failure,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub checkpoint_refs: Vec<String>,
        pub usage: Option<Usage>,
        pub idempotency_key: Option<String>,
    }

    /// Give a run back before anything was done; the next worker gets it.
    pub struct ReleaseRun {
        pub run_id: RunId,
        pub lease_token: u64,
        pub reason: Option<String>,
        pub idempotency_key: Option<String>,
    }
}
