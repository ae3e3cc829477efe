//! Facts about remote channels (seed 000). The envelope's `channel_id` says which.
//!
//! A dropped connection is `channel.disconnected` and nothing else: it never ends a task.

use jiff::Timestamp;

use crate::events::{Gap, ResolutionSource};
use crate::peer::*;
use crate::permission::{PermissionSubject, Verdict};
use crate::value::Part;
use crate::wire::wire;

wire! {
    /// A peer became reachable.
    pub struct ChannelConnected {
        #[serde(flatten)]
        pub identity: ChannelIdentity,
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
}
