//! The contract as tests. Every store runs all of them: `factum_store::conformance_tests!(harness)`.
//!
//! Each test gets a fresh store from a [`Harness`] and panics where a promise is broken. What only some stores can do,
//! such as opening again or failing on demand, the harness says with `None`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod commits;
mod failures;
mod index;
mod reads;

use std::sync::Arc;

use bytes::Bytes;

use crate::contract::*;
use crate::error::AppendError;

pub use commits::*;
pub use failures::*;
pub use index::*;
pub use reads::*;

/// How the suite gets at a store of one kind.
pub trait Harness: Send + Sync {
    type Store: Store;

    /// A new, empty store.
    fn open(&self) -> Arc<Self::Store>;

    /// Moves what is in memory to wherever this store keeps it in the long run, so that reads cross that seam.
    fn settle(&self, _store: &Self::Store) {}

    /// The same store after a close and a start; `None` where it keeps nothing.
    fn reopen(&self, _store: Arc<Self::Store>) -> Option<Arc<Self::Store>> {
        None
    }

    /// Makes the next sync fail. False where that cannot be done.
    fn fail_next_sync(&self, _store: &Self::Store) -> bool {
        false
    }
}

/// Declares one test for each promise. The argument is an expression that makes the harness.
#[macro_export]
macro_rules! conformance_tests {
    ($harness:expr) => {
        $crate::conformance_tests! { $harness;
            positions_grow_in_the_order_of_appends, sequences_are_contiguous_and_chained, a_wrong_expectation_is_a_conflict,
            many_commits_in_flight_keep_their_order, done_is_called_once_and_in_order, limits_are_refused_in_order,
            a_commit_is_visible_before_done_and_whole, the_durable_position_is_published,
            a_stream_reads_forwards_and_backwards, read_limits_hold_at_every_edge, an_unknown_stream_is_empty,
            the_feed_gives_every_commit_once, the_feed_takes_any_cursor, feed_limits_count_whole_commits,
            an_index_key_has_its_newest_value, scans_go_both_ways, scans_keep_within_their_bounds,
            deleted_keys_stay_hidden, snapshots_are_the_newest_and_never_ahead,
            a_failed_sync_poisons, closing_finishes_and_refuses, everything_is_there_after_opening_again
        }
    };
    ($harness:expr; $($name:ident),* $(,)?) => {
        $(#[tokio::test] async fn $name() { $crate::conformance::$name(&$harness).await })*
    };
}

/// A commit with records of these texts and no index changes.
pub fn commit(stream: &str, expected: Sequence, records: &[&str]) -> Commit {
    let records = records.iter().map(|text| Bytes::copy_from_slice(text.as_bytes())).collect();
    Commit { stream: stream.into(), partition: "part".into(), expected, records, index: Vec::new() }
}

pub fn put(key: &str, value: &str) -> IndexChange {
    IndexChange::Put { key: text(key), value: text(value) }
}

pub fn delete(key: &str) -> IndexChange {
    IndexChange::Delete { key: text(key) }
}

pub fn text(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

pub(crate) async fn append(store: &dyn Store, commit: Commit) -> Receipt {
    append_and_wait(store, commit).await.expect("the commit is accepted")
}

pub(crate) async fn refused(store: &dyn Store, commit: Commit) -> AppendError {
    append_and_wait(store, commit).await.expect_err("the commit is refused")
}

pub(crate) fn texts(records: Vec<Record>) -> Vec<(Sequence, String)> {
    records.into_iter().map(|record| (record.sequence, String::from_utf8(record.bytes.to_vec()).unwrap())).collect()
}

/// Everything a store answers, for comparing two of them whole. Positions and hashes are left out: they are the
/// store's own.
#[derive(Debug, PartialEq, Eq)]
pub struct Dump {
    pub commits: Vec<DumpedCommit>,
    /// Name, head and records of each stream.
    pub streams: Vec<(Arc<str>, Sequence, Vec<Record>)>,
    pub index: Vec<(Bytes, Bytes)>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct DumpedCommit {
    pub stream: Arc<str>,
    pub partition: Arc<str>,
    pub first_sequence: Sequence,
    pub records: Vec<Bytes>,
    pub index: Vec<IndexChange>,
}

impl From<StoredCommit> for DumpedCommit {
    fn from(commit: StoredCommit) -> Self {
        let StoredCommit { stream, partition, first_sequence, records, index, .. } = commit;
        Self { stream, partition, first_sequence, records, index }
    }
}

/// Reads everything through the contract.
pub async fn dump(store: &dyn Store) -> Dump {
    let all = ReadLimit { records: usize::MAX, bytes: usize::MAX };
    let commits = store.feed(0, all).await.unwrap();
    let mut names: Vec<_> = commits.iter().map(|commit| commit.stream.clone()).collect();
    names.sort();
    names.dedup();
    let mut streams = Vec::new();
    for name in names {
        let head = store.head(&name).await.unwrap().expect("a stream in the feed has a head");
        let records = store.read(&name, 1, all).await.unwrap();
        let mut back = store.read_back(&name, Sequence::MAX, all).await.unwrap();
        back.reverse();
        assert_eq!(records, back, "{name} reads the same both ways");
        streams.push((name, head.sequence, records));
    }
    let scan = |direction| Scan { prefix: Bytes::new(), after: None, until: None, direction, limit: usize::MAX };
    let index = store.scan(scan(Direction::Forward)).await.unwrap();
    let mut back = store.scan(scan(Direction::Backward)).await.unwrap();
    back.reverse();
    assert_eq!(index, back, "the index reads the same both ways");
    let commits = commits.into_iter().map(DumpedCommit::from).collect();
    Dump { commits, streams, index }
}
