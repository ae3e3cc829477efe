//! The contract every store keeps, written once for the embedded engine, the in-memory one and those to come.
//!
//! It owns the shape of a commit and the promises around it. It does not know what a record means: records are bytes
//! that the caller encoded once, index keys and values are bytes that the caller derived from them.
//!
//! ```text
//!   append(commit, done)            returns at once; the order of calls is the order of commits
//!        │
//!        ├── checked     the stream's last sequence is `expected`, or the commit is refused and nothing is written
//!        ├── durable     on disk, synced, together with every commit before it
//!        ├── visible     every read sees it
//!        └── done(Ok)    called in commit order, exactly once for each commit
//! ```
//!
//! - **Order.** Commits get positions in the order `append` was called. Sequences of one stream are contiguous from 1.
//! - **Durability.** `done(Ok)` is called only after the bytes of this commit and of all before it are synced.
//!   Nothing is visible to any read before that.
//! - **Atomicity.** All records and index changes of a commit become visible together or, after a crash, not at all.
//! - **Failure.** A failed write or sync poisons the store: that commit and all later ones get
//!   [`AppendError::Poisoned`], readers go on. A full disk is not poison: commits that have no room are refused with
//!   [`AppendError::Full`] and later ones succeed when there is room again.
//! - **Cancellation.** There is none. A caller that stops waiting has still committed.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{oneshot, watch};

use crate::error::{AppendError, ReadError};

/// The number of a record in its stream. The first record is 1; 0 stands for "before the first".
pub type Sequence = u64;

/// Where a commit stands in the order of the whole store. Grows with every commit, not by one. 0 is before the first.
pub type Position = u64;

/// SHA-256 over a commit's content and the hash of the commit before it in the same stream.
pub type Hash = [u8; 32];

/// What the first commit of a stream names as the hash before it.
pub const NO_HASH: Hash = [0; 32];

/// One atomic append to one stream.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The stream's name, 1 to [`STREAM_NAME_BYTES_MAX`] bytes.
    pub stream: Arc<str>,
    /// Whose data this is. A feed can be narrowed to one partition without decoding any record.
    pub partition: Arc<str>,
    /// The sequence of the stream's last record as the caller knows it; 0 for a stream that must not exist yet.
    pub expected: Sequence,
    /// At least one record, at most [`COMMIT_RECORDS_MAX`].
    pub records: Vec<Bytes>,
    /// Changes of the ordered key-value index, applied in this order.
    pub index: Vec<IndexChange>,
}

/// One change of the ordered key-value index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexChange {
    Put { key: Bytes, value: Bytes },
    Delete { key: Bytes },
}

pub const STREAM_NAME_BYTES_MAX: usize = 256;
pub const PARTITION_BYTES_MAX: usize = 256;
pub const COMMIT_RECORDS_MAX: usize = 10_000;
/// Everything in a commit together. A quarter of the largest segment, so that a segment is never mostly empty.
pub const COMMIT_BYTES_MAX: usize = 16 << 20;
/// LMDB's own limit is 511.
pub const KEY_BYTES_MAX: usize = 500;
pub const VALUE_BYTES_MAX: usize = 1 << 20;

/// What a durable commit became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub position: Position,
    pub first_sequence: Sequence,
    pub last_sequence: Sequence,
    pub hash: Hash,
}

/// Called once for each commit, in commit order, on the store's own thread: it must be short and must not block.
///
/// Two refusals come before the commit has any place in line, and are told on the caller's own thread before `append`
/// returns: [`AppendError::Busy`] and [`AppendError::Closed`]. So `done` must not take a lock that is held around `append`.
pub type Done = Box<dyn FnOnce(Result<Receipt, AppendError>) + Send>;

/// The last commit of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub sequence: Sequence,
    pub position: Position,
    pub hash: Hash,
}

/// One record with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub sequence: Sequence,
    pub bytes: Bytes,
}

/// One commit as it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCommit {
    pub position: Position,
    pub stream: Arc<str>,
    pub partition: Arc<str>,
    pub first_sequence: Sequence,
    pub records: Vec<Bytes>,
    pub index: Vec<IndexChange>,
    pub previous_hash: Hash,
    pub hash: Hash,
}

/// How much one read may return. At least one record is returned where there is one, whatever `bytes` says.
#[derive(Clone, Copy, Debug)]
pub struct ReadLimit {
    pub records: usize,
    pub bytes: usize,
}

impl ReadLimit {
    /// A limit on the number of records, with the default bound on their bytes.
    pub fn records(records: usize) -> Self {
        Self { records, bytes: 4 << 20 }
    }
}

/// Which way a scan walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// A range of index keys: every key that starts with `prefix` and stands strictly behind `after` in the scan's direction.
#[derive(Clone, Debug)]
pub struct Scan {
    pub prefix: Bytes,
    pub after: Option<Bytes>,
    /// Only keys strictly before this one in the scan's direction. `None` scans to the prefix's end.
    pub until: Option<Bytes>,
    pub direction: Direction,
    pub limit: usize,
}

/// A state somebody folded up to `sequence`. Disposable: losing one costs time, never facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub sequence: Sequence,
    pub bytes: Bytes,
}

/// The log and what is derived from it. See the module's essay for the promises.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Hands a commit over. Never blocks on the disk; `done` says how it went.
    fn append(&self, commit: Commit, done: Done);

    /// The last commit of a stream, or `None` where the stream has none.
    async fn head(&self, stream: &str) -> Result<Option<Head>, ReadError>;

    /// Records from `from` on, oldest first. Empty only where the stream has none there.
    async fn read(&self, stream: &str, from: Sequence, limit: ReadLimit) -> Result<Vec<Record>, ReadError>;

    /// Records before `before`, newest first.
    async fn read_back(&self, stream: &str, before: Sequence, limit: ReadLimit) -> Result<Vec<Record>, ReadError>;

    /// Commits of every stream behind `after`, in order. `limit` counts records and bytes of whole commits.
    async fn feed(&self, after: Position, limit: ReadLimit) -> Result<Vec<StoredCommit>, ReadError>;

    /// The position of the newest durable commit, and every change of it.
    fn durable(&self) -> watch::Receiver<Position>;

    /// The value of one index key.
    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ReadError>;

    /// Index entries in key order.
    async fn scan(&self, scan: Scan) -> Result<Vec<(Bytes, Bytes)>, ReadError>;

    /// Keeps a snapshot; an older one of the same stream is replaced, a newer one is kept. Not durable at once.
    fn put_snapshot(&self, stream: Arc<str>, snapshot: Snapshot);

    /// The newest snapshot kept for a stream. Its sequence is never beyond the stream's head.
    async fn snapshot(&self, stream: &str) -> Result<Option<Snapshot>, ReadError>;

    /// Why nothing can be written any more, if that is so.
    fn poisoned(&self) -> Option<Arc<str>>;

    /// Finishes what was handed over, writes down what makes the next start fast, and refuses everything after.
    async fn close(&self);
}

/// Appends and waits until the commit is durable.
pub async fn append_and_wait(store: &dyn Store, commit: Commit) -> Result<Receipt, AppendError> {
    let (sender, receiver) = oneshot::channel();
    store.append(commit, Box::new(move |outcome| drop(sender.send(outcome))));
    receiver.await.unwrap_or(Err(AppendError::Closed))
}
