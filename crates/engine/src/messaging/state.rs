//! What is remembered of a channel between commands. Bounded: what it is, its members and counters, never messages.
//!
//! The state is serialized as a snapshot, so a field that is added later needs a serde default; a snapshot that no longer
//! parses is thrown away and the events are folded again.

use std::collections::BTreeMap;

use factum_model::Timestamp;
use factum_model::id::MessagingChannelId;
use factum_model::messaging::{ChannelRole, ChannelVisibility, ReadCursor};
use factum_model::value::Metadata;
use serde::{Deserialize, Serialize};

use super::own_messages::OwnMessages;

/// A channel as it stands at `sequence`. `shell` is absent before the first event and stays when the channel is deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChannelState {
    /// Of the stream: messages and other facts together.
    pub sequence: u64,
    pub shell: Option<Shell>,
    /// By principal.
    pub members: BTreeMap<String, Member>,
    /// Also the last message's sequence.
    pub message_count: u64,
    /// Facts that are not messages. With `message_count` it makes `sequence`.
    pub other_count: u64,
    /// Gone for everybody, for ever.
    pub deleted: bool,
}

/// What a channel is, apart from who is in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shell {
    pub account: String,
    pub channel_id: MessagingChannelId,
    pub direct: bool,
    pub name: Option<String>,
    pub visibility: ChannelVisibility,
    pub created_by: String,
    pub created_at: Timestamp,
    /// When the last fact was recorded. Time never runs backwards within a channel.
    pub updated_at: Timestamp,
    pub metadata: Metadata,
    pub version: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    pub role: ChannelRole,
    pub joined_at: Timestamp,
    /// The last message read; 0 before the first.
    pub read_sequence: u64,
    /// What the member said behind that, which nobody has to read to them.
    #[serde(default, skip_serializing_if = "OwnMessages::is_empty")]
    pub own: OwnMessages,
}

impl ChannelState {
    /// The channel, while it is there.
    pub fn existing(&self) -> Option<&Shell> {
        self.shell.as_ref().filter(|_| !self.deleted)
    }

    /// Whether nobody would own the channel without this member (seed 002 §7: the last owner cannot be removed).
    pub(super) fn is_last_owner(&self, principal: &str) -> bool {
        let owns = |member: &Member| member.role == ChannelRole::Owner;
        let others = self.members.iter().filter(|(name, member)| owns(member) && name.as_str() != principal);
        self.members.get(principal).is_some_and(owns) && others.count() == 0
    }

    /// Where a member is that has read up to this message.
    pub(super) fn read_cursor(&self, member: Option<&Member>, sequence: u64) -> ReadCursor {
        let own = member.map_or(0, |member| member.own.behind(sequence));
        ReadCursor { sequence, unread_count: self.message_count.saturating_sub(sequence + own) }
    }
}
