//! What it costs to open a long channel: its newest snapshot and what came since, however much was said in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use factum_runtime::Agents;
use factum_store::*;
use futures::future::join_all;
use serde_json::json;
use tokio::sync::watch;

use super::*;
use crate::world::{TestClock, start};

const MESSAGES: u64 = 20_000;
/// Events between two snapshots, as `ShellLimits` says.
const SNAPSHOT_EVENTS: usize = 1_000;

/// A store that counts the records it gives out.
struct Counting {
    store: MemoryStore,
    records: AtomicUsize,
}

impl Counting {
    /// What was read since the last look.
    fn take(&self) -> usize {
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

#[tokio::test]
async fn a_long_channel_opens_from_its_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let clock = TestClock::at(1_800_000_000_000);
    let store = Arc::new(Counting { store: MemoryStore::new(), records: AtomicUsize::new(0) });
    let owner = member("owner");
    let runtime = start(store.clone(), &clock, Agents::demo(), dir.path()).await;
    let id = channel(&runtime, &owner, &[]).await;
    for _ in 0..MESSAGES / 200 {
        join_all((0..200).map(|_| publish(&runtime, &owner, &id, "words"))).await;
    }
    // As after a crash: the first runtime is forgotten, nothing is written down at the end.
    let runtime = start(store.clone(), &clock, Agents::demo(), dir.path()).await;
    store.take();
    let channel = call(&runtime, &owner, "channels/get", json!({ "channelId": id })).await.unwrap();
    assert_eq!(channel["channel"]["messageCount"], MESSAGES);
    let opened = store.take();
    assert!(opened <= SNAPSHOT_EVENTS, "{opened} records were read to open the channel");

    // Any message is one read away, and so is where a stream begins.
    let params = json!({ "channelId": id, "sinceSequence": 12_344, "pageSize": 1 });
    let page = call(&runtime, &owner, "channels/history", params).await.unwrap();
    assert_eq!(sequences(page["events"].as_array().unwrap()), [12_345]);
    assert_eq!(store.take(), 1);
    let mut stream = stream(&runtime, &owner, json!({ "channelId": id, "sinceSequence": MESSAGES - 3 })).await.unwrap();
    assert_eq!(sequences(&read_to(&mut stream, MESSAGES).await), [MESSAGES - 2, MESSAGES - 1, MESSAGES]);
    assert_eq!(store.take(), 3);
    assert_eq!(sequence(&publish(&runtime, &owner, &id, "one more").await), MESSAGES + 1);
    assert_eq!(store.take(), 0, "publishing reads nothing");
}
