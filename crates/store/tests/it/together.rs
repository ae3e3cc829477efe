//! Many writers and readers at once, with checkpoints and new segments all the time, on a real disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use factum_store::conformance::{commit, dump, put, text};
use factum_store::{
    Commit, Direction, EmbeddedStore, Options, Position, ReadLimit, Scan, Store, append_and_wait, verify,
};

use crate::support::{long, scratch};

const WRITERS: u64 = 4;

/// Threads of their own, and everything that can happen happening every few commits.
fn restless() -> Options {
    Options { first_segment_bytes: 4096, segment_bytes_max: 64 << 10, checkpoint_bytes: 8 << 10, ..Options::default() }
}

async fn write(store: Arc<EmbeddedStore>, writer: u64, commits: u64) {
    for n in 0..commits {
        let pair = vec![put(&format!("w{writer}/x"), &n.to_string()), put(&format!("w{writer}/y"), &n.to_string())];
        let filler = "f".repeat((n as usize * 37) % 700);
        let commit = Commit { index: pair, ..commit(&format!("w{writer}"), n * 2, &[&n.to_string(), &filler]) };
        append_and_wait(&*store, commit).await.unwrap();
    }
}

/// A scan sees both keys of a commit or neither, and never goes back.
async fn scan(store: Arc<EmbeddedStore>, writer: u64, stop: Arc<AtomicBool>) {
    let mut newest = 0;
    while !stop.load(Ordering::Relaxed) {
        let prefix = text(&format!("w{writer}/"));
        let scan = Scan { prefix, after: None, until: None, direction: Direction::Forward, limit: 9 };
        let values: Vec<_> = store.scan(scan).await.unwrap().into_iter().map(|(_, value)| value).collect();
        if let [x, y] = &values[..] {
            assert_eq!(x, y, "half a commit was seen");
            let seen: u64 = std::str::from_utf8(x).unwrap().parse().unwrap();
            assert!(seen >= newest, "the index went back");
            newest = seen;
            let head = store.head(&format!("w{writer}")).await.unwrap().unwrap();
            assert!(head.sequence >= (seen + 1) * 2);
            let tail = store.read_back(&format!("w{writer}"), head.sequence + 1, ReadLimit::records(7)).await.unwrap();
            assert_eq!(tail.first().map(|record| record.sequence), Some(head.sequence));
            assert!(tail.windows(2).all(|pair| pair[0].sequence == pair[1].sequence + 1), "a gap in the tail");
        } else {
            assert_eq!(values.len(), 0, "half a commit was seen");
        }
        tokio::task::yield_now().await;
    }
}

/// A follower woken by the durable position sees every commit once and in order.
async fn follow(store: Arc<EmbeddedStore>, commits: u64) {
    let (mut durable, mut after, mut heads) = (store.durable(), 0 as Position, [0; WRITERS as usize]);
    let mut seen = 0;
    while seen < commits {
        let page = store.feed(after, ReadLimit::records(50)).await.unwrap();
        for commit in &page {
            assert!(commit.position > after && commit.position <= *store.durable().borrow());
            let writer: usize = commit.stream[1..].parse().unwrap();
            assert_eq!(commit.first_sequence, heads[writer] + 1);
            heads[writer] += commit.records.len() as u64;
            after = commit.position;
            seen += 1;
        }
        if page.is_empty() {
            durable.changed().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_sees_half_a_gap_or_the_past() {
    let dir = scratch();
    let commits = if long() { 20_000 } else { 400 };
    let store = Arc::new(EmbeddedStore::open(dir.path(), restless()).unwrap().0);
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS).map(|writer| tokio::spawn(write(store.clone(), writer, commits))).collect();
    let scans: Vec<_> = (0..WRITERS).map(|writer| tokio::spawn(scan(store.clone(), writer, stop.clone()))).collect();
    let follower = tokio::spawn(follow(store.clone(), commits * WRITERS));
    for task in writers {
        task.await.unwrap();
    }
    follower.await.unwrap();
    stop.store(true, Ordering::Relaxed);
    for task in scans {
        task.await.unwrap();
    }
    let stats = store.stats();
    assert!(stats.checkpoints > 10 && stats.segments > 5, "{stats:?}");
    let before = dump(&*store).await;
    store.close().await;
    drop(store);
    assert_eq!(verify(dir.path(), &mut |_| ()).unwrap().findings, []);
    let (store, report) = EmbeddedStore::open(dir.path(), restless()).unwrap();
    assert_eq!((dump(&store).await, report.replayed_commits), (before, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_may_be_dropped_by_its_own_callback() {
    let dir = scratch();
    let (store, _) = EmbeddedStore::open(dir.path(), restless()).unwrap();
    let store = Arc::new(store);
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let (gate, opened) = std::sync::mpsc::channel::<()>();
    let last = store.clone();
    let done = move |outcome: Result<_, _>| {
        opened.recv().unwrap();
        drop(last);
        sender.send(outcome.is_ok()).unwrap();
    };
    store.append(commit("s", 0, &["x"]), Box::new(done));
    drop(store);
    gate.send(()).unwrap();
    assert!(receiver.await.unwrap());
}
