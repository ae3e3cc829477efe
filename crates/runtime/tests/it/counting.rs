//! What something costs, in records read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use factum_store::*;
use tokio::sync::watch;

/// A store in memory that counts the records it gives out.
#[derive(Default)]
pub(crate) struct Counting {
    store: MemoryStore,
    records: AtomicUsize,
}

impl Counting {
    /// What was read since the last look.
    pub(crate) fn take(&self) -> usize {
        self.records.swap(0, Ordering::SeqCst)
    }

    fn count(&self, records: Vec<Record>) -> Vec<Record> {
        self.records.fetch_add(records.len(), Ordering::SeqCst);
        records
    }
}

#[async_trait]
impl Store for Counting {
    fn append(&self, commit: Commit, done: Done) {
        self.store.append(commit, done);
    }

    async fn head(&self, stream: &str) -> Result<Option<Head>, ReadError> {
        self.store.head(stream).await
    }

    async fn read(&self, stream: &str, from: Sequence, limit: ReadLimit) -> Result<Vec<Record>, ReadError> {
        self.store.read(stream, from, limit).await.map(|records| self.count(records))
    }

    async fn read_back(&self, stream: &str, before: Sequence, limit: ReadLimit) -> Result<Vec<Record>, ReadError> {
        self.store.read_back(stream, before, limit).await.map(|records| self.count(records))
    }

    async fn feed(&self, after: Position, limit: ReadLimit) -> Result<Vec<StoredCommit>, ReadError> {
        self.store.feed(after, limit).await
    }

    fn durable(&self) -> watch::Receiver<Position> {
        self.store.durable()
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        self.store.get(key).await
    }

    async fn scan(&self, scan: Scan) -> Result<Vec<(Bytes, Bytes)>, ReadError> {
        self.store.scan(scan).await
    }

    fn put_snapshot(&self, stream: Arc<str>, snapshot: Snapshot) {
        self.store.put_snapshot(stream, snapshot);
    }

    async fn snapshot(&self, stream: &str) -> Result<Option<Snapshot>, ReadError> {
        self.store.snapshot(stream).await
    }

    fn poisoned(&self) -> Option<Arc<str>> {
        self.store.poisoned()
    }

    async fn close(&self) {
        self.store.close().await;
    }
}
