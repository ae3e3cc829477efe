//! Facts of messaging channels (seed 002). Vendor events of streams of their own; a session's feed never shows them.
//!
//! The payload names the channel, since the envelope's `channel_id` is a link to a peer. `after_sequence` says how many
//! messages stand before a change, so that it has its place among them without counting.

use crate::id::{MessageId, MessagingChannelId};
use crate::messaging::{ChannelRole, ChannelVisibility, Parts};
use crate::value::Metadata;
use crate::wire::wire;

wire! {
    /// A channel exists, with its first members. Its version is 1.
    pub struct MessagingChannelCreated {
        pub channel_id: MessagingChannelId,
        pub account_ref: String,
        /// The conversation of exactly two, made when one of them first used it.
        pub direct: bool,
        pub name: Option<String>,
        pub visibility: ChannelVisibility,
        pub created_by: String,
        pub members: Vec<MessagingMember>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
    }

    /// A member at the beginning of a channel.
    pub struct MessagingMember {
        pub principal: String,
        pub role: ChannelRole,
    }

    /// Name or metadata changed. Only what is really different is in here.
    pub struct MessagingChannelUpdated {
        pub channel_id: MessagingChannelId,
        pub name: Option<String>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata_set: Metadata,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub metadata_removed: Vec<String>,
        pub version: u64,
        pub after_sequence: u64,
        pub actor: String,
    }

    /// The channel is gone for everybody. What was said stays in the log.
    pub struct MessagingChannelDeleted {
        pub channel_id: MessagingChannelId,
        /// Who was a member until now.
        pub members: Vec<String>,
        pub version: u64,
        pub after_sequence: u64,
        pub actor: String,
    }

    /// Somebody became a member.
    pub struct MessagingMemberAdded {
        pub channel_id: MessagingChannelId,
        pub principal: String,
        pub role: ChannelRole,
        pub version: u64,
        pub after_sequence: u64,
        pub actor: String,
    }

    /// A member has another role.
    pub struct MessagingMemberChanged {
        pub channel_id: MessagingChannelId,
        pub principal: String,
        pub role: ChannelRole,
        pub previous_role: ChannelRole,
        pub version: u64,
        pub after_sequence: u64,
        pub actor: String,
    }

    /// Somebody is no longer a member.
    pub struct MessagingMemberRemoved {
        pub channel_id: MessagingChannelId,
        pub principal: String,
        /// The role they had.
        pub role: ChannelRole,
        pub version: u64,
        pub after_sequence: u64,
        pub actor: String,
    }

    /// Somebody said something. The event's timestamp is the message's.
    pub struct MessagePublished {
        pub channel_id: MessagingChannelId,
        pub message_id: MessageId,
        /// The message's own number, 1, 2, 3 …; the envelope's counts the other facts too.
        pub sequence: u64,
        pub author: String,
        /// A name of its own: `parts` elsewhere are ours, and these are the caller's down to the last key.
        #[serde(rename = "message_parts", deserialize_with = "Parts::from_text")]
        pub parts: Parts,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub artifact_refs: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub task_refs: Vec<String>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
        pub idempotency_key: Option<String>,
        /// `sha256:` over the content by meaning; only with a key, which is bound to it.
        pub digest: Option<String>,
        pub reply_to_id: Option<MessageId>,
        pub thread_id: Option<MessageId>,
    }

    /// A member has read up to a message.
    pub struct MessagingReadMarked {
        pub channel_id: MessagingChannelId,
        pub principal: String,
        pub sequence: u64,
    }
}
