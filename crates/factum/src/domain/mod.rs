//! What `factum verify` checks above the store: that every record is an event in its place, and that folding each stream
//! again gives the index changes that were stored beside it.
//!
//! It sees each commit once, in the order of the store, and keeps one folded state per session, channel and peer. Those at
//! rest are dropped when there are too many; what then comes of them is counted as not folded, never as a finding.

mod messaging_stream;
mod peer_stream;
mod runtime_stream;
mod session_stream;

use std::collections::HashMap;
use std::sync::Arc;

use factum_engine::IndexChange;
use factum_engine::access::RUNTIME_STREAM;
use factum_engine::messaging::ChannelState;
use factum_engine::peers::PeerState;
use factum_engine::session::SessionState;
use factum_model::id::RuntimeId;
use factum_model::{Event, Timestamp};
use factum_store::StoredCommit;
use serde::Serialize;

use runtime_stream::RuntimeStream;

/// States of a kind kept at once: a few kilobytes each.
const STATES_MAX: usize = 100_000;
/// Findings beyond this are counted, not kept.
const FINDINGS_MAX: usize = 1_000;

/// The check under way.
#[derive(Default)]
pub(crate) struct Domain {
    sessions: HashMap<Arc<str>, SessionState>,
    channels: HashMap<Arc<str>, ChannelState>,
    peers: HashMap<Arc<str>, PeerState>,
    runtime: RuntimeStream,
    runtime_id: Option<RuntimeId>,
    report: Report,
}

/// What was checked and found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Report {
    pub(crate) events: u64,
    pub(crate) sessions: u64,
    /// Messaging channels, deleted ones too.
    pub(crate) channels: u64,
    /// Remote channels.
    pub(crate) peers: u64,
    /// Commits whose index changes were made again and compared.
    pub(crate) folded_commits: u64,
    /// Commits of sessions and channels that were not kept in memory, or that follow damage.
    pub(crate) not_folded_commits: u64,
    /// Commits of streams that this version knows nothing of.
    pub(crate) unknown_stream_commits: u64,
    pub(crate) findings: Vec<Finding>,
    pub(crate) findings_left_out: u64,
}

/// One fact that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) position: u64,
    pub(crate) stream: String,
    pub(crate) sequence: u64,
    pub(crate) what: String,
}

impl Domain {
    /// Looks at the next commit.
    pub(crate) fn commit(&mut self, commit: &StoredCommit) {
        let Some(events) = self.decode(commit) else {
            self.sessions.remove(&commit.stream);
            self.channels.remove(&commit.stream);
            self.peers.remove(&commit.stream);
            self.report.not_folded_commits += 1;
            return;
        };
        self.check_runtime_id(commit, &events);
        if &*commit.stream == RUNTIME_STREAM {
            let wrong = self.runtime.wrong(commit, &events);
            self.report.folded_commits += 1;
            self.add_all(commit, wrong);
        } else if let Some(name) = session_stream::Name::parse(&commit.stream) {
            self.session(commit, &events, name);
        } else if let Some(name) = messaging_stream::Name::parse(&commit.stream) {
            self.channel(commit, &events, name);
        } else if let Some(name) = peer_stream::Name::parse(&commit.stream) {
            self.peer(commit, &events, name);
        } else {
            self.report.unknown_stream_commits += 1;
        }
    }

    pub(crate) fn finish(self) -> Report {
        self.report
    }

    /// The commit's events, numbered as the store numbers them.
    fn decode(&mut self, commit: &StoredCommit) -> Option<Vec<Event>> {
        let mut events = Vec::with_capacity(commit.records.len());
        for (record, sequence) in commit.records.iter().zip(commit.first_sequence..) {
            match Event::decode(record) {
                Ok(event) if event.sequence == sequence => events.push(event),
                Ok(event) => self.add(commit, sequence, format!("the event says that it is number {}", event.sequence)),
                Err(error) => self.add(commit, sequence, format!("the record is not an event: {error}")),
            }
        }
        self.report.events += events.len() as u64;
        (events.len() == commit.records.len()).then_some(events)
    }

    /// One installation, one id.
    fn check_runtime_id(&mut self, commit: &StoredCommit, events: &[Event]) {
        for event in events {
            let known = self.runtime_id.get_or_insert_with(|| event.runtime_id.clone());
            if event.runtime_id != *known {
                let what = format!("it is of the runtime {}, the others are of {known}", event.runtime_id);
                self.add(commit, event.sequence, what);
            }
        }
    }

    fn session(&mut self, commit: &StoredCommit, events: &[Event], name: session_stream::Name<'_>) {
        self.make_room();
        if commit.first_sequence == 1 {
            self.report.sessions += 1;
            if self.sessions.len() < STATES_MAX {
                self.sessions.insert(commit.stream.clone(), SessionState::default());
            }
        }
        let wrong = name.wrong(commit, events);
        self.add_all(commit, wrong);
        let following = |state: &&mut SessionState| state.sequence + 1 == commit.first_sequence;
        let Some(state) = self.sessions.get_mut(&commit.stream).filter(following) else {
            self.sessions.remove(&commit.stream);
            self.report.not_folded_commits += 1;
            return;
        };
        let wrong = session_stream::fold(state, commit, events);
        self.report.folded_commits += 1;
        self.add_all(commit, wrong);
    }

    fn channel(&mut self, commit: &StoredCommit, events: &[Event], name: messaging_stream::Name<'_>) {
        self.make_room();
        if commit.first_sequence == 1 {
            self.report.channels += 1;
            if self.channels.len() < STATES_MAX {
                self.channels.insert(commit.stream.clone(), ChannelState::default());
            }
        }
        let wrong = name.wrong(commit, events);
        self.add_all(commit, wrong);
        let following = |state: &&mut ChannelState| state.sequence + 1 == commit.first_sequence;
        let Some(state) = self.channels.get_mut(&commit.stream).filter(following) else {
            self.channels.remove(&commit.stream);
            self.report.not_folded_commits += 1;
            return;
        };
        let wrong = messaging_stream::fold(state, commit, events);
        self.report.folded_commits += 1;
        self.add_all(commit, wrong);
    }

    fn peer(&mut self, commit: &StoredCommit, events: &[Event], name: peer_stream::Name<'_>) {
        if commit.first_sequence == 1 {
            self.report.peers += 1;
            if self.peers.len() < STATES_MAX {
                self.peers.insert(commit.stream.clone(), PeerState::default());
            }
        }
        let wrong = name.wrong(commit, events);
        self.add_all(commit, wrong);
        let following = |state: &&mut PeerState| state.sequence + 1 == commit.first_sequence;
        let Some(state) = self.peers.get_mut(&commit.stream).filter(following) else {
            self.peers.remove(&commit.stream);
            self.report.not_folded_commits += 1;
            return;
        };
        let wrong = peer_stream::fold(state, commit, events);
        self.report.folded_commits += 1;
        self.add_all(commit, wrong);
    }

    fn make_room(&mut self) {
        if self.sessions.len() >= STATES_MAX {
            self.sessions.retain(|_, state| state.unfinished());
        }
        if self.channels.len() >= STATES_MAX {
            self.channels.retain(|_, state| !state.deleted);
        }
    }

    fn add_all(&mut self, commit: &StoredCommit, wrong: Vec<(u64, String)>) {
        for (sequence, what) in wrong {
            self.add(commit, sequence, what);
        }
    }

    fn add(&mut self, commit: &StoredCommit, sequence: u64, what: String) {
        if self.report.findings.len() == FINDINGS_MAX {
            self.report.findings_left_out += 1;
            return;
        }
        let finding = Finding { position: commit.position, stream: commit.stream.to_string(), sequence, what };
        self.report.findings.push(finding);
    }
}

/// Time never runs backwards within a stream.
fn backwards(before: Option<Timestamp>, events: &[Event]) -> Option<(u64, String)> {
    let mut latest = before;
    for event in events {
        if latest.is_some_and(|latest| event.timestamp < latest) {
            return Some((event.sequence, "the event is older than the one before it".to_owned()));
        }
        latest = Some(event.timestamp);
    }
    None
}

/// Whether a stored change is the one that was made again.
fn same(stored: &factum_store::IndexChange, made: &IndexChange) -> bool {
    match (stored, made) {
        (factum_store::IndexChange::Put { key, value }, IndexChange::Put { key: made_key, value: made_value }) => {
            key == made_key && value == made_value
        }
        (factum_store::IndexChange::Delete { key }, IndexChange::Delete { key: made_key }) => key == made_key,
        _ => false,
    }
}

/// What is wrong with stored changes, given the ones that the events make.
fn compare(stored: &[factum_store::IndexChange], made: &[IndexChange]) -> Option<String> {
    if stored.len() == made.len() && stored.iter().zip(made).all(|(stored, made)| same(stored, made)) {
        return None;
    }
    let differs = |(stored, made)| !same(stored, made);
    let first = stored.iter().zip(made).position(differs).unwrap_or(stored.len().min(made.len()));
    let key = stored.get(first).map(stored_key).or_else(|| made.get(first).map(made_key)).unwrap_or_default();
    Some(format!(
        "its index change {} (key {:?}) is not the one its events make",
        first + 1,
        String::from_utf8_lossy(key)
    ))
}

fn stored_key(change: &factum_store::IndexChange) -> &[u8] {
    match change {
        factum_store::IndexChange::Put { key, .. } | factum_store::IndexChange::Delete { key } => key,
    }
}

fn made_key(change: &IndexChange) -> &[u8] {
    match change {
        IndexChange::Put { key, .. } | IndexChange::Delete { key } => key,
    }
}

#[cfg(test)]
mod tests;
