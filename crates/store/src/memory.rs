//! A store in memory: small, obviously right, and written without a line of the embedded one's reading or writing.
//!
//! It serves tests of the layers above, and as the second witness when the embedded store is tested. It can hold back
//! durability and can fail on demand, so that a test can look at the moments in between. It keeps nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::thread::JoinHandle;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use crate::contract::*;
use crate::error::{AppendError, ReadError};
use crate::limits;
use crate::reads::Budget;
use crate::scan::KeyRange;

/// Positions grow by this, so that nobody comes to rely on steps of one.
const POSITION_STEP: Position = 16;

/// See the module's essay.
pub struct MemoryStore {
    inner: Arc<Inner>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Inner {
    state: Mutex<State>,
    changed: Condvar,
    durable: watch::Sender<Position>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(Commit, Done)>,
    paused: bool,
    fail_next: bool,
    refused: BTreeSet<String>,
    refusals: usize,
    closed: bool,
    poison: Option<Arc<str>>,
    commits: Vec<StoredCommit>,
    streams: BTreeMap<Arc<str>, Stream>,
    index: BTreeMap<Bytes, Bytes>,
    snapshots: BTreeMap<Arc<str>, Snapshot>,
}

struct Stream {
    records: Vec<Bytes>,
    head: Head,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    pub fn new() -> Self {
        let inner =
            Arc::new(Inner { state: Mutex::default(), changed: Condvar::new(), durable: watch::Sender::new(0) });
        let worker = inner.clone();
        let thread = std::thread::spawn(move || worker.run());
        Self { inner, thread: Mutex::new(Some(thread)) }
    }

    /// Holds back every commit from now on: handed over, neither durable nor visible nor acknowledged.
    pub fn pause(&self) {
        self.inner.state.lock().paused = true;
    }

    /// Lets what was held back become durable, in order.
    pub fn resume(&self) {
        self.inner.state.lock().paused = false;
        self.inner.changed.notify_all();
    }

    /// How many commits are handed over and not yet durable.
    pub fn waiting(&self) -> usize {
        self.inner.state.lock().waiting.len()
    }

    /// The next commit's sync fails, which poisons the store.
    pub fn fail_next_sync(&self) {
        self.inner.state.lock().fail_next = true;
    }

    /// Refuses every commit to a stream from now on, as one that is too large.
    pub fn refuse(&self, stream: &str) {
        self.inner.state.lock().refused.insert(stream.to_owned());
    }

    /// Takes commits to the stream again.
    pub fn accept(&self, stream: &str) {
        self.inner.state.lock().refused.remove(stream);
    }

    /// How many commits were refused because somebody asked for that.
    pub fn refusals(&self) -> usize {
        self.inner.state.lock().refusals
    }

    fn end(&self) {
        let mut state = self.inner.state.lock();
        state.closed = true;
        state.paused = false;
        drop(state);
        self.inner.changed.notify_all();
        let thread = self.thread.lock().take();
        // A commit's callback may drop the store on the store's own thread.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            drop(thread.join());
        }
    }

    fn open_state(&self) -> Result<parking_lot::MutexGuard<'_, State>, ReadError> {
        let state = self.inner.state.lock();
        if state.closed { Err(ReadError::Closed) } else { Ok(state) }
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.end();
    }
}

impl Inner {
    fn run(&self) {
        let mut state = self.state.lock();
        loop {
            let next = if state.paused { None } else { state.waiting.pop_front() };
            let Some((commit, done)) = next else {
                if state.closed {
                    return;
                }
                self.changed.wait(&mut state);
                continue;
            };
            let outcome = state.commit(commit);
            if let Ok(receipt) = &outcome {
                self.durable.send_replace(receipt.position);
            }
            drop(state);
            done(outcome);
            state = self.state.lock();
        }
    }
}

impl State {
    fn commit(&mut self, commit: Commit) -> Result<Receipt, AppendError> {
        limits::check(&commit)?;
        if self.refused.contains(&*commit.stream) {
            self.refusals += 1;
            return Err(AppendError::TooLarge { what: "refused", actual: 1, limit: 0 });
        }
        if std::mem::take(&mut self.fail_next) {
            self.poison = Some("the sync was made to fail".into());
        }
        if let Some(reason) = &self.poison {
            return Err(AppendError::Poisoned { reason: reason.clone() });
        }
        let head = self.streams.get(&commit.stream).map(|stream| stream.head);
        let actual = head.map_or(0, |head| head.sequence);
        if actual != commit.expected {
            return Err(AppendError::Conflict { stream: commit.stream, expected: commit.expected, actual });
        }
        let previous_hash = head.map_or(NO_HASH, |head| head.hash);
        let position = (self.commits.len() as u64 + 1) * POSITION_STEP;
        let hash = hash(previous_hash, &commit);
        let last_sequence = actual + commit.records.len() as u64;
        let head = Head { sequence: last_sequence, position, hash };
        let stream = self.streams.entry(commit.stream.clone()).or_insert(Stream { records: Vec::new(), head });
        stream.records.extend(commit.records.iter().cloned());
        stream.head = head;
        for change in &commit.index {
            match change.clone() {
                IndexChange::Put { key, value } => drop(self.index.insert(key, value)),
                IndexChange::Delete { key } => drop(self.index.remove(&key)),
            }
        }
        let Commit { stream, partition, records, index, .. } = commit;
        let first_sequence = actual + 1;
        self.commits.push(StoredCommit {
            position,
            stream,
            partition,
            first_sequence,
            records,
            index,
            previous_hash,
            hash,
        });
        Ok(Receipt { position, first_sequence, last_sequence, hash })
    }

    fn records(&self, stream: &str) -> &[Bytes] {
        self.streams.get(stream).map_or(&[], |stream| &stream.records)
    }
}

fn hash(previous: Hash, commit: &Commit) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update(previous);
    hasher.update(commit.expected.to_le_bytes());
    for record in &commit.records {
        hasher.update((record.len() as u64).to_le_bytes());
        hasher.update(record);
    }
    hasher.finalize().into()
}

fn within(records: impl Iterator<Item = Record>, limit: ReadLimit) -> Vec<Record> {
    let mut budget = Budget::new(limit);
    records.take_while(|record| budget.take(1, record.bytes.len())).collect()
}

#[async_trait]
impl Store for MemoryStore {
    fn append(&self, commit: Commit, done: Done) {
        let mut state = self.inner.state.lock();
        if state.closed {
            drop(state);
            return done(Err(AppendError::Closed));
        }
        state.waiting.push_back((commit, done));
        drop(state);
        self.inner.changed.notify_all();
    }

    async fn head(&self, stream: &str) -> Result<Option<Head>, ReadError> {
        Ok(self.open_state()?.streams.get(stream).map(|stream| stream.head))
    }

    async fn read(&self, stream: &str, from: Sequence, limit: ReadLimit) -> Result<Vec<Record>, ReadError> {
        let state = self.open_state()?;
        let numbered = (1..).zip(state.records(stream)).filter(|(sequence, _)| *sequence >= from);
        Ok(within(numbered.map(|(sequence, bytes)| Record { sequence, bytes: bytes.clone() }), limit))
    }

    async fn read_back(&self, stream: &str, before: Sequence, limit: ReadLimit) -> Result<Vec<Record>, ReadError> {
        let state = self.open_state()?;
        let numbered = state.records(stream).iter().enumerate().rev();
        let numbered = numbered.map(|(at, bytes)| Record { sequence: at as u64 + 1, bytes: bytes.clone() });
        Ok(within(numbered.filter(|record| record.sequence < before), limit))
    }

    async fn feed(&self, after: Position, limit: ReadLimit) -> Result<Vec<StoredCommit>, ReadError> {
        let state = self.open_state()?;
        let mut budget = Budget::new(limit);
        let behind = state.commits.iter().filter(|commit| commit.position > after);
        let fitting =
            behind.take_while(|commit| budget.take(commit.records.len(), commit.records.iter().map(Bytes::len).sum()));
        Ok(fitting.cloned().collect())
    }

    fn durable(&self) -> watch::Receiver<Position> {
        self.inner.durable.subscribe()
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        Ok(self.open_state()?.index.get(key).cloned())
    }

    async fn scan(&self, scan: Scan) -> Result<Vec<(Bytes, Bytes)>, ReadError> {
        let state = self.open_state()?;
        let Some(range) = KeyRange::of(&scan) else { return Ok(Vec::new()) };
        let entries = state.index.range::<[u8], _>(range.as_slices()).map(|(key, value)| (key.clone(), value.clone()));
        Ok(match scan.direction {
            Direction::Forward => entries.take(scan.limit).collect(),
            Direction::Backward => entries.rev().take(scan.limit).collect(),
        })
    }

    fn put_snapshot(&self, stream: Arc<str>, snapshot: Snapshot) {
        let mut state = self.inner.state.lock();
        if state.snapshots.get(&stream).is_none_or(|kept| kept.sequence <= snapshot.sequence) {
            state.snapshots.insert(stream, snapshot);
        }
    }

    async fn snapshot(&self, stream: &str) -> Result<Option<Snapshot>, ReadError> {
        let state = self.open_state()?;
        let head = state.streams.get(stream).map_or(0, |stream| stream.head.sequence);
        Ok(state.snapshots.get(stream).filter(|snapshot| snapshot.sequence <= head).cloned())
    }

    fn poisoned(&self) -> Option<Arc<str>> {
        self.inner.state.lock().poison.clone()
    }

    async fn close(&self) {
        self.end();
    }
}
