//! Messaging channels (seed 002): the objects callers see. The one family whose fields are camelCase, as the seed spells
//! them, and whose times are milliseconds since the epoch.
//!
//! Links to peers (seed 000) are called channels too; those are in `peer`. What is written to the log is in
//! `events/messaging`, in our own casing.

mod parts;
mod stream;

use crate::id::{EventId, MessageId, MessagingChannelId};
use crate::value::Metadata;
use crate::wire::{wire, words};

pub use parts::Parts;
pub use stream::{PresenceEvent, PresenceEventKind, PresenceState, StreamChannel, StreamEnvelope};

wire! {
    /// A durable conversation among principals.
    #[serde(rename_all = "camelCase")]
    pub struct Channel {
        pub id: MessagingChannelId,
        pub name: Option<String>,
        pub visibility: ChannelVisibility,
        /// Milliseconds since the epoch.
        pub created_at: i64,
        pub created_by: String,
        pub members: Vec<ChannelMember>,
        #[serde(default)]
        pub metadata: Metadata,
        /// Grows by one with each change of members, name or metadata.
        pub version: u64,
        pub kind: ChannelKind,
        /// True where the channel is the conversation of exactly two; absent otherwise.
        pub direct: Option<bool>,
        pub message_count: u64,
        /// How far you have read, where you are a member.
        pub read_cursor: Option<ReadCursor>,
    }

    /// Somebody in a channel.
    #[serde(rename_all = "camelCase")]
    pub struct ChannelMember {
        pub principal_id: String,
        pub role: ChannelRole,
        /// Milliseconds since the epoch.
        pub joined_at: i64,
    }

    /// How far a member has read.
    #[serde(rename_all = "camelCase")]
    pub struct ReadCursor {
        /// The last message read; 0 before the first.
        pub sequence: u64,
        /// Messages behind `sequence`, without the member's own: of the last 64 rows of them, that is, where others spoke in
        /// between.
        pub unread_count: u64,
    }

    /// One message of a channel. It never changes.
    #[serde(rename_all = "camelCase")]
    pub struct MessageEvent {
        pub id: MessageId,
        pub channel_id: MessagingChannelId,
        /// 1, 2, 3 … within the channel, without gaps.
        pub sequence: u64,
        /// Milliseconds since the epoch.
        pub timestamp: i64,
        pub author: String,
        /// Exactly as they were sent.
        pub parts: Parts,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub artifact_refs: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub task_refs: Vec<String>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub metadata: Metadata,
        pub idempotency_key: Option<String>,
        /// The message this one answers.
        pub reply_to_id: Option<MessageId>,
        /// The first message of the thread this one belongs to.
        pub thread_id: Option<MessageId>,
        pub kind: MessageEventKind,
    }

    /// A change of the channel itself.
    #[serde(rename_all = "camelCase")]
    pub struct ControlEvent {
        pub id: EventId,
        pub channel_id: MessagingChannelId,
        /// How many messages stand before it.
        pub after_sequence: u64,
        /// The channel's version from here on.
        pub version: u64,
        /// Milliseconds since the epoch.
        pub timestamp: i64,
        pub actor: String,
        pub action: ControlAction,
        /// Whom it is about, where it is about a member.
        pub principal_id: Option<String>,
        pub role: Option<ChannelRole>,
        /// Who was in the channel from its beginning.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub members: Vec<FirstMember>,
        /// The new name, where it changed.
        pub name: Option<String>,
        pub metadata_patch: Option<MetadataPatch>,
        pub kind: ControlEventKind,
    }

    /// A member that a channel was created with.
    #[serde(rename_all = "camelCase")]
    pub struct FirstMember {
        pub principal_id: String,
        pub role: ChannelRole,
    }

    /// What changes in metadata. A key stands in one of the two at most.
    pub struct MetadataPatch {
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        pub set: Metadata,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub remove: Vec<String>,
    }

    /// Who did what to which channel. Messages are named, never shown.
    #[serde(rename_all = "camelCase")]
    pub struct ChannelAuditEntry {
        pub channel_id: MessagingChannelId,
        /// The message's own id where it is about a message; of the recorded fact otherwise.
        pub event_id: String,
        /// Milliseconds since the epoch.
        pub timestamp: i64,
        pub actor: String,
        pub action: ChannelAuditAction,
        pub principal_id: Option<String>,
        pub role: Option<ChannelRole>,
        /// Who was in the channel from its beginning.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub members: Vec<FirstMember>,
        pub message_id: Option<MessageId>,
        /// The message published, or the one read up to.
        pub sequence: Option<u64>,
    }
}

words! {
    /// Who knows that a channel exists.
    #[derive(Default)]
    pub enum ChannelVisibility {
        /// Its members.
        #[default]
        Private,
        /// Everybody of the account may read it; members write.
        Public,
    }

    #[derive(Default)]
    pub enum ChannelRole {
        /// Manages the channel, besides what a member may do.
        Owner,
        #[default]
        Member,
        /// The rights of a member; more is reserved.
        Moderator,
    }
}

/// Words in camelCase: those of the seed's objects that are more than one word.
macro_rules! camel_words {
    ($($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident,)* })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub enum $name { $($(#[$vmeta])* $variant,)* }
    )*};
}
use camel_words;

camel_words! {
    /// Says that an object is a channel.
    pub enum ChannelKind {
        Channel,
    }

    /// Says that an object is a message.
    pub enum MessageEventKind {
        MessageEvent,
    }

    /// Says that an object is a change of the channel itself.
    pub enum ControlEventKind {
        ControlEvent,
    }

    /// What changed.
    pub enum ControlAction {
        ChannelCreated,
        ChannelUpdated,
        /// In `channels/audit` alone: a stream ends where the channel does, and delivers nothing more.
        ChannelDeleted,
        MemberAdded,
        MemberRemoved,
        MemberRoleChanged,
    }

    /// What was done, for the audit.
    pub enum ChannelAuditAction {
        ChannelCreated,
        ChannelUpdated,
        ChannelDeleted,
        MemberAdded,
        MemberRemoved,
        MemberRoleChanged,
        MessagePublished,
        ReadMarked,
    }
}

impl From<ControlAction> for ChannelAuditAction {
    fn from(action: ControlAction) -> Self {
        match action {
            ControlAction::ChannelCreated => Self::ChannelCreated,
            ControlAction::ChannelUpdated => Self::ChannelUpdated,
            ControlAction::ChannelDeleted => Self::ChannelDeleted,
            ControlAction::MemberAdded => Self::MemberAdded,
            ControlAction::MemberRemoved => Self::MemberRemoved,
            ControlAction::MemberRoleChanged => Self::MemberRoleChanged,
        }
    }
}
