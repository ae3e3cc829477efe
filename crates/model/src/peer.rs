//! Remote channels and the tasks of peers (seed 000). Called `peers` in code, `channel` on the wire.
//!
//! A remote task id never replaces a local one: both stand beside each other in a `PeerTask` link. Messaging channels
//! (seed 002) are something else and are not here.

use jiff::Timestamp;

use crate::id::*;
use crate::permission::{PermissionSubject, Verdict};
use crate::task::TaskStatus;
use crate::value::Metadata;
use crate::wire::{wire, words};

wire! {
    /// Who is on the other end. The `channel_id` stands beside it: in an event's envelope, in a record's field.
    pub struct ChannelIdentity {
        pub transport: Transport,
        pub peer_role: PeerRole,
        pub account_ref: Option<String>,
        /// `streaming`, `resume`, `permissions`, `files`, `artifacts`, `task_delegation` or the peer's own flags.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub capabilities: Vec<String>,
        /// The queues a worker takes runs from.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub queues: Vec<String>,
        /// The peer's principal or address.
        pub peer_ref: Option<String>,
        pub native_protocol: Option<String>,
        pub agent_card_ref: Option<String>,
        /// Names the token, never reveals it.
        pub resume_token_ref: Option<String>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
    }

    /// A channel as it stands now.
    pub struct ChannelRecord {
        pub channel_id: ChannelId,
        #[serde(flatten)]
        pub identity: ChannelIdentity,
        pub state: ChannelState,
        pub last_seen_at: Option<Timestamp>,
        /// Of the channel's own stream.
        pub last_acknowledged_sequence: u64,
    }

    /// A session that a channel follows.
    pub struct FollowedSession {
        pub session_id: SessionId,
        /// Following began behind this one.
        pub since_sequence: u64,
        pub last_acknowledged_sequence: u64,
        /// The newest of the session.
        pub head_sequence: u64,
    }

    /// Where a channel goes on in one of its streams.
    pub struct StreamCursor {
        /// A session's id, or `@channel`.
        pub stream: String,
        /// Events after this one follow.
        pub resume_from: u64,
        /// What cannot be replayed.
        pub gap: Option<crate::events::Gap>,
    }

    /// A peer's task, by the peer's own ids.
    pub struct PeerTask {
        pub native_protocol: String,
        pub remote_task_id: Option<String>,
        pub remote_context_id: Option<String>,
        pub remote_agent_ref: Option<String>,
        pub agent_card_ref: Option<String>,
        pub delivery_mechanism: DeliveryMechanism,
        /// The peer's state in our words.
        pub remote_status: TaskStatus,
        /// The peer's state in its own words.
        pub native_status: Option<String>,
        pub recovery: PeerRecovery,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub remote_artifact_refs: Vec<String>,
    }

    /// A peer's task and what it is linked to here.
    pub struct PeerTaskLink {
        pub session_id: Option<SessionId>,
        pub task_id: Option<TaskId>,
        pub subagent_id: Option<SubagentId>,
        #[serde(flatten)]
        pub peer_task: PeerTask,
    }

    /// A permission question that crossed a channel.
    pub struct PermissionBridge {
        pub action_id: ActionId,
        pub session_id: Option<SessionId>,
        pub requesting_peer: String,
        pub subject: PermissionSubject,
        pub prompt: Option<String>,
        /// Only a decision that comes through one channel is accepted; this one, unless it is an A2A client's.
        pub channel_scoped: bool,
        pub forwarded_at: Timestamp,
        pub expires_at: Option<Timestamp>,
        /// Absent while it is open.
        pub decision: Option<Verdict>,
        pub decided_by: Option<String>,
        pub source: Option<crate::events::ResolutionSource>,
    }

    /// `channel_summary`: what a peer loads before it continues from its cursor.
    pub struct ChannelSnapshot {
        pub channel: ChannelRecord,
        /// The sessions the channel takes part in, and up to where.
        pub sessions: Vec<FollowedSession>,
        pub peer_tasks: Vec<PeerTaskLink>,
        pub permission_bridge: Vec<PermissionBridge>,
        pub as_of_sequence: u64,
    }
}

/// The name of a channel's own stream among its cursors. No id has this character, so no session is called so.
pub const OWN_STREAM: &str = "@channel";

/// The capability of a peer that decides what its turns ask permission for.
pub const PERMISSIONS: &str = "permissions";

words! {
    pub enum Transport {
        Websocket,
        Sse,
        JsonRpc,
        Grpc,
        HttpJson,
        Stdio,
        InProcess,
        Custom,
    }

    pub enum PeerRole {
        Client,
        Host,
        Worker,
        RemoteRuntime,
        PeerAgent,
        ToolServer,
    }

    pub enum ChannelState {
        Connected,
        Disconnected,
        Unknown,
    }

    /// How a peer's news reach us.
    pub enum DeliveryMechanism {
        Polling,
        Streaming,
        Subscription,
        Push,
    }

    /// What is known of a peer's task after a gap. None of these is `failed` (seed 000, "Recovery").
    pub enum PeerRecovery {
        Running,
        /// Not running and not completed.
        Idle,
        WaitingInput,
        WaitingAuthorization,
        /// The peer is done; our side has not caught up.
        CompletedUnreconciled,
        /// Done on both sides.
        Reconciled,
        Archived,
        Missing,
        AuthUnavailable,
        NetworkUnavailable,
        Unknown,
    }

    /// On which side something happened.
    pub enum Side {
        Local,
        Remote,
    }

    pub enum DisconnectReason {
        ClosedByPeer,
        ClosedLocally,
        HeartbeatMissed,
        TransportError,
        AuthFailed,
        /// The same peer connected again.
        Replaced,
    }

    pub enum ResumeMethod {
        Cursor,
        Token,
        /// Neither was usable: the snapshot is the start.
        Snapshot,
    }

    pub enum ChannelMessageKind {
        Message,
        Notice,
        Status,
    }

    pub enum Direction {
        Inbound,
        Outbound,
    }
}
