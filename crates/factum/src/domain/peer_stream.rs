//! The streams of remote channels: `peer/<account>/<channel id>`.

use factum_engine::peers::{PeerState, apply_commit, partition_name};
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
        let (account, channel_id) = stream.strip_prefix("peer/")?.split_once('/')?;
        Some(Self { account, channel_id })
    }

    /// What in the commit does not belong to this stream.
    pub(super) fn wrong(&self, commit: &StoredCommit, events: &[Event]) -> Vec<(u64, String)> {
        let mut wrong = Vec::new();
        if *commit.partition != *partition_name(self.account) {
            wrong.push((commit.first_sequence, format!("it is in the partition {}", commit.partition)));
        }
        for event in events {
            match &event.scope.channel_id {
                Some(channel_id) if channel_id.as_str() == self.channel_id => {}
                Some(channel_id) => wrong.push((event.sequence, format!("the event is about {channel_id}"))),
                None => wrong.push((event.sequence, "the event names no channel".to_owned())),
            }
            if let Fact::ChannelConnected(fact) = &event.fact
                && fact.identity.account_ref.as_deref() != Some(self.account)
            {
                wrong.push((event.sequence, "the channel is of another account".to_owned()));
            }
        }
        wrong
    }
}

/// Applies a commit to its channel and says what about it is not as its events make it.
pub(super) fn fold(state: &mut PeerState, commit: &StoredCommit, events: &[Event]) -> Vec<(u64, String)> {
    let before = state.peer.as_ref().map(|peer| peer.updated_at);
    let made = apply_commit(state, events);
    let mut wrong: Vec<(u64, String)> =
        compare(&commit.index, &made).map(|what| (commit.first_sequence, what)).into_iter().collect();
    if state.peer.is_none() {
        wrong.push((commit.first_sequence, "the stream does not begin with channel.connected".to_owned()));
    }
    wrong.extend(backwards(before, events));
    wrong
}
