//! `channels/stream`: what is asked and what comes. A subscription, so it is not in the registry of commands; its params
//! have a schema all the same.

use super::{ControlEvent, MessageEvent, camel_words};
use crate::id::MessagingChannelId;
use crate::wire::{wire, words};

wire! {
    /// Follow a channel: messages behind a sequence first, then what happens.
    #[serde(rename_all = "camelCase")]
    pub struct StreamChannel {
        pub channel_id: Option<MessagingChannelId>,
        /// The direct channel with this principal, instead of a channel's id.
        pub peer: Option<String>,
        /// What comes behind this message; only what is new where absent.
        pub since_sequence: Option<u64>,
        /// Of the changes behind that message only those behind this version of the channel: the last that was heard of.
        pub since_version: Option<u64>,
        /// How often to hear from a quiet channel, brought into 100 to 60,000. As often as the server likes where absent or 0.
        pub heartbeat_interval_ms: Option<u64>,
        /// Also changes of the channel itself.
        pub control_events: Option<bool>,
        /// Also who comes and goes.
        pub presence: Option<bool>,
    }

    /// Somebody began or stopped to follow the channel. Never stored.
    #[serde(rename_all = "camelCase")]
    pub struct PresenceEvent {
        pub channel_id: MessagingChannelId,
        pub principal_id: String,
        pub state: PresenceState,
        /// Milliseconds since the epoch.
        pub timestamp: i64,
        pub kind: PresenceEventKind,
    }
}

words! {
    pub enum PresenceState {
        Online,
        Offline,
    }
}

camel_words! {
    /// Says that an object is about presence.
    pub enum PresenceEventKind {
        PresenceEvent,
    }
}

/// One entry of a stream.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum StreamEnvelope {
    MessageEvent {
        event: MessageEvent,
    },
    ControlEvent {
        event: ControlEvent,
    },
    PresenceEvent {
        event: PresenceEvent,
    },
    /// The stream is alive and nothing happened.
    Heartbeat {
        /// Milliseconds since the epoch.
        timestamp: i64,
    },
}
