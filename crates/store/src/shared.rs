//! What the threads of one embedded store share, and its counters.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;
use tokio::sync::watch;

use crate::checkpoint::Checkpoints;
use crate::contract::Position;
use crate::log::Log;
use crate::options::Options;
use crate::overlay::Overlay;

pub(crate) struct Shared {
    pub(crate) log: Log,
    pub(crate) overlay: RwLock<Overlay>,
    pub(crate) durable: watch::Sender<Position>,
    /// Set once, by the writer, and never cleared.
    pub(crate) poison: OnceLock<Arc<str>>,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) options: Options,
    pub(crate) counters: Counters,
}

/// Counters that only grow. Relaxed: each is read for itself.
#[derive(Default)]
pub(crate) struct Counters {
    commits: AtomicU64,
    records: AtomicU64,
    bytes: AtomicU64,
    syncs: AtomicU64,
    largest_batch: AtomicU64,
    checkpoints: AtomicU64,
    checkpointed_commits: AtomicU64,
}

impl Counters {
    pub(crate) fn written(&self, commits: u64, records: u64, bytes: u64) {
        self.commits.fetch_add(commits, Ordering::Relaxed);
        self.records.fetch_add(records, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.largest_batch.fetch_max(commits, Ordering::Relaxed);
    }

    pub(crate) fn checkpointed(&self, commits: u64) {
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
        self.checkpointed_commits.fetch_add(commits, Ordering::Relaxed);
    }
}

/// What a store has done since it was opened, for metrics and benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Position of the newest durable commit.
    pub position: Position,
    pub segments: usize,
    /// Commits waiting for the writer now.
    pub queued: usize,
    /// Commits that only the log and the memory hold, not yet the derived index.
    pub overlay_commits: u64,
    pub overlay_entries: usize,
    pub overlay_bytes: usize,
    pub commits: u64,
    pub records: u64,
    pub log_bytes: u64,
    /// Writes to the log, each with one sync. `commits / syncs` is the mean batch.
    pub syncs: u64,
    pub largest_batch: u64,
    pub checkpoints: u64,
    pub checkpointed_commits: u64,
}

impl Shared {
    /// Whether the overlay has passed the memory it may take.
    pub(crate) fn overlay_is_over(&self) -> bool {
        self.overlay.read().bytes() > self.options.overlay_bytes_max
    }

    pub(crate) fn stats(&self, queued: usize) -> Stats {
        let overlay = self.overlay.read();
        let layers = || [Some(&overlay.active), overlay.frozen.as_deref()].into_iter().flatten();
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            position: *self.durable.borrow(),
            segments: self.log.segment_count(),
            queued,
            overlay_commits: layers().map(|layer| layer.commits).sum(),
            overlay_entries: layers().map(|layer| layer.index.len()).sum(),
            overlay_bytes: overlay.bytes(),
            commits: load(&self.counters.commits),
            records: load(&self.counters.records),
            log_bytes: load(&self.counters.bytes),
            syncs: load(&self.counters.syncs),
            largest_batch: load(&self.counters.largest_batch),
            checkpoints: load(&self.counters.checkpoints),
            checkpointed_commits: load(&self.counters.checkpointed_commits),
        }
    }
}
