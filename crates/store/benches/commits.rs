//! Durable commits per second beside the floor: the same bytes in the same grouping, appended and synced, nothing else.
//!
//! ```text
//!   cargo bench -p factum-store --bench commits -- [events to preload] [seconds per case]
//! ```
//!
//! Floor and store run in turns within one process, on one disk, so that a noisy machine is noisy for both. The ratio
//! is what counts; the target is 60 % at 64 committers, empty and with millions of events stored.

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock and writes its own floor")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use factum_store::{Commit, EmbeddedStore, IndexChange, Options, ReadLimit, Store, append_and_wait};
use hdrhistogram::Histogram;
use parking_lot::Mutex;

const RECORDS: usize = 3;
const RECORD_BYTES: usize = 400;
const FLOOR_FILE_BYTES: u64 = 256 << 20;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let preload: u64 = arguments.next().map_or(0, |text| text.parse().expect("a number of events"));
    let seconds: u64 = arguments.next().map_or(4, |text| text.parse().expect("a number of seconds"));
    let dir = tempfile::Builder::new().prefix("commits-bench").tempdir_in(".").unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (store, _) = EmbeddedStore::open(dir.path().join("store"), Options::default()).unwrap();
    let mut store = Arc::new(store);
    let heads = Heads::default();
    if preload > 0 {
        let started = Instant::now();
        runtime.block_on(fill(&store, &heads, preload / RECORDS as u64));
        println!("preloaded {preload} events in {:.1} s", started.elapsed().as_secs_f64());
        store = reopened(store, &runtime, &dir.path().join("store"));
    }
    println!(
        "{:>10} {:>12} {:>12} {:>7} {:>9} {:>9} {:>7}",
        "committers", "floor/s", "store/s", "ratio", "p50 ms", "p99 ms", "batch"
    );
    for committers in [1, 8, 64, 512] {
        let mut case = Case::new(committers);
        // The first floor zeroes its file, and the first commits wake everything up.
        case.round(&store, &heads, &runtime, &dir.path().join("floor"));
        case = Case::new(committers);
        for _ in 0..seconds {
            case.round(&store, &heads, &runtime, &dir.path().join("floor"));
        }
        case.print();
    }
    reads(&store, &heads, &runtime, Duration::from_secs(seconds));
    println!("{:?}", store.stats());
    reopened(store, &runtime, &dir.path().join("store"));
}

/// One number of committers: store and floor in turns of a second each. The middle round counts, for both.
struct Case {
    committers: u64,
    latencies: Histogram<u64>,
    store: Vec<f64>,
    floor: Vec<f64>,
    batches: Vec<f64>,
}

impl Case {
    fn new(committers: u64) -> Self {
        let latencies = Histogram::new(3).unwrap();
        Self { committers, latencies, store: Vec::new(), floor: Vec::new(), batches: Vec::new() }
    }

    fn round(
        &mut self,
        store: &Arc<EmbeddedStore>,
        heads: &Heads,
        runtime: &tokio::runtime::Runtime,
        floor_file: &Path,
    ) {
        let (before, clock) = (store.stats(), Instant::now());
        let latencies = runtime.block_on(commit_for(store, heads, self.committers, Duration::from_secs(1)));
        let seconds = clock.elapsed().as_secs_f64();
        let after = store.stats();
        let (commits, syncs) = (after.commits - before.commits, after.syncs - before.syncs);
        let batch = commits as f64 / syncs as f64;
        let bytes = (after.log_bytes - before.log_bytes) / syncs;
        self.latencies.add(latencies).unwrap();
        self.store.push(commits as f64 / seconds);
        self.batches.push(batch);
        self.floor.push(floor(floor_file, bytes as usize, Duration::from_secs(1)) * batch);
    }

    fn print(&mut self) {
        let (rate, floor, batch) = (middle(&mut self.store), middle(&mut self.floor), middle(&mut self.batches));
        println!(
            "{:>10} {floor:>12.0} {rate:>12.0} {:>6.0}% {:>9.2} {:>9.2} {batch:>7.1}",
            self.committers,
            100.0 * rate / floor,
            self.latencies.value_at_quantile(0.5) as f64 / 1e6,
            self.latencies.value_at_quantile(0.99) as f64 / 1e6,
        );
    }
}

fn middle(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The last sequence of each stream, by number: 3 records a commit, so the rest follows.
#[derive(Default)]
struct Heads {
    streams: AtomicU64,
}

fn commit(stream: u64, expected: u64) -> Commit {
    let record = Bytes::from(format!("{{\"stream\":{stream},\"pad\":\"{}\"}}", "x".repeat(RECORD_BYTES - 32)));
    let key = Bytes::from(format!("status/{:016x}", stream));
    Commit {
        stream: format!("session/{stream:016x}").into(),
        partition: "tenant".into(),
        expected,
        records: vec![record; RECORDS],
        index: vec![IndexChange::Put { key, value: Bytes::from_static(b"running") }],
    }
}

/// Ten commits to each of many streams, as many in flight as the queue takes comfortably.
async fn fill(store: &Arc<EmbeddedStore>, heads: &Heads, commits: u64) {
    let next = Arc::new(AtomicU64::new(0));
    let streams = commits.div_ceil(10);
    let tasks: Vec<_> = (0..256)
        .map(|_| {
            let (store, next) = (store.clone(), next.clone());
            tokio::spawn(async move {
                loop {
                    let stream = next.fetch_add(1, Ordering::Relaxed);
                    if stream >= streams {
                        return;
                    }
                    for n in 0..10 {
                        append_and_wait(&*store, commit(stream, n * RECORDS as u64)).await.unwrap();
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    heads.streams.store(streams, Ordering::Relaxed);
}

async fn commit_for(store: &Arc<EmbeddedStore>, heads: &Heads, committers: u64, time: Duration) -> Histogram<u64> {
    let stop = Arc::new(AtomicBool::new(false));
    let total = Arc::new(Mutex::new(Histogram::<u64>::new(3).unwrap()));
    let first = heads.streams.fetch_add(committers, Ordering::Relaxed);
    let tasks: Vec<_> = (first..first + committers)
        .map(|stream| {
            let (store, stop, total) = (store.clone(), stop.clone(), total.clone());
            tokio::spawn(async move {
                let mut own = Histogram::<u64>::new(3).unwrap();
                let mut expected = 0;
                while !stop.load(Ordering::Relaxed) {
                    let started = Instant::now();
                    append_and_wait(&*store, commit(stream, expected)).await.unwrap();
                    own.record(started.elapsed().as_nanos() as u64).unwrap();
                    expected += RECORDS as u64;
                }
                total.lock().add(own).unwrap();
            })
        })
        .collect();
    tokio::time::sleep(time).await;
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    std::mem::replace(&mut *total.lock(), Histogram::new(3).unwrap())
}

/// Writes of this many bytes per second, each synced, into a file that was zeroed before.
fn floor(path: &Path, bytes: usize, time: Duration) -> f64 {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
    zero(&file);
    let buffer = vec![b'x'; bytes];
    let (started, mut writes, mut at) = (Instant::now(), 0u64, 0);
    while started.elapsed() < time {
        if at + bytes as u64 > FLOOR_FILE_BYTES {
            at = 0;
        }
        file.write_all_at(&buffer, at).unwrap();
        file.sync_data().unwrap();
        at += bytes as u64;
        writes += 1;
    }
    writes as f64 / started.elapsed().as_secs_f64()
}

fn zero(file: &File) {
    if file.metadata().unwrap().len() == FLOOR_FILE_BYTES {
        return;
    }
    let zeros = vec![0; 1 << 20];
    for at in (0..FLOOR_FILE_BYTES).step_by(zeros.len()) {
        file.write_all_at(&zeros, at).unwrap();
    }
    file.sync_all().unwrap();
}

/// The last 20 records of random streams.
fn reads(store: &Arc<EmbeddedStore>, heads: &Heads, runtime: &tokio::runtime::Runtime, time: Duration) {
    let streams = heads.streams.load(Ordering::Relaxed);
    let count = runtime.block_on(async {
        let (started, mut count, mut random) = (Instant::now(), 0u64, 1u64);
        while started.elapsed() < time {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let stream = format!("session/{:016x}", (random >> 33) % streams);
            let found = store.read_back(&stream, u64::MAX, ReadLimit { records: 20, bytes: 64 << 10 }).await.unwrap();
            assert!(!found.is_empty());
            count += 1;
        }
        count as f64 / started.elapsed().as_secs_f64()
    });
    println!("tail reads of random streams, one reader: {count:.0}/s");
}

/// Measures a clean close and start, and a start after a kill.
fn reopened(store: Arc<EmbeddedStore>, runtime: &tokio::runtime::Runtime, dir: &Path) -> Arc<EmbeddedStore> {
    let clock = Instant::now();
    runtime.block_on(store.close());
    drop(store);
    println!("closed in {:.0} ms", clock.elapsed().as_secs_f64() * 1e3);
    let clock = Instant::now();
    let (store, report) = EmbeddedStore::open(dir, Options::default()).unwrap();
    println!("ready in {:.0} ms, {} commits replayed", clock.elapsed().as_secs_f64() * 1e3, report.replayed_commits);
    Arc::new(store)
}
