//! Commands of remote channels (seed 000): become known, come back, say what was taken in, look, leave.
//!
//! A channel is sent the events of its own stream and of the sessions it follows. Sequences are each stream's own, so a
//! cursor names its stream: a session's id, or [`OWN_STREAM`](crate::peer::OWN_STREAM) for the channel's own.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::events::Gap;
use crate::id::{ChannelId, SessionId};
use crate::peer::{ChannelRecord, ChannelSnapshot, ChannelState, PeerRole, StreamCursor, Transport};
use crate::value::Metadata;
use crate::wire::wire;

wire! {
    /// Become known as a peer: a worker that claims runs, a client, a host, another runtime.
    pub struct EnrollChannel {
        /// Your own stable id makes the call safe to repeat, and lets a peer come back as itself.
        pub channel_id: Option<ChannelId>,
        pub peer_role: PeerRole,
        /// How the peer is connected; the transport that this came over where absent.
        pub transport: Option<Transport>,
        /// What a worker can do, or what the peer supports. `permissions` lets it decide what its own turns ask for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub capabilities: Vec<String>,
        /// The queues a worker takes runs from; `default` where none is named.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub queues: Vec<String>,
        /// Sessions to follow from their first event, besides those the channel takes part in.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub session_ids: Vec<SessionId>,
        pub native_protocol: Option<String>,
        /// Where the peer's agent card is, if it has one.
        pub agent_card_ref: Option<String>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
        pub idempotency_key: Option<String>,
    }

    pub struct EnrollChannelResult {
        pub channel_id: ChannelId,
        pub capabilities: Vec<String>,
        pub queues: Vec<String>,
        /// The sessions the channel follows.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub session_ids: Vec<SessionId>,
        /// Good for one reconnect, and shown this once: a repeat of the command does not have it.
        pub resume_token: Option<String>,
        /// How long the channel counts as connected without a sign of life.
        pub heartbeat_ms: u64,
        pub sequence: u64,
    }

    /// Come back: load the snapshot, then go on behind the last acknowledged sequence.
    pub struct ReconnectChannel {
        pub channel_id: ChannelId,
        /// Of the session named here; of the only session the channel follows, or of its own stream where it follows none.
        pub last_acknowledged_sequence: Option<u64>,
        pub session_id: Option<SessionId>,
        /// The last sequence taken in of each stream. A stream that is not named goes on behind what was acknowledged.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub cursors: BTreeMap<String, u64>,
        pub resume_token: Option<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct ReconnectChannelResult {
        pub snapshot: ChannelSnapshot,
        /// Events after this one follow, in the stream that `last_acknowledged_sequence` is about.
        pub resume_from: u64,
        /// What cannot be replayed of that stream.
        pub gap: Option<Gap>,
        /// The same for every stream of the channel.
        pub streams: Vec<StreamCursor>,
        /// Good for the next reconnect; the one before it no longer is. Shown this once.
        pub resume_token: Option<String>,
        pub sequence: u64,
    }

    /// Say up to where events have been taken in.
    pub struct AckEvents {
        pub channel_id: ChannelId,
        /// Of the session named here; of the only session the channel follows, or of its own stream where it follows none.
        pub acknowledged_sequence: Option<u64>,
        pub session_id: Option<SessionId>,
        /// The last sequence taken in of each stream, for several at once.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub cursors: BTreeMap<String, u64>,
        pub resume_token: Option<String>,
        /// Not needed: acknowledging again what is acknowledged changes nothing.
        pub idempotency_key: Option<String>,
    }

    pub struct AckEventsResult {
        pub channel_id: ChannelId,
        /// Never goes back. Of the stream that `acknowledged_sequence` is about.
        pub last_acknowledged_sequence: u64,
        /// What is acknowledged of each stream.
        pub cursors: BTreeMap<String, u64>,
        pub sequence: u64,
    }

    /// Begin or cease to follow sessions.
    pub struct FollowSessions {
        pub channel_id: ChannelId,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub follow: Vec<SessionId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub unfollow: Vec<SessionId>,
        pub idempotency_key: Option<String>,
    }

    pub struct FollowSessionsResult {
        pub channel_id: ChannelId,
        pub session_ids: Vec<SessionId>,
        pub sequence: u64,
    }

    /// Say that the peer is there.
    pub struct HeartbeatChannel {
        pub channel_id: ChannelId,
        /// Not needed: a heartbeat writes nothing unless the channel was given up, and a repeat is one more.
        pub idempotency_key: Option<String>,
    }

    pub struct HeartbeatChannelResult {
        pub channel_id: ChannelId,
        pub state: ChannelState,
        pub last_seen_at: Timestamp,
        /// The next one is due within this time.
        pub heartbeat_ms: u64,
        pub sequence: u64,
    }

    /// Leave for good: nothing is followed any more, and the resume token is void.
    pub struct CloseChannel {
        pub channel_id: ChannelId,
        pub reason: Option<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct CloseChannelResult {
        pub channel_id: ChannelId,
        pub state: ChannelState,
        pub sequence: u64,
    }

    /// `channel_summary`: a remote channel, what it follows and up to where, and what it was asked to decide.
    pub struct GetChannelSummary {
        pub channel_id: ChannelId,
    }

    pub struct GetChannelSummaryResult {
        #[serde(flatten)]
        pub summary: ChannelSnapshot,
    }

    /// The caller's remote channels.
    pub struct ListRemoteChannels {
        /// 1 to 200; 50 where absent.
        pub limit: Option<u32>,
        pub cursor: Option<String>,
    }

    pub struct ListRemoteChannelsResult {
        pub channels: Vec<ChannelRecord>,
        pub next_cursor: Option<String>,
    }
}
