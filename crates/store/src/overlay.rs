//! What was committed since the derived index was last written down, in memory.
//!
//! It owns the newest locations, heads, index entries and snapshots. It does not own records: those are in the log.
//!
//! ```text
//!   commit ──► active layer ──freeze──► frozen layer ──checkpoint──► LMDB
//! ```
//!
//! Invariant: an entry only ever moves to the right, and it leaves a layer only after it arrived in the next place. So a
//! reader that looks at active, then frozen, then LMDB can see an entry twice but can never miss one. Where it sees two,
//! the one further left is newer and wins. A reader that needs one moment for several entries opens its LMDB transaction
//! while it still holds the lock on the layers.

use std::sync::Arc;

use bytes::Bytes;
use rustc_hash::FxHashMap;

use crate::contract::{Direction, Head, IndexChange, Position, Sequence, Snapshot};
use crate::entries::Entries;
use crate::frame::FrameHeader;
use crate::index::Index;
use crate::scan::{Entry, KeyRange, merge};

/// Rough cost in memory of one commit, one stream and one index entry beyond their own bytes.
const COMMIT_COST: usize = 48;
const STREAM_COST: usize = 200;
const ENTRY_COST: usize = 128;

/// Where one commit is and which records it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) first: Sequence,
    pub(crate) count: u32,
    pub(crate) position: Position,
    pub(crate) frame_len: u32,
}

impl Location {
    pub(crate) fn last(&self) -> Sequence {
        self.first + u64::from(self.count) - 1
    }
}

/// The newest commit that something derived accounts for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reflects {
    /// Its position; 0 where there is none.
    pub(crate) position: Position,
    /// Where the next one begins, if it is in the same segment.
    pub(crate) end: Position,
    /// Its header checksum.
    pub(crate) crc: u32,
}

impl Reflects {
    pub(crate) fn of(header: &FrameHeader) -> Self {
        Self { position: header.position, end: header.end(), crc: header.crc }
    }
}

/// One commit as the layers need it.
pub(crate) struct Applied<'a> {
    pub(crate) stream: &'a Arc<str>,
    pub(crate) head: Head,
    pub(crate) location: Location,
    pub(crate) reflects: Reflects,
}

#[derive(Default)]
pub(crate) struct StreamTail {
    pub(crate) head: Option<Head>,
    /// Ascending and contiguous.
    pub(crate) commits: Vec<Location>,
}

impl StreamTail {
    /// Whether it has the stream from its beginning.
    pub(crate) fn is_whole(&self) -> bool {
        self.commits.first().is_some_and(|oldest| oldest.first == 1)
    }
}

/// The commits of one stretch of the log.
#[derive(Default)]
pub(crate) struct Layer {
    pub(crate) streams: FxHashMap<Arc<str>, StreamTail>,
    /// `None` marks a deleted key, so that an older value further right stays hidden.
    pub(crate) index: Entries,
    pub(crate) snapshots: FxHashMap<Arc<str>, Snapshot>,
    pub(crate) reflects: Reflects,
    pub(crate) commits: u64,
    /// Estimated memory.
    pub(crate) bytes: usize,
    /// Length of the stretch.
    pub(crate) log_bytes: u64,
}

impl Layer {
    pub(crate) fn apply(&mut self, commit: Applied<'_>, changes: impl IntoIterator<Item = IndexChange>) {
        let tail = match self.streams.get_mut(&**commit.stream) {
            Some(tail) => tail,
            None => {
                self.bytes += STREAM_COST + commit.stream.len();
                self.streams.entry(commit.stream.clone()).or_default()
            }
        };
        tail.head = Some(commit.head);
        tail.commits.push(commit.location);
        self.bytes += COMMIT_COST;
        self.log_bytes += u64::from(commit.location.frame_len);
        self.commits += 1;
        self.reflects = commit.reflects;
        for (place, change) in changes.into_iter().enumerate() {
            let (key, value) = match change {
                IndexChange::Put { key, value } => (key, Some(value)),
                IndexChange::Delete { key } => (key, None),
            };
            // Counted as if nothing was replaced: an upper bound is what a limit needs.
            self.bytes += ENTRY_COST + key.len() + value.as_ref().map_or(0, Bytes::len);
            self.index.insert(place, (key, value));
        }
    }

    /// Keeps a snapshot unless a newer one is here.
    pub(crate) fn put_snapshot(&mut self, stream: Arc<str>, snapshot: Snapshot) {
        if self.snapshots.get(&stream).is_some_and(|kept| kept.sequence > snapshot.sequence) {
            return;
        }
        self.bytes += STREAM_COST + stream.len() + snapshot.bytes.len();
        if let Some(replaced) = self.snapshots.insert(stream, snapshot) {
            self.bytes = self.bytes.saturating_sub(STREAM_COST + replaced.bytes.len());
        }
    }

    /// Whether so much has gathered that it should be written down.
    pub(crate) fn is_due(&self, checkpoint_bytes: u64) -> bool {
        self.log_bytes >= checkpoint_bytes || self.bytes as u64 >= checkpoint_bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.commits == 0 && self.snapshots.is_empty()
    }

    fn range(&self, range: &KeyRange, direction: Direction) -> Box<dyn Iterator<Item = Entry> + '_> {
        let entries = self.index.range(range.as_slices()).cloned();
        match direction {
            Direction::Forward => Box::new(entries),
            Direction::Backward => Box::new(entries.rev()),
        }
    }
}

/// Both layers and the index behind them: everything a reader needs, under one lock.
pub(crate) struct Overlay {
    pub(crate) active: Layer,
    pub(crate) frozen: Option<Arc<Layer>>,
    /// Gone once the store is closed.
    pub(crate) index: Option<Arc<Index>>,
}

impl Overlay {
    pub(crate) fn new(index: Arc<Index>) -> Self {
        Self { active: Layer::default(), frozen: None, index: Some(index) }
    }

    fn layers(&self) -> impl DoubleEndedIterator<Item = &Layer> {
        [Some(&self.active), self.frozen.as_deref()].into_iter().flatten()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.layers().map(|layer| layer.bytes).sum()
    }

    pub(crate) fn head(&self, stream: &str) -> Option<Head> {
        self.layers().find_map(|layer| layer.streams.get(stream)?.head)
    }

    /// `Some(None)` where the newest change deleted the key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<Bytes>> {
        self.layers().find_map(|layer| layer.index.get(key).cloned())
    }

    pub(crate) fn snapshot(&self, stream: &str) -> Option<Snapshot> {
        self.layers().find_map(|layer| layer.snapshots.get(stream).cloned())
    }

    /// Entries and tombstones in scan order, as far as a scan of `limit` live entries can need them.
    pub(crate) fn range(&self, range: &KeyRange, direction: Direction, limit: usize) -> Vec<Entry> {
        let active = self.active.range(range, direction);
        let merged: Box<dyn Iterator<Item = Entry>> = match &self.frozen {
            Some(frozen) => Box::new(merge(active, frozen.range(range, direction), direction)),
            None => active,
        };
        let mut live = 0;
        let mut entries = Vec::new();
        for entry in merged {
            live += usize::from(entry.1.is_some());
            entries.push(entry);
            if live >= limit {
                break;
            }
        }
        entries
    }

    /// The oldest sequence whose location is here, if the stream has any here.
    pub(crate) fn first_location(&self, stream: &str) -> Option<Sequence> {
        self.layers().rev().find_map(|layer| Some(layer.streams.get(stream)?.commits.first()?.first))
    }

    /// Locations from the commit that holds `from` on, at most `max`.
    pub(crate) fn locations(&self, stream: &str, from: Sequence, max: usize) -> Vec<Location> {
        let tails = self.layers().rev().filter_map(|layer| layer.streams.get(stream));
        let ahead = tails.flat_map(|tail| &tail.commits[tail.commits.partition_point(|at| at.last() < from)..]);
        ahead.take(max).copied().collect()
    }

    /// Locations before the commit that begins at or behind `before`, newest first, at most `max`.
    pub(crate) fn locations_back(&self, stream: &str, before: Sequence, max: usize) -> Vec<Location> {
        let tails = self.layers().filter_map(|layer| layer.streams.get(stream));
        let behind =
            tails.flat_map(|tail| tail.commits[..tail.commits.partition_point(|at| at.first < before)].iter().rev());
        behind.take(max).copied().collect()
    }
}
