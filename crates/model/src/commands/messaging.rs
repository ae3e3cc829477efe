//! Commands of messaging channels (seed 002), with the seed's names and fields.
//!
//! Where a command takes a `channelId` or a `peer`, exactly one of the two is given; `peer` is the direct channel with
//! that principal, which is created when it is first used. The key is `idempotencyKey`, as the seed spells it, or
//! `idempotency_key`, as all other commands do.

use crate::id::{MessageId, MessagingChannelId};
use crate::messaging::*;
use crate::value::Metadata;
use crate::wire::{wire, words};

wire! {
    /// Create a channel. You are its owner.
    #[serde(rename_all = "camelCase")]
    pub struct CreateChannel {
        /// Up to 128 characters.
        pub name: Option<String>,
        /// `private` where absent.
        pub visibility: Option<ChannelVisibility>,
        pub metadata: Option<Metadata>,
        /// Who else is in it from the beginning.
        pub members: Option<Vec<NewChannelMember>>,
        #[serde(alias = "idempotency_key")]
        pub idempotency_key: Option<String>,
    }

    #[serde(rename_all = "camelCase")]
    pub struct NewChannelMember {
        pub principal_id: String,
        /// `member` where absent.
        pub role: Option<ChannelRole>,
    }

    /// The channel as it stands now.
    pub struct ChannelResult {
        pub channel: Channel,
    }

    /// One channel.
    #[serde(rename_all = "camelCase")]
    pub struct GetChannel {
        pub channel_id: Option<MessagingChannelId>,
        /// The direct channel with this principal.
        pub peer: Option<String>,
    }

    /// Your channels and the public ones. Direct channels are not listed.
    #[serde(rename_all = "camelCase")]
    pub struct ListChannels {
        pub visibility: Option<ChannelVisibility>,
        /// Brought into 1 to 200; 50 where absent.
        pub page_size: Option<i64>,
        /// Where the page before ended; empty is none.
        pub page_token: Option<String>,
    }

    #[serde(rename_all = "camelCase")]
    pub struct ListChannelsResult {
        pub channels: Vec<Channel>,
        pub next_page_token: Option<String>,
    }

    /// Change a channel's name or metadata.
    #[serde(rename_all = "camelCase")]
    pub struct UpdateChannel {
        pub channel_id: MessagingChannelId,
        /// The version you saw. Another one now is a conflict.
        pub expected_version: u64,
        pub name: Option<String>,
        pub metadata_patch: Option<MetadataPatch>,
        #[serde(alias = "idempotency_key")]
        pub idempotency_key: Option<String>,
    }

    /// Delete a channel. Its members are no longer members, and its id is never used again.
    #[serde(rename_all = "camelCase")]
    pub struct DeleteChannel {
        pub channel_id: MessagingChannelId,
        #[serde(alias = "idempotency_key")]
        pub idempotency_key: Option<String>,
    }

    #[serde(rename_all = "camelCase")]
    pub struct DeleteChannelResult {
        pub channel_id: MessagingChannelId,
        pub deleted: bool,
    }

    /// Add a member, or give one another role.
    #[serde(rename_all = "camelCase")]
    pub struct AddChannelMember {
        pub channel_id: MessagingChannelId,
        pub principal_id: String,
        /// `member` where absent; somebody who is a member already keeps the role then.
        pub role: Option<ChannelRole>,
        #[serde(alias = "idempotency_key")]
        pub idempotency_key: Option<String>,
    }

    /// Take a member out. The last owner stays.
    #[serde(rename_all = "camelCase")]
    pub struct RemoveChannelMember {
        pub channel_id: MessagingChannelId,
        pub principal_id: String,
        #[serde(alias = "idempotency_key")]
        pub idempotency_key: Option<String>,
    }

    /// Publish a message.
    #[serde(rename_all = "camelCase")]
    pub struct PublishMessage {
        pub channel_id: Option<MessagingChannelId>,
        /// The direct channel with this principal.
        pub peer: Option<String>,
        /// 1 to 32 parts: `{"type": "text", "text": …}` or A2A 1.0's `{"text": …}`, `{"url": …}`, `{"data": …}`.
        #[serde(deserialize_with = "Parts::from_text")]
        pub parts: Parts,
        pub artifact_refs: Option<Vec<String>>,
        pub task_refs: Option<Vec<String>>,
        pub metadata: Option<Metadata>,
        /// Your key, unique to you in this channel. The same key and content gives the message that is there already.
        #[serde(alias = "idempotency_key")]
        pub idempotency_key: Option<String>,
        /// The message this one answers.
        pub reply_to_id: Option<MessageId>,
        /// A message of the thread this one belongs to.
        pub thread_id: Option<MessageId>,
    }

    pub struct PublishMessageResult {
        pub event: MessageEvent,
    }

    /// A page of a channel's messages.
    #[serde(rename_all = "camelCase")]
    pub struct ReadChannelHistory {
        pub channel_id: Option<MessagingChannelId>,
        /// The direct channel with this principal.
        pub peer: Option<String>,
        /// Brought into 1 to 200; 50 where absent.
        pub page_size: Option<i64>,
        /// Where the page before ended; empty is none.
        pub page_token: Option<String>,
        /// What comes behind this message. Not together with `sinceTimestamp`.
        pub since_sequence: Option<u64>,
        /// Milliseconds since the epoch; a message of that very time is in.
        pub since_timestamp: Option<i64>,
        /// Only messages of these.
        pub author_ids: Option<Vec<String>>,
        /// Only messages of the thread that this message is in.
        pub thread_id: Option<MessageId>,
        /// `forward` where absent.
        pub direction: Option<HistoryDirection>,
    }

    #[serde(rename_all = "camelCase")]
    pub struct ReadChannelHistoryResult {
        pub events: Vec<MessageEvent>,
        pub next_page_token: Option<String>,
    }

    /// Say up to where you have read. It never goes back.
    #[serde(rename_all = "camelCase")]
    pub struct MarkChannelRead {
        pub channel_id: Option<MessagingChannelId>,
        /// The direct channel with this principal.
        pub peer: Option<String>,
        /// The last message you have read.
        pub sequence: u64,
        #[serde(alias = "idempotency_key")]
        pub idempotency_key: Option<String>,
    }

    #[serde(rename_all = "camelCase")]
    pub struct MarkChannelReadResult {
        pub channel_id: MessagingChannelId,
        pub read_cursor: ReadCursor,
    }

    /// Who follows a channel right now.
    #[serde(rename_all = "camelCase")]
    pub struct GetChannelPresence {
        pub channel_id: Option<MessagingChannelId>,
        /// The direct channel with this principal.
        pub peer: Option<String>,
    }

    #[serde(rename_all = "camelCase")]
    pub struct GetChannelPresenceResult {
        pub channel_id: MessagingChannelId,
        pub present: Vec<PresentPrincipal>,
    }

    /// Somebody who follows a channel.
    #[serde(rename_all = "camelCase")]
    pub struct PresentPrincipal {
        pub principal_id: String,
        /// Open streams.
        pub streams: u32,
        /// Milliseconds since the epoch; of the first of them.
        pub since: i64,
    }

    /// Who did what in the account's channels, oldest first.
    #[serde(rename_all = "camelCase")]
    pub struct AuditChannels {
        /// All channels where absent, deleted ones too.
        pub channel_id: Option<MessagingChannelId>,
        /// Brought into 1 to 200; 50 where absent.
        pub page_size: Option<i64>,
        /// Where the page before ended; empty is none.
        pub page_token: Option<String>,
    }

    #[serde(rename_all = "camelCase")]
    pub struct AuditChannelsResult {
        pub entries: Vec<ChannelAuditEntry>,
        pub next_page_token: Option<String>,
    }
}

words! {
    /// Which way to page.
    #[derive(Default)]
    pub enum HistoryDirection {
        /// Oldest first.
        #[default]
        Forward,
        /// Newest first.
        Backward,
    }
}
