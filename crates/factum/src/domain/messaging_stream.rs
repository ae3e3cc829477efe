//! The streams of messaging channels: `messaging/<account>/<channel id>`.

use factum_engine::messaging::{ChannelState, apply_commit, partition_name};
use factum_model::id::MessagingChannelId;
use factum_model::{Event, Fact};
use factum_store::StoredCommit;

use super::{backwards, compare};

/// What a stream's name says.
pub(super) struct Name<'a> {
    account: &'a str,
    channel_id: &'a str,
}

impl<'a> Name<'a> {
    pub(super) fn parse(stream: &'a str) -> Option<Self> {
        let (account, channel_id) = stream.strip_prefix("messaging/")?.split_once('/')?;
        Some(Self { account, channel_id })
    }

    /// What in the commit does not belong to this stream.
    pub(super) fn wrong(&self, commit: &StoredCommit, events: &[Event]) -> Vec<(u64, String)> {
        let mut wrong = Vec::new();
        if *commit.partition != *partition_name(self.account) {
            wrong.push((commit.first_sequence, format!("it is in the partition {}", commit.partition)));
        }
        for event in events {
            wrong.extend(self.wrong_fact(&event.fact).map(|what| (event.sequence, what)));
        }
        wrong
    }

    fn wrong_fact(&self, fact: &Fact) -> Option<String> {
        if let Fact::MessagingChannelCreated(created) = fact
            && created.account_ref != self.account
        {
            return Some(format!("the channel is of the account {}", created.account_ref));
        }
        match channel_of(fact) {
            Some(channel_id) if channel_id.as_str() == self.channel_id => None,
            Some(channel_id) => Some(format!("the event is about {channel_id}")),
            // What lets a command be repeated names no channel and may stand in any stream.
            None if matches!(fact, Fact::CommandAccepted(_)) => None,
            None => Some(format!("{} is nothing that happens in a channel", fact.type_name())),
        }
    }
}

/// Applies a commit to its channel and says what about it is not as its events make it.
pub(super) fn fold(state: &mut ChannelState, commit: &StoredCommit, events: &[Event]) -> Vec<(u64, String)> {
    let before = state.shell.as_ref().map(|shell| shell.updated_at);
    let mut wrong = misnumbered(state.message_count, events);
    let (was_there, was_deleted) = (state.shell.is_some(), state.deleted);
    let made = apply_commit(state, events);
    wrong.extend(compare(&commit.index, &made).map(|what| (commit.first_sequence, what)));
    let created = events.iter().filter(|event| matches!(event.fact, Fact::MessagingChannelCreated(_))).count();
    match (was_there, created) {
        (false, 1) | (true, 0) => {}
        (false, _) => wrong.push((commit.first_sequence, "the stream does not begin with one channel".to_owned())),
        (true, _) => wrong.push((commit.first_sequence, "the channel is created again".to_owned())),
    }
    if was_deleted {
        wrong.push((commit.first_sequence, "the channel was deleted before".to_owned()));
    }
    wrong.extend(backwards(before, events));
    wrong
}

/// Seed 002 §6: messages are numbered 1, 2, 3 … whatever else stands between them.
fn misnumbered(messages: u64, events: &[Event]) -> Vec<(u64, String)> {
    let published = events.iter().filter_map(|event| match &event.fact {
        Fact::MessagePublished(fact) => Some((event.sequence, fact.sequence)),
        _ => None,
    });
    let differs = |((at, found), expected): ((u64, u64), u64)| {
        (found != expected).then(|| (at, format!("message {found} stands where message {expected} belongs")))
    };
    published.zip(messages + 1..).filter_map(differs).collect()
}

/// The channel that a fact of messaging is about.
fn channel_of(fact: &Fact) -> Option<&MessagingChannelId> {
    Some(match fact {
        Fact::MessagingChannelCreated(fact) => &fact.channel_id,
        Fact::MessagingChannelUpdated(fact) => &fact.channel_id,
        Fact::MessagingChannelDeleted(fact) => &fact.channel_id,
        Fact::MessagingMemberAdded(fact) => &fact.channel_id,
        Fact::MessagingMemberChanged(fact) => &fact.channel_id,
        Fact::MessagingMemberRemoved(fact) => &fact.channel_id,
        Fact::MessagePublished(fact) => &fact.channel_id,
        Fact::MessagingReadMarked(fact) => &fact.channel_id,
        _ => return None,
    })
}
