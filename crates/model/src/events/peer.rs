//! Facts about remote channels (seed 000). The envelope's `channel_id` says which.
//!
//! A dropped connection is `channel.disconnected` and nothing else: it never ends a task.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::events::{Gap, ResolutionSource};
use crate::id::SessionId;
use crate::peer::*;
use crate::permission::{PermissionSubject, Verdict};
use crate::value::Part;
use crate::wire::wire;

wire! {
    /// A peer became reachable.
    pub struct ChannelConnected {
        #[serde(flatten)]
        pub identity: ChannelIdentity,
        /// Sessions it follows from here on, from their first event.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub session_ids: Vec<SessionId>,
    }

    /// A peer left or missed its heartbeat.
    pub struct ChannelDisconnected {
        pub reason: DisconnectReason,
        pub detail: Option<String>,
        pub last_seen_at: Option<Timestamp>,
        pub last_acknowledged_sequence: Option<u64>,
    }

    /// A peer is back and goes on behind `resume_from`.
    pub struct ChannelResumed {
        pub method: ResumeMethod,
        pub resume_from: u64,
        pub last_acknowledged_sequence: Option<u64>,
        pub gap: Option<Gap>,
        pub resume_token_ref: Option<String>,
        /// Where each of its streams goes on.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub cursors: BTreeMap<String, u64>,
    }

    /// Something was said that is not a turn.
    pub struct ChannelMessage {
        pub kind: ChannelMessageKind,
        pub direction: Direction,
        pub parts: Vec<Part>,
        /// The peer's own id and type of it.
        pub native_id: Option<String>,
        pub native_type: Option<String>,
    }

    /// A permission question crossed the channel.
    pub struct ChannelPermissionForwarded {
        pub direction: Direction,
        pub requesting_peer: String,
        pub subject: PermissionSubject,
        pub prompt: Option<String>,
        pub channel_scoped: bool,
        pub expires_at: Option<Timestamp>,
    }

    /// Its answer came back.
    pub struct ChannelPermissionReturned {
        pub direction: Direction,
        pub requesting_peer: String,
        pub subject: PermissionSubject,
        pub decision: Verdict,
        pub decided_by: String,
        /// Which side had the last word.
        pub decided_on: Side,
        pub source: ResolutionSource,
        pub channel_scoped: bool,
    }

    /// A peer's task belongs to a task or subagent of ours, named in the envelope.
    pub struct ChannelPeerTaskLinked {
        /// Who works: `outbound` where the peer works for us.
        pub direction: Direction,
        #[serde(flatten)]
        pub peer_task: PeerTask,
    }

    /// A peer's task changed.
    pub struct ChannelPeerTaskUpdated {
        pub previous_recovery: Option<PeerRecovery>,
        pub message: Option<String>,
        #[serde(flatten)]
        pub peer_task: PeerTask,
    }

    /// The channel takes part in sessions: it is sent their events behind these sequences.
    pub struct ChannelFollowed {
        pub since: BTreeMap<SessionId, u64>,
    }

    /// The channel is not sent the events of these sessions any more.
    pub struct ChannelUnfollowed {
        pub session_ids: Vec<SessionId>,
    }

    /// The peer has taken in the events of these streams up to here. Not sent back to it.
    pub struct ChannelAcknowledged {
        pub cursors: BTreeMap<String, u64>,
    }

    /// Somebody decided elsewhere what only this channel may decide. It was refused, and the question is still open.
    pub struct ChannelPermissionRefused {
        pub attempted_by: String,
        pub attempted_decision: String,
        pub reason: String,
    }
}
