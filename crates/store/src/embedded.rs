//! The embedded store: a directory, four threads, and the contract kept over them.
//!
//! It owns the threads and their end. What they do is elsewhere: `writer.rs` commits, `publish.rs` tells everyone,
//! `spare.rs` prepares segments, `checkpoint.rs` writes the derived index, `reads.rs` answers.
//!
//! Invariant: closing drains the queue first, then writes the index, then lets go of the directory, in that order.
//! A store that is dropped without `close` loses nothing either; the next start only replays more.

use std::path::Path;
use std::sync::Arc;
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::checkpoint::{self, Checkpoints};
use crate::contract::{Commit, Done, Head, Position, ReadLimit, Record, Scan, Sequence, Snapshot, Store, StoredCommit};
use crate::disk::{self, Disk, RealDisk};
use crate::error::{OpenError, ReadError};
use crate::frame::Content;
use crate::index::Index;
use crate::limits;
use crate::lock::DirLock;
use crate::options::{Background, Options};
use crate::overlay::Overlay;
use crate::publish::Publisher;
use crate::queue::{Queue, Request};
use crate::recovery::{OpenReport, Recovered, recover};
use crate::shared::{Counters, Shared, Stats};
use crate::spare::Spares;
use crate::threads::spawn;
use crate::writer::Writer;

/// A snapshot larger than this is not kept: it would cost more than the replay it saves.
const SNAPSHOT_BYTES_MAX: usize = 16 << 20;
/// Reads of at most this many records and bytes are answered on the caller's thread: they take microseconds when the
/// page cache has them. Larger ones go to a thread that may block.
const INLINE_RECORDS_MAX: usize = 64;
const INLINE_BYTES_MAX: usize = 256 << 10;
/// How long closing waits for reads that are under way to let go of the index.
const CLOSE_WAIT_MAX: Duration = Duration::from_secs(10);

/// A store in a directory of its own. See [`Store`] for the contract.
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    queue: Arc<Queue>,
    running: Arc<Mutex<Option<Running>>>,
}

struct Running {
    spares: Arc<Spares>,
    writer: JoinHandle<()>,
    helpers: Vec<JoinHandle<()>>,
    _lock: Option<DirLock>,
}

impl Running {
    fn threads(&self) -> impl Iterator<Item = &Thread> {
        self.helpers.iter().chain([&self.writer]).map(JoinHandle::thread)
    }
}

impl EmbeddedStore {
    /// Opens the store in `dir`, creating it where there is none, and repairs what an interrupted write left.
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<(Self, OpenReport), OpenError> {
        let dir = dir.as_ref();
        disk::make_folder(dir).map_err(OpenError::io(format!("creating {}", dir.display())))?;
        let lock = DirLock::exclusive(dir)?;
        Self::start(Arc::new(RealDisk::new(dir)), &dir.join("index"), options, Some(lock))
    }

    /// Opens a store whose log is on another disk, such as a simulated one. The derived index is always real.
    pub fn open_on(disk: Arc<dyn Disk>, index_dir: &Path, options: Options) -> Result<(Self, OpenReport), OpenError> {
        Self::start(disk, index_dir, options, None)
    }

    fn start(
        disk: Arc<dyn Disk>,
        index_dir: &Path,
        options: Options,
        lock: Option<DirLock>,
    ) -> Result<(Self, OpenReport), OpenError> {
        let Recovered { log, index, layer, segment, place, report } = recover(disk.clone(), index_dir, &options)?;
        let mut overlay = Overlay::new(index);
        overlay.active = layer;
        let (background, queue) = (options.background, Arc::new(Queue::new(&options)));
        let shared = Arc::new(Shared {
            log,
            overlay: RwLock::new(overlay),
            durable: watch::Sender::new(report.position),
            poison: Default::default(),
            checkpoints: Checkpoints::default(),
            options,
            counters: Counters::default(),
        });
        let spares = Arc::new(Spares::new(disk, background));
        let publisher = Arc::new(Publisher::new(shared.clone()));
        let mut helpers = Vec::new();
        if background == Background::Threads {
            let (workshop, checkpointed, published) = (spares.clone(), shared.clone(), publisher.clone());
            helpers.push(spawn("factum-publish", move || published.run())?);
            helpers.push(spawn("factum-spare", move || workshop.run())?);
            helpers.push(spawn("factum-index", move || checkpointed.checkpoints.run(&checkpointed))?);
        }
        let writer = Writer::new(shared.clone(), queue.clone(), spares.clone(), publisher, segment, place);
        let writer = spawn("factum-log", move || writer.run())?;
        let running = Running { spares, writer, helpers, _lock: lock };
        Ok((Self { shared, queue, running: Arc::new(Mutex::new(Some(running))) }, report))
    }

    /// Writes everything committed so far into the derived index. Happens by itself; tests and backups ask for it.
    pub fn checkpoint(&self) -> Result<(), ReadError> {
        checkpoint::write(&self.shared).map_err(|error| ReadError::Io { reason: error.to_string().into() })
    }

    /// What the store has done since it was opened.
    pub fn stats(&self) -> Stats {
        self.shared.stats(self.queue.waiting())
    }

    /// Runs a read here when it is small, elsewhere when it may block for long.
    async fn run<T: Send + 'static>(
        &self,
        small: bool,
        read: impl FnOnce(&Shared) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ReadError> {
        if small || tokio::runtime::Handle::try_current().is_err() {
            return read(&self.shared);
        }
        let shared = self.shared.clone();
        let done = tokio::task::spawn_blocking(move || read(&shared)).await;
        done.unwrap_or_else(|error| Err(ReadError::Io { reason: error.to_string().into() }))
    }
}

fn is_small(limit: ReadLimit) -> bool {
    limit.records <= INLINE_RECORDS_MAX && limit.bytes <= INLINE_BYTES_MAX || limit.records <= 4
}

#[async_trait]
impl Store for EmbeddedStore {
    fn append(&self, commit: Commit, done: Done) {
        let content = limits::check(&commit).map(|()| Content::of(&commit));
        if let Err((done, error)) = self.queue.push(Request { commit, content, done }) {
            done(Err(error));
        }
    }

    async fn head(&self, stream: &str) -> Result<Option<Head>, ReadError> {
        self.shared.head(stream)
    }

    async fn read(&self, stream: &str, from: Sequence, limit: ReadLimit) -> Result<Vec<Record>, ReadError> {
        let stream: Arc<str> = stream.into();
        self.run(is_small(limit), move |shared| shared.read(&stream, from, limit)).await
    }

    async fn read_back(&self, stream: &str, before: Sequence, limit: ReadLimit) -> Result<Vec<Record>, ReadError> {
        let stream: Arc<str> = stream.into();
        self.run(is_small(limit), move |shared| shared.read_back(&stream, before, limit)).await
    }

    async fn feed(&self, after: Position, limit: ReadLimit) -> Result<Vec<StoredCommit>, ReadError> {
        // What was written last is still in memory: those who follow the end need no thread of their own to read it.
        let behind = self.shared.durable.borrow().saturating_sub(after);
        let small = behind <= INLINE_BYTES_MAX as u64 || is_small(limit);
        self.run(small, move |shared| shared.feed(after, limit)).await
    }

    fn durable(&self) -> watch::Receiver<Position> {
        self.shared.durable.subscribe()
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        self.shared.get(key)
    }

    async fn scan(&self, scan: Scan) -> Result<Vec<(Bytes, Bytes)>, ReadError> {
        self.run(scan.limit <= INLINE_RECORDS_MAX, move |shared| shared.scan(&scan)).await
    }

    fn put_snapshot(&self, stream: Arc<str>, snapshot: Snapshot) {
        if snapshot.bytes.len() > SNAPSHOT_BYTES_MAX || stream.is_empty() {
            return;
        }
        let kept = self.shared.snapshot(&stream);
        if kept.is_ok_and(|kept| kept.is_some_and(|kept| kept.sequence > snapshot.sequence)) {
            return;
        }
        let mut overlay = self.shared.overlay.write();
        // Disposable, so it is what goes first when memory is short.
        if overlay.bytes() + snapshot.bytes.len() <= self.shared.options.overlay_bytes_max {
            overlay.active.put_snapshot(stream, snapshot);
        }
    }

    async fn snapshot(&self, stream: &str) -> Result<Option<Snapshot>, ReadError> {
        self.shared.snapshot(stream)
    }

    fn poisoned(&self) -> Option<Arc<str>> {
        self.shared.poison.get().cloned()
    }

    async fn close(&self) {
        let (running, queue, shared) = (self.running.clone(), self.queue.clone(), self.shared.clone());
        let finish = move || shut(&running, &queue, &shared, Finish::WriteIndex);
        if tokio::runtime::Handle::try_current().is_ok() {
            drop(tokio::task::spawn_blocking(finish).await);
        } else {
            finish();
        }
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        // Whoever holds it is closing the store already.
        let Some(locked) = self.running.try_lock() else { return };
        let here = std::thread::current().id();
        let own = locked.as_ref().is_some_and(|running| running.threads().any(|thread| thread.id() == here));
        drop(locked);
        let (running, queue, shared) = (self.running.clone(), self.queue.clone(), self.shared.clone());
        let finish = move || shut(&running, &queue, &shared, Finish::LeaveIndex);
        // A commit's callback may hold the last reference to the store, and a thread cannot wait for its own end.
        if own {
            drop(spawn("factum-close", finish));
        } else {
            finish();
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Finish {
    WriteIndex,
    LeaveIndex,
}

/// Ends the threads and lets go of the directory. The second call finds nothing left to do.
fn shut(running: &Mutex<Option<Running>>, queue: &Queue, shared: &Shared, finish: Finish) {
    queue.close();
    let mut running = running.lock();
    let Some(Running { spares, writer, helpers, _lock }) = running.take() else { return };
    if writer.join().is_err() {
        tracing::error!("the log's writer panicked");
    }
    spares.close();
    shared.checkpoints.close();
    for helper in helpers {
        drop(helper.join());
    }
    if finish == Finish::WriteIndex
        && let Err(error) = checkpoint::write(shared)
    {
        tracing::warn!(%error, "the derived index could not be written; the next start replays more of the log");
    }
    let index = shared.overlay.write().index.take();
    if let Some(index) = index.and_then(Arc::into_inner).map(Index::into_closing) {
        index.wait_timeout(CLOSE_WAIT_MAX);
    }
}
