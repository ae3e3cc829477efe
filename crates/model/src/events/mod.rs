//! The catalogue of event classes: every class of seed 003 (standard and expanded) and seed 000, declared once.
//!
//! A payload is a struct in the file of its family; `facts!` below gives it its wire name and makes the enum, the decoder
//! and the table that schemas and reference pages come from. Adding an event is a struct and a line here.

mod access;
mod action;
mod artifact;
mod cost;
mod history;
mod hook;
mod job;
mod messaging;
mod model;
mod orchestration;
mod output;
mod peer;
mod permission;
mod process;
mod push;
mod routing;
mod sandbox;
mod session;
mod subagent;
mod task;
mod tool;
mod turn;

use schemars::{Schema, SchemaGenerator};
use serde::Serialize;

pub use access::*;
pub use action::*;
pub use artifact::*;
pub use cost::*;
pub use history::*;
pub use hook::*;
pub use job::*;
pub use messaging::*;
pub use model::*;
pub use orchestration::*;
pub use output::*;
pub use peer::*;
pub use permission::*;
pub use process::*;
pub use push::*;
pub use routing::*;
pub use sandbox::*;
pub use session::*;
pub use subagent::*;
pub use task::*;
pub use tool::*;
pub use turn::*;

/// What the reference says of one event class.
pub struct EventInfo {
    pub type_name: &'static str,
    pub family: Family,
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

/// Where an event class comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Seed 003, "Standard event classes".
    Standard,
    /// Seed 003, "Expanded event families".
    Expanded,
    /// Seed 000.
    Channel,
    /// Ours.
    Vendor,
}

macro_rules! facts {
    ($($family:ident { $($variant:ident = $name:literal,)* })*) => {
        /// What happened, with its typed payload. Payloads are boxed: the largest is many times the usual one, and events
        /// are moved around a lot.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Fact {
            $($($variant(Box<$variant>),)*)*
        }

        impl Fact {
            /// The class name on the wire.
            pub fn type_name(&self) -> &'static str {
                match self { $($(Self::$variant(_) => $name,)*)* }
            }

            /// Reads a payload of a named class.
            pub fn decode(type_name: &str, payload: &str) -> Result<Fact, serde_json::Error> {
                match type_name {
                    $($($name => serde_json::from_str(payload).map(|payload| Self::$variant(Box::new(payload))),)*)*
                    other => Err(serde::de::Error::custom(format!("unknown event type {other}"))),
                }
            }

            pub fn payload(&self) -> impl Serialize + '_ {
                Payload(self)
            }
        }

        impl Serialize for Payload<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 { $($(Fact::$variant(payload) => payload.serialize(serializer),)*)* }
            }
        }

        $($(impl From<$variant> for Fact {
            fn from(payload: $variant) -> Self {
                Self::$variant(Box::new(payload))
            }
        })*)*

        /// Every event class, in the order of the seed.
        pub const EVENTS: &[EventInfo] = &[$($(EventInfo {
            type_name: $name,
            family: Family::$family,
            schema: |generator| generator.subschema_for::<$variant>(),
        },)*)*];
    };
}

/// A fact seen as its payload alone.
pub(crate) struct Payload<'a>(&'a Fact);

facts! {
    Standard {
        SessionCreated = "session.created",
        SessionUpdated = "session.updated",
        ThreadStarted = "thread.started",
        ThreadUpdated = "thread.updated",
        TurnSubmitted = "turn.submitted",
        TurnStarted = "turn.started",
        TurnCompleted = "turn.completed",
        TurnFailed = "turn.failed",
        TaskCreated = "task.created",
        TaskAccepted = "task.accepted",
        TaskQueued = "task.queued",
        TaskStarted = "task.started",
        TaskUpdated = "task.updated",
        TaskProgress = "task.progress",
        TaskWaiting = "task.waiting",
        TaskBlocked = "task.blocked",
        TaskPaused = "task.paused",
        TaskResumed = "task.resumed",
        TaskRetrying = "task.retrying",
        TaskCancelRequested = "task.cancel_requested",
        TaskCancelled = "task.cancelled",
        TaskTimedOut = "task.timed_out",
        TaskFailed = "task.failed",
        TaskLost = "task.lost",
        TaskCompleted = "task.completed",
        TaskArchived = "task.archived",
        RunStatus = "run.status",
        ModelRequested = "model.requested",
        ModelDelta = "model.delta",
        ModelCompleted = "model.completed",
        ModelFailed = "model.failed",
        ReasoningDelta = "reasoning.delta",
        ReasoningSummary = "reasoning.summary",
        ToolCatalogResolved = "tool.catalog.resolved",
        ToolStarted = "tool.started",
        ToolArgs = "tool.args",
        ToolProgress = "tool.progress",
        ToolResult = "tool.result",
        ToolFailed = "tool.failed",
        ActionRequired = "action.required",
        ActionResolved = "action.resolved",
        QueueChanged = "queue.changed",
        ContextResolved = "context.resolved",
        ContextCompactionStarted = "context.compaction.started",
        ContextCompactionCompleted = "context.compaction.completed",
        ContextCompactionFailed = "context.compaction.failed",
        ArtifactChanged = "artifact.changed",
        EvidenceChanged = "evidence.changed",
        SubagentSpawned = "subagent.spawned",
        SubagentStatus = "subagent.status",
        SubagentInput = "subagent.input",
        SubagentCompleted = "subagent.completed",
        SubagentFailed = "subagent.failed",
        SubagentClosed = "subagent.closed",
        LimitChanged = "limit.changed",
        SnapshotUpdated = "snapshot.updated",
        RuntimeWarning = "runtime.warning",
        RuntimeError = "runtime.error",
    }
    Expanded {
        PermissionEvaluated = "permission.evaluated",
        PermissionRequested = "permission.requested",
        PermissionResolved = "permission.resolved",
        SandboxApplied = "sandbox.applied",
        SandboxViolation = "sandbox.violation",
        HookStarted = "hook.started",
        HookCompleted = "hook.completed",
        HookFailed = "hook.failed",
        PolicyChanged = "policy.changed",
        ProcessStarted = "process.started",
        ProcessOutput = "process.output",
        ProcessInput = "process.input",
        ProcessCompleted = "process.completed",
        ProcessFailed = "process.failed",
        ProcessTerminated = "process.terminated",
        TaskProfileResolved = "task.profile.resolved",
        RoutingCandidatesResolved = "routing.candidates.resolved",
        RoutingDecided = "routing.decided",
        RoutingFallbackApplied = "routing.fallback.applied",
        RoutingNotPossible = "routing.not_possible",
        RoutingSingleCandidate = "routing.single_candidate",
        TaskDelegated = "task.delegated",
        TaskDependencyUpdated = "task.dependency.updated",
        TaskAttemptStarted = "task.attempt.started",
        TaskAttemptCompleted = "task.attempt.completed",
        TaskAttemptFailed = "task.attempt.failed",
        CostEstimated = "cost.estimated",
        CostRecorded = "cost.recorded",
        RateLimitHit = "rate_limit.hit",
        QuotaLow = "quota.low",
        QuotaBlocked = "quota.blocked",
        ChannelConnected = "channel.connected",
        ChannelDisconnected = "channel.disconnected",
        ChannelResumed = "channel.resumed",
        ChannelMessage = "channel.message",
        ChannelPermissionForwarded = "channel.permission_forwarded",
        ChannelPermissionReturned = "channel.permission_returned",
        JobCreated = "job.created",
        JobStarted = "job.started",
        JobProgress = "job.progress",
        JobItemStarted = "job.item.started",
        JobItemCompleted = "job.item.completed",
        JobItemFailed = "job.item.failed",
        JobCompleted = "job.completed",
        JobFailed = "job.failed",
        JobCancelled = "job.cancelled",
        OutputSpilled = "output.spilled",
        OutputTruncated = "output.truncated",
        OutputRedacted = "output.redacted",
        OutputExpired = "output.expired",
        HistoryWindowLoaded = "history.window.loaded",
        HistoryReconstructed = "history.reconstructed",
        HistoryRollbackStarted = "history.rollback.started",
        HistoryRollbackCompleted = "history.rollback.completed",
        SnapshotRepaired = "snapshot.repaired",
    }
    Channel {
        ChannelPeerTaskLinked = "channel.peer_task.linked",
        ChannelPeerTaskUpdated = "channel.peer_task.updated",
    }
    Vendor {
        RuntimeStarted = "runtime.started",
        CommandAccepted = "command.accepted",
        TaskRecalled = "task.recalled",
        RunReleased = "run.released",
        ChannelFollowed = "channel.followed",
        ChannelUnfollowed = "channel.unfollowed",
        ChannelAcknowledged = "channel.acknowledged",
        ChannelPermissionRefused = "channel.permission_refused",
        JobItemQueued = "job.item.queued",
        JobItemReported = "job.item.reported",
        JobItemRetrying = "job.item.retrying",
        JobCancelRequested = "job.cancel_requested",
        JobScheduled = "job.scheduled",
        JobScheduleFired = "job.schedule.fired",
        JobScheduleEnded = "job.schedule.ended",
        ApiKeyCreated = "access.key.created",
        ApiKeyRevoked = "access.key.revoked",
        PushConfigSet = "push.config.set",
        PushConfigDeleted = "push.config.deleted",
        MessagingChannelCreated = "messaging.channel.created",
        MessagingChannelUpdated = "messaging.channel.updated",
        MessagingChannelDeleted = "messaging.channel.deleted",
        MessagingMemberAdded = "messaging.member.added",
        MessagingMemberChanged = "messaging.member.changed",
        MessagingMemberRemoved = "messaging.member.removed",
        MessagePublished = "messaging.message.published",
        MessagingReadMarked = "messaging.read",
    }
}
