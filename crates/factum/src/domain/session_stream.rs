//! The streams of sessions: `session/<account>/<session id>`.

use factum_engine::session::{SessionState, apply_commit};
use factum_model::Event;
use factum_store::StoredCommit;

use super::{backwards, compare};

/// What a stream's name says.
pub(super) struct Name<'a> {
    account: &'a str,
    session_id: &'a str,
}

impl<'a> Name<'a> {
    pub(super) fn parse(stream: &'a str) -> Option<Self> {
        let (account, session_id) = stream.strip_prefix("session/")?.split_once('/')?;
        Some(Self { account, session_id })
    }

    /// What in the commit does not belong to this stream.
    pub(super) fn wrong(&self, commit: &StoredCommit, events: &[Event]) -> Vec<(u64, String)> {
        let mut wrong = Vec::new();
        if &*commit.partition != self.account {
            wrong.push((commit.first_sequence, format!("it is in the partition {}", commit.partition)));
        }
        for event in events {
            match &event.scope.session_id {
                Some(session_id) if session_id.as_str() == self.session_id => {}
                Some(session_id) => wrong.push((event.sequence, format!("the event is about {session_id}"))),
                None => wrong.push((event.sequence, "the event names no session".to_owned())),
            }
        }
        wrong
    }
}

/// Applies a commit to its session and says what about it is not as its events make it.
pub(super) fn fold(state: &mut SessionState, commit: &StoredCommit, events: &[Event]) -> Vec<(u64, String)> {
    let before = state.shell.as_ref().map(|shell| shell.updated_at);
    let made = apply_commit(state, events);
    let mut wrong: Vec<(u64, String)> =
        compare(&commit.index, &made).map(|what| (commit.first_sequence, what)).into_iter().collect();
    if state.shell.is_none() {
        wrong.push((commit.first_sequence, "the stream does not begin with session.created".to_owned()));
    }
    wrong.extend(backwards(before, events));
    wrong
}
