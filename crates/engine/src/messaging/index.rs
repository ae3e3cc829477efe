//! The index rules of messaging: which keys a fact puts or deletes. Pure functions of the events, so the whole index can
//! be deleted and made again, and `factum verify` can compare.
//!
//! ```text
//!   facts      created  msg  msg  added  read  msg        the stream's sequence:  1 2 3 4 5 6
//!   messages             1    2                 3         the message's own
//!   offset row   0→1                2→3                   messages so far → other facts so far
//! ```
//!
//! Message `m` stands at `m + c`, where `c` is the value of the last `offset` row of fewer than `m` messages. A row is
//! written where facts that are no messages end, so publishing alone writes none.

use factum_model::commands::CreateChannel;
use factum_model::events::MessagePublished;
use factum_model::id::MessagingChannelId;
use factum_model::messaging::{ChannelRole, ChannelVisibility};
use factum_model::{Command, Event, Fact};
use serde::{Deserialize, Serialize};

use super::apply::apply;
use super::state::{ChannelState, Shell};
use crate::key::{IndexChange, Key, KeyReader, row_bytes};
use crate::session::{idempotency_row, idempotency_row_at};

/// The keys, and how to read them back.
pub mod keys {
    use super::*;

    /// A principal's channels. Also the gate: whoever has a row here is a member.
    pub fn member(account: &str, principal: &str, channel_id: &MessagingChannelId) -> Vec<u8> {
        Key::table("messaging_member").text(account).text(principal).text(channel_id.as_str()).into_bytes()
    }

    pub fn members_of(account: &str, principal: &str) -> Vec<u8> {
        Key::table("messaging_member").text(account).text(principal).into_bytes()
    }

    /// Everybody who is in a channel of the account.
    pub fn members_in(account: &str) -> Vec<u8> {
        Key::table("messaging_member").text(account).into_bytes()
    }

    /// Behind all channels of a principal, and before those of the next.
    pub fn behind_members_of(account: &str, principal: &str) -> Vec<u8> {
        // Ids of channels are ASCII, so nothing of theirs comes behind this byte.
        [members_of(account, principal).as_slice(), &[u8::MAX]].concat()
    }

    /// The principal of a `member` key.
    pub fn read_member_principal(key: &[u8]) -> Option<&str> {
        let mut reader = table(key, "messaging_member")?;
        reader.text()?;
        reader.text()
    }

    /// The channel of a `member` key.
    pub fn read_member(key: &[u8]) -> Option<MessagingChannelId> {
        let mut reader = table(key, "messaging_member")?;
        reader.text()?;
        reader.text()?;
        reader.text()?.parse().ok()
    }

    /// Public channels that are there.
    pub fn public(account: &str, channel_id: &MessagingChannelId) -> Vec<u8> {
        Key::table("messaging_public").text(account).text(channel_id.as_str()).into_bytes()
    }

    pub fn publics_of(account: &str) -> Vec<u8> {
        Key::table("messaging_public").text(account).into_bytes()
    }

    /// The channel of a `public` key.
    pub fn read_public(key: &[u8]) -> Option<MessagingChannelId> {
        let mut reader = table(key, "messaging_public")?;
        reader.text()?;
        reader.text()?.parse().ok()
    }

    /// Behind how many messages other facts stand. Message `m` is found by the last key before `offset(…, m)`.
    pub fn offset(account: &str, channel_id: &MessagingChannelId, messages: u64) -> Vec<u8> {
        Key::table("messaging_offset").text(account).text(channel_id.as_str()).number(messages).into_bytes()
    }

    pub fn offsets_of(account: &str, channel_id: &MessagingChannelId) -> Vec<u8> {
        Key::table("messaging_offset").text(account).text(channel_id.as_str()).into_bytes()
    }

    /// The number of messages of an `offset` key.
    pub fn read_offset(key: &[u8]) -> Option<u64> {
        let mut reader = table(key, "messaging_offset")?;
        reader.text()?;
        reader.text()?;
        reader.number()
    }

    /// The value of an `offset` row: other facts so far.
    pub fn read_offset_value(value: &[u8]) -> Option<u64> {
        Some(u64::from_be_bytes(value.try_into().ok()?))
    }

    /// The message that an author published with this key. Keys belong to a channel and an author.
    pub fn message_key(account: &str, channel_id: &MessagingChannelId, author: &str, key: &str) -> Vec<u8> {
        // Authors and keys are free text; a digest bounds their length and keeps them out of the index.
        let digest = crate::digest::sha256(format!("{author}\n{key}").as_bytes());
        Key::table("messaging_key").text(account).text(channel_id.as_str()).text(&digest).into_bytes()
    }

    /// What a command about the channel was answered with under this key. Keys belong to a channel and a principal; that of
    /// `channels/create`, which has no channel yet, to the principal alone.
    pub fn command_key(account: &str, channel_id: &MessagingChannelId, principal: &str, key: &str) -> Vec<u8> {
        let digest = crate::digest::sha256(format!("{principal}\n{key}").as_bytes());
        Key::table("messaging_command").text(account).text(channel_id.as_str()).text(&digest).into_bytes()
    }

    fn table<'a>(key: &'a [u8], name: &str) -> Option<KeyReader<'a>> {
        let mut reader = KeyReader::new(key);
        reader.text().filter(|table| *table == name)?;
        Some(reader)
    }
}

/// What somebody is in a channel. Direct channels are left out of lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberRow {
    pub role: ChannelRole,
    pub direct: bool,
}

/// What a repeated publish is compared with and answered from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageKeyRow {
    /// The message's own.
    pub sequence: u64,
    pub digest: String,
}

/// Applies the events of one commit and returns what they change in the index.
///
/// A commit is the unit: a key of an account can be made although the fact that names the account stands later in it.
pub fn apply_commit(state: &mut ChannelState, events: &[Event]) -> Vec<IndexChange> {
    let mut offsets = Vec::new();
    let mut run = None;
    for event in events {
        apply(state, event);
        match &event.fact {
            Fact::MessagePublished(_) => offsets.extend(run.take()),
            _ => run = Some((state.message_count, state.other_count)),
        }
    }
    offsets.extend(run);
    let Some(shell) = &state.shell else { return Vec::new() };
    let mut changes = Vec::new();
    for event in events {
        rows_of(event, shell, &mut changes);
    }
    for (messages, others) in offsets {
        let key = keys::offset(&shell.account, &shell.channel_id, messages);
        changes.push(IndexChange::Put { key, value: others.to_be_bytes().to_vec() });
    }
    changes
}

fn rows_of(event: &Event, shell: &Shell, changes: &mut Vec<IndexChange>) {
    let member = |principal: &str| keys::member(&shell.account, principal, &shell.channel_id);
    let row = |role| MemberRow { role, direct: shell.direct };
    match &event.fact {
        Fact::MessagePublished(fact) => changes.extend(key_row(fact, shell)),
        Fact::MessagingChannelCreated(fact) => {
            changes.extend(fact.members.iter().map(|first| put(member(&first.principal), &row(first.role))));
            if fact.visibility == ChannelVisibility::Public {
                changes.push(IndexChange::Put { key: public(shell), value: Vec::new() });
            }
        }
        Fact::MessagingMemberAdded(fact) => changes.push(put(member(&fact.principal), &row(fact.role))),
        Fact::MessagingMemberChanged(fact) => changes.push(put(member(&fact.principal), &row(fact.role))),
        Fact::MessagingMemberRemoved(fact) => changes.push(IndexChange::Delete { key: member(&fact.principal) }),
        Fact::MessagingChannelDeleted(fact) => {
            changes.extend(fact.members.iter().map(|principal| IndexChange::Delete { key: member(principal) }));
            if shell.visibility == ChannelVisibility::Public {
                changes.push(IndexChange::Delete { key: public(shell) });
            }
        }
        Fact::CommandAccepted(fact) if fact.command == CreateChannel::NAME => {
            changes.push(idempotency_row(&shell.account, fact));
        }
        Fact::CommandAccepted(fact) => {
            let key = keys::command_key(&shell.account, &shell.channel_id, &fact.principal, &fact.idempotency_key);
            changes.push(idempotency_row_at(key, fact));
        }
        _ => {}
    }
}

fn key_row(fact: &MessagePublished, shell: &Shell) -> Option<IndexChange> {
    let (key, digest) = (fact.idempotency_key.as_deref()?, fact.digest.clone()?);
    let key = keys::message_key(&shell.account, &shell.channel_id, &fact.author, key);
    Some(put(key, &MessageKeyRow { sequence: fact.sequence, digest }))
}

fn public(shell: &Shell) -> Vec<u8> {
    keys::public(&shell.account, &shell.channel_id)
}

fn put(key: Vec<u8>, row: &impl Serialize) -> IndexChange {
    IndexChange::Put { key, value: row_bytes(row) }
}
