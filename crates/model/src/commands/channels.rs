//! Commands of remote channels (seed 000). Enrolling a channel and the commands of workers are not here yet.

use crate::events::Gap;
use crate::id::ChannelId;
use crate::peer::ChannelSnapshot;
use crate::wire::wire;

wire! {
    /// Come back: load the snapshot, then go on behind the last acknowledged sequence.
    pub struct ReconnectChannel {
        pub channel_id: ChannelId,
        pub last_acknowledged_sequence: Option<u64>,
        pub resume_token: Option<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct ReconnectChannelResult {
        pub snapshot: ChannelSnapshot,
        /// Events after this one follow.
        pub resume_from: u64,
        /// What cannot be replayed.
        pub gap: Option<Gap>,
        /// Good for the next reconnect; the one before it no longer is.
        pub resume_token: Option<String>,
        pub sequence: u64,
    }

    /// Say up to where events have been taken in.
    pub struct AckEvents {
        pub channel_id: ChannelId,
        pub acknowledged_sequence: u64,
        pub resume_token: Option<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct AckEventsResult {
        pub channel_id: ChannelId,
        /// Never goes back.
        pub last_acknowledged_sequence: u64,
        pub sequence: u64,
    }
}
