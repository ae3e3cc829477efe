//! A store that a runtime can be cut off from, as by a crash: what it wrote before stays, what it writes after never arrives.
//! The next runtime gets the same store through a handle of its own. Its reads can be held up, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use factum_store::*;
use parking_lot::RwLock;
use tokio::sync::{RwLockWriteGuard, oneshot, watch};

pub(super) struct Cut {
    store: Arc<MemoryStore>,
    /// Held while the store takes something: it takes it before the cut or not at all.
    cut: RwLock<bool>,
    /// What channels write does not arrive.
    channels_cut: AtomicBool,
    /// How often what channels write found no room, while there is none.
    refused: AtomicUsize,
    full: AtomicBool,
    reads: tokio::sync::RwLock<()>,
}

impl Cut {
    pub(super) fn new(store: &Arc<MemoryStore>) -> Arc<Self> {
        Arc::new(Self {
            store: store.clone(),
            cut: RwLock::new(false),
            channels_cut: AtomicBool::new(false),
            refused: AtomicUsize::new(0),
            full: AtomicBool::new(false),
            reads: tokio::sync::RwLock::default(),
        })
    }

    /// What the store took before has arrived behind this: nothing is written under the feet of the next runtime.
    pub(super) async fn cut(&self) {
        *self.cut.write() = true;
        let (arrived, until) = oneshot::channel();
        // Without a record it is refused, in its turn.
        let (stream, partition) = ("cut".into(), "cut".into());
        let nothing = Commit { stream, partition, expected: 0, records: Vec::new(), index: Vec::new() };
        self.store.append(nothing, Box::new(move |_| arrived.send(()).unwrap()));
        until.await.unwrap();
    }

    /// As by a crash between what a session writes and what a channel writes because of it.
    pub(super) fn cut_channels(&self) {
        self.channels_cut.store(true, Ordering::SeqCst);
    }

    /// What channels write has no room, or has it again.
    pub(super) fn fill_channels(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    pub(super) fn refused(&self) -> usize {
        self.refused.load(Ordering::SeqCst)
    }

    /// Nothing is read until this is dropped.
    pub(super) async fn hold_reads(&self) -> RwLockWriteGuard<'_, ()> {
        self.reads.write().await
    }
}

#[async_trait]
impl Store for Cut {
    fn append(&self, commit: Commit, done: Done) {
        // Whoever hears of this commit may write the next one within.
        let cut = self.cut.read_recursive();
        let is_cut = self.channels_cut.load(Ordering::SeqCst) && commit.stream.starts_with("peer/");
        if is_cut || *cut {
            return done(Err(AppendError::Closed));
        }
        if self.full.load(Ordering::SeqCst) && commit.stream.starts_with("peer/") {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return done(Err(AppendError::Full { reason: "no room".into() }));
        }
        self.store.append(commit, done);
    }

    async fn head(&self, stream: &str) -> Result<Option<Head>, ReadError> {
        let _open = self.reads.read().await;
        self.store.head(stream).await
    }

    async fn read(&self, stream: &str, from: Sequence, limit: ReadLimit) -> Result<Vec<Record>, ReadError> {
        let _open = self.reads.read().await;
        self.store.read(stream, from, limit).await
    }

    async fn read_back(&self, stream: &str, before: Sequence, limit: ReadLimit) -> Result<Vec<Record>, ReadError> {
        let _open = self.reads.read().await;
        self.store.read_back(stream, before, limit).await
    }

    async fn feed(&self, after: Position, limit: ReadLimit) -> Result<Vec<StoredCommit>, ReadError> {
        self.store.feed(after, limit).await
    }

    fn durable(&self) -> watch::Receiver<Position> {
        self.store.durable()
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        let _open = self.reads.read().await;
        self.store.get(key).await
    }

    async fn scan(&self, scan: Scan) -> Result<Vec<(Bytes, Bytes)>, ReadError> {
        let _open = self.reads.read().await;
        self.store.scan(scan).await
    }

    fn put_snapshot(&self, stream: Arc<str>, snapshot: Snapshot) {
        let cut = self.cut.read_recursive();
        if !*cut {
            self.store.put_snapshot(stream, snapshot);
        }
    }

    async fn snapshot(&self, stream: &str) -> Result<Option<Snapshot>, ReadError> {
        let _open = self.reads.read().await;
        self.store.snapshot(stream).await
    }

    fn poisoned(&self) -> Option<Arc<str>> {
        self.store.poisoned()
    }

    async fn close(&self) {}
}
