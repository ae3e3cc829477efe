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
use crate::wire::{record, wire, words};

record! {
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
        #[serde(flatten)]
        pub execution: Execution,
        pub scope: Option<Value>,
        pub constraints: Option<Value>,
        pub task_profile: Option<TaskProfile>,
        pub acceptance: Option<Acceptance>,
        pub retry_policy: Option<RetryPolicy>,
        pub progress: Option<Progress>,
        pub current_run_id: Option<RunId>,
        pub attempts: Vec<Attempt>,
        /// The first ones, where there are more than fit into an answer: `relationships_total` counts them all.
        pub relationships: Vec<Edge>,
        pub relationships_total: u64,
        pub artifacts: Vec<String>,
        pub evidence_refs: Vec<String>,
        pub delivery_state: DeliveryState,
        pub last_error: Option<Failure>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
        #[serde(serialize_with = "crate::time::serialize")]
        pub created_at: Timestamp,
        #[serde(serialize_with = "crate::time::serialize")]
        pub updated_at: Timestamp,
        #[serde(serialize_with = "crate::time::serialize")]
        pub started_at: Option<Timestamp>,
        #[serde(serialize_with = "crate::time::serialize")]
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
        /// The thread and turn of an agent that does it.
        pub thread_id: Option<ThreadId>,
        pub turn_id: Option<TurnId>,
        #[serde(default)]
        pub input_refs: Vec<String>,
        #[serde(default)]
        pub output_refs: Vec<String>,
        #[serde(default)]
        pub checkpoint_refs: Vec<String>,
        pub retry_policy: Option<RetryPolicy>,
        pub last_error: Option<Failure>,
        pub completion_summary: Option<String>,
        #[serde(serialize_with = "crate::time::serialize")]
        pub started_at: Option<Timestamp>,
        #[serde(serialize_with = "crate::time::serialize")]
        pub ended_at: Option<Timestamp>,
    }
}

wire! {
    /// What is kept of a task under its id: the record without its edges and older attempts, which have rows of their own.
    pub struct TaskRow {
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
        #[serde(default)]
        pub visibility: Visibility,
        pub status: TaskStatus,
        pub native_status: Option<String>,
        pub status_reason: Option<String>,
        #[serde(default)]
        pub priority: Priority,
        pub requested_by: String,
        pub owner: Option<String>,
        pub assignee: Option<String>,
        #[serde(flatten)]
        pub execution: Execution,
        pub scope: Option<Value>,
        pub constraints: Option<Value>,
        pub task_profile: Option<TaskProfile>,
        pub acceptance: Option<Acceptance>,
        pub retry_policy: Option<RetryPolicy>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub input_refs: Vec<String>,
        /// The fact that says what its agent is given, where that is more than the objective. A message may be long and a row is
        /// written again with every change, so it is not kept here.
        pub input_sequence: Option<u64>,
        pub progress: Option<Progress>,
        /// The newest attempt.
        pub attempt: Option<Attempt>,
        /// Attempts that carried on what a crash cut off. No retry policy counts them.
        #[serde(default, skip_serializing_if = "is_zero")]
        pub recoveries: u32,
        /// Edges that are not removed.
        #[serde(default)]
        pub edges: u64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub artifacts: Vec<String>,
        /// Names of those that are listed by their ids: `required_artifacts` are met by either.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub artifact_names: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub evidence_refs: Vec<String>,
        #[serde(default)]
        pub delivery_state: DeliveryState,
        pub last_error: Option<Failure>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
        #[serde(serialize_with = "crate::time::serialize")]
        pub created_at: Timestamp,
        #[serde(serialize_with = "crate::time::serialize")]
        pub updated_at: Timestamp,
        #[serde(serialize_with = "crate::time::serialize")]
        pub started_at: Option<Timestamp>,
        #[serde(serialize_with = "crate::time::serialize")]
        pub ended_at: Option<Timestamp>,
        /// The sequence of the fact that made it.
        #[serde(default)]
        pub created_sequence: u64,
        /// The sequence of the last fact about it.
        pub sequence: u64,
    }

    /// Who does a task. Without a queue, an agent and a peer its assignee does, or whoever asked for it where none is named.
    #[derive(Default, Eq)]
    pub struct Execution {
        /// Workers claim its runs from this queue.
        pub queue: Option<String>,
        /// What a worker has to be able to do.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub required_capabilities: Vec<String>,
        /// An agent of this runtime does it, in a thread of its own.
        pub agent: Option<String>,
        /// An agent elsewhere does it: a peer of the configuration. `peer:NAME` as assignee or worker means the same.
        pub peer: Option<String>,
        /// A run that completes also completes the task, once nothing it needs is missing. Otherwise its owner decides.
        #[serde(default)]
        pub auto_complete: bool,
    }

    /// When a failed attempt is followed by another one.
    #[derive(Eq)]
    pub struct RetryPolicy {
        /// The first one counts.
        #[serde(default = "one_attempt")]
        pub max_attempts: u32,
        #[serialize_always]
        pub backoff: Option<Backoff>,
        /// Failure categories that are final.
        #[serde(default)]
        pub non_retryable: Vec<String>,
        /// How long one attempt may take, in milliseconds. `timeout_ms` means the same.
        #[serialize_always]
        #[serde(rename = "timeout", alias = "timeout_ms")]
        pub timeout_ms: Option<u64>,
        /// How long an attempt may say nothing.
        pub inactivity_timeout_ms: Option<u64>,
        /// What follows when nobody can say whether the worker is still alive. `wait` where absent.
        #[serde(default)]
        pub on_lost: OnLost,
    }

    /// How long to wait before the next attempt.
    #[derive(Eq)]
    pub struct Backoff {
        #[serde(default = "backoff_initial")]
        pub initial_ms: u64,
        #[serde(default = "backoff_max")]
        pub max_ms: u64,
        /// Each wait is this many percent of the one before it; 100 keeps it constant.
        #[serde(default = "backoff_factor")]
        pub factor_percent: u32,
        /// Up to this many percent of the wait are taken off it at random, so that those who failed together do not come
        /// back together.
        #[serde(default = "backoff_jitter")]
        pub jitter_percent: u32,
    }

    /// A worker's hold on a run. It is good until it expires; reports with an older token are refused.
    #[derive(Eq)]
    pub struct Lease {
        pub channel_id: ChannelId,
        /// Rises with every hold on anything in the session.
        pub token: u64,
        pub lease_ms: u64,
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
        #[serialize_always]
        pub reason: Option<String>,
        #[serde(serialize_with = "crate::time::serialize")]
        pub created_at: Timestamp,
        #[serde(serialize_with = "crate::time::serialize")]
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
    #[derive(PartialOrd, Ord)]
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
    #[derive(PartialOrd, Ord)]
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

    /// What follows a run whose worker vanished.
    #[derive(Default)]
    pub enum OnLost {
        /// Somebody decides: what the worker did may not bear repeating.
        #[default]
        Wait,
        /// Another attempt, as after a failure.
        Retry,
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

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn one_attempt() -> u32 {
    1
}

fn backoff_initial() -> u64 {
    1_000
}

fn backoff_max() -> u64 {
    60_000
}

fn backoff_factor() -> u32 {
    200
}

fn backoff_jitter() -> u32 {
    20
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: one_attempt(),
            backoff: None,
            non_retryable: Vec::new(),
            timeout_ms: None,
            inactivity_timeout_ms: None,
            on_lost: OnLost::Wait,
        }
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            initial_ms: backoff_initial(),
            max_ms: backoff_max(),
            factor_percent: backoff_factor(),
            jitter_percent: backoff_jitter(),
        }
    }
}

impl TaskStatus {
    pub const ALL: [TaskStatus; 20] = [
        Self::Draft,
        Self::Accepted,
        Self::Queued,
        Self::Preparing,
        Self::Running,
        Self::WaitingInput,
        Self::WaitingPermission,
        Self::WaitingResource,
        Self::Blocked,
        Self::Paused,
        Self::Retrying,
        Self::Cancelling,
        Self::Cancelled,
        Self::TimedOut,
        Self::Failed,
        Self::Lost,
        Self::Completed,
        Self::Archived,
        Self::Stale,
        Self::Unknown,
    ];

    /// The word on the wire and in keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Accepted => "accepted",
            Self::Queued => "queued",
            Self::Preparing => "preparing",
            Self::Running => "running",
            Self::WaitingInput => "waiting_input",
            Self::WaitingPermission => "waiting_permission",
            Self::WaitingResource => "waiting_resource",
            Self::Blocked => "blocked",
            Self::Paused => "paused",
            Self::Retrying => "retrying",
            Self::Cancelling => "cancelling",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Failed => "failed",
            Self::Lost => "lost",
            Self::Completed => "completed",
            Self::Archived => "archived",
            Self::Stale => "stale",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the task has ended for good. Archiving an ended task does not end it again.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::TimedOut)
    }
}

impl Attempt {
    /// Whether its outcome is not known yet.
    pub fn is_open(&self) -> bool {
        matches!(self.status, AttemptStatus::Queued | AttemptStatus::Running)
    }
}

impl Relationship {
    /// The word on the wire and in keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Parent => "parent",
            Self::Child => "child",
            Self::Blocks => "blocks",
            Self::BlockedBy => "blocked_by",
            Self::SourceTask => "source_task",
            Self::SourceAttempt => "source_attempt",
            Self::SpawnedSubagent => "spawned_subagent",
            Self::AssignedThread => "assigned_thread",
            Self::ProducedArtifact => "produced_artifact",
            Self::ConsumedArtifact => "consumed_artifact",
            Self::Evidence => "evidence",
        }
    }

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
