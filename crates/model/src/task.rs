//! What a task is: its record, attempts, progress, acceptance and the edges of the task graph (CONTRACT, "Tasks").
//!
//! Shapes and vocabularies only. Which status may follow which, what blocks what and when a task may complete is decided
//! in `engine`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::events::Phase;
use crate::id::*;
use crate::routing::TaskProfile;
use crate::value::{Failure, Metadata};
use crate::wire::{wire, words};

wire! {
    /// A task as it stands now, with every attempt it ever had.
    pub struct TaskRecord {
        pub task_id: TaskId,
        pub parent_task_id: Option<TaskId>,
        pub root_task_id: TaskId,
        pub session_id: SessionId,
        pub thread_id: Option<ThreadId>,
        pub turn_id: Option<TurnId>,
        pub title: Option<String>,
        pub objective: String,
        pub task_kind: Option<String>,
        pub task_family: Option<String>,
        pub visibility: Visibility,
        pub status: TaskStatus,
        pub native_status: Option<String>,
        pub status_reason: Option<String>,
        pub priority: Priority,
        pub requested_by: String,
        pub owner: Option<String>,
        pub assignee: Option<String>,
        pub scope: Option<Value>,
        pub constraints: Option<Value>,
        pub task_profile: Option<TaskProfile>,
        pub acceptance: Option<Acceptance>,
        pub progress: Option<Progress>,
        pub current_run_id: Option<RunId>,
        pub attempts: Vec<Attempt>,
        pub relationships: Vec<Edge>,
        pub artifacts: Vec<String>,
        pub evidence_refs: Vec<String>,
        pub delivery_state: DeliveryState,
        pub last_error: Option<Failure>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub started_at: Option<Timestamp>,
        pub ended_at: Option<Timestamp>,
        pub as_of_sequence: u64,
    }

    /// One execution of a task. A retry adds one, it never changes an old one.
    pub struct Attempt {
        pub run_id: RunId,
        pub attempt_id: AttemptId,
        /// From 1.
        pub attempt_count: u32,
        pub cause: AttemptCause,
        pub status: AttemptStatus,
        pub worker: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub input_refs: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub checkpoint_refs: Vec<String>,
        pub retry_policy: Option<RetryPolicy>,
        pub last_error: Option<Failure>,
        pub completion_summary: Option<String>,
        pub started_at: Option<Timestamp>,
        pub ended_at: Option<Timestamp>,
    }

    /// When a failed attempt is followed by another one.
    pub struct RetryPolicy {
        pub max_attempts: u32,
        pub backoff: Option<Backoff>,
        /// Failure categories that are final.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub non_retryable: Vec<String>,
        /// How long one attempt may take.
        pub timeout_ms: Option<u64>,
    }

    /// How long to wait before the next attempt.
    pub struct Backoff {
        pub initial_ms: u64,
        pub max_ms: u64,
        /// Each wait is this many percent of the one before it; 100 keeps it constant.
        pub factor_percent: u32,
    }

    /// What has to be there before a task may complete.
    #[derive(Default)]
    pub struct Acceptance {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub criteria: Vec<Criterion>,
        /// Names of artifacts that have to be produced.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub required_artifacts: Vec<String>,
        /// Kinds of evidence that have to exist.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub required_evidence: Vec<String>,
    }

    /// One thing that has to be true.
    pub struct Criterion {
        pub criterion_id: String,
        pub description: Option<String>,
        #[serde(default)]
        pub state: CriterionState,
        pub evidence_ref: Option<String>,
        pub note: Option<String>,
    }

    /// How far a task has come. Absent means that nothing was said about it.
    #[derive(Default)]
    pub struct Progress {
        pub phase: Option<Phase>,
        pub percent: Option<u8>,
        pub current_step: Option<String>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub counters: BTreeMap<String, u64>,
        pub summary: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub output_refs: Vec<OutputOffset>,
        pub delivery_state: Option<DeliveryState>,
    }

    /// Output up to here belongs to the progress it stands in.
    pub struct OutputOffset {
        pub output_ref: String,
        /// In bytes from the beginning.
        pub offset: u64,
    }

    /// One edge of the task graph. Reads from left to right: `from` blocks `to`, `from` is the parent of `to`.
    pub struct Edge {
        pub from: TaskId,
        /// A task, or whatever the relationship points at: a run, subagent, thread, artifact or evidence id.
        pub to: String,
        pub relationship: Relationship,
        pub status: EdgeStatus,
        pub reason: Option<String>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }

    /// What keeps a task from going on.
    pub struct Blocker {
        pub kind: BlockerKind,
        pub r#ref: Option<String>,
        pub detail: Option<String>,
    }
}

words! {
    /// Where a task stands. `lost` is not an end: it can be recovered, retried or failed.
    pub enum TaskStatus {
        Draft,
        Accepted,
        Queued,
        Preparing,
        Running,
        WaitingInput,
        WaitingPermission,
        WaitingResource,
        Blocked,
        Paused,
        Retrying,
        Cancelling,
        Cancelled,
        TimedOut,
        Failed,
        Lost,
        Completed,
        Archived,
        Stale,
        Unknown,
    }

    pub enum AttemptStatus {
        Queued,
        Running,
        Completed,
        Failed,
        Cancelled,
        TimedOut,
        /// Nobody can say whether the worker is still alive.
        Lost,
        Unknown,
    }

    /// Why there is another attempt.
    pub enum AttemptCause {
        First,
        Retry,
        WorkerLost,
        CrashRecovery,
        RoutingChanged,
        Rerun,
    }

    /// Who sees a task.
    #[derive(Default)]
    pub enum Visibility {
        #[default]
        Foreground,
        Background,
        Internal,
        Hidden,
    }

    /// Which of two ready tasks goes first, lowest to highest.
    #[derive(Default, PartialOrd, Ord)]
    pub enum Priority {
        Low,
        #[default]
        Normal,
        High,
        Urgent,
    }

    #[derive(Default)]
    pub enum CriterionState {
        #[default]
        Open,
        Met,
        Unmet,
        Waived,
    }

    /// Whether the outcome reached whoever asked for it.
    #[derive(Default)]
    pub enum DeliveryState {
        #[default]
        Pending,
        Delivered,
        Queued,
        Failed,
        /// There is nobody left to deliver to.
        ParentMissing,
        NotApplicable,
    }

    /// What an edge means.
    pub enum Relationship {
        Parent,
        Child,
        Blocks,
        BlockedBy,
        SourceTask,
        SourceAttempt,
        SpawnedSubagent,
        AssignedThread,
        ProducedArtifact,
        ConsumedArtifact,
        Evidence,
    }

    pub enum EdgeStatus {
        Active,
        /// What it waited for is there.
        Satisfied,
        Removed,
    }

    /// How far an order to a task reaches below it.
    #[derive(Default)]
    pub enum Propagation {
        #[default]
        None,
        Children,
        Descendants,
    }

    /// Seed 003: what may be missing while a task is `blocked`.
    pub enum BlockerKind {
        Action,
        Credential,
        Policy,
        Context,
        Dependency,
        Tool,
        Quota,
    }
}

impl TaskStatus {
    /// Whether the task has ended for good. Archiving an ended task does not end it again.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::TimedOut)
    }
}

impl Relationship {
    /// The same edge seen from its other end, where that is also a task edge.
    pub fn inverse(self) -> Option<Relationship> {
        match self {
            Self::Parent => Some(Self::Child),
            Self::Child => Some(Self::Parent),
            Self::Blocks => Some(Self::BlockedBy),
            Self::BlockedBy => Some(Self::Blocks),
            _ => None,
        }
    }
}
