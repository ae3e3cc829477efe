//! The aggregates of one kind in memory, by stream. Sharded, so that the map is never what they wait for.

use std::hash::{BuildHasher, BuildHasherDefault};
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};

use crate::aggregate::Aggregate;
use crate::cell::Cell;

const SHARDS: usize = 64;

type Shard<S> = Mutex<FxHashMap<Arc<str>, Arc<Cell<S>>>>;

pub(crate) struct Cells<S: Aggregate> {
    shards: Box<[Shard<S>]>,
    hasher: BuildHasherDefault<FxHasher>,
}

impl<S: Aggregate> Default for Cells<S> {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), hasher: BuildHasherDefault::default() }
    }
}

impl<S: Aggregate> Cells<S> {
    fn shard(&self, stream: &str) -> &Shard<S> {
        // The high bits are the well-mixed ones of this hash.
        let hash = self.hasher.hash_one(stream);
        &self.shards[(hash >> 58) as usize % SHARDS]
    }

    pub(crate) fn get(&self, stream: &str) -> Option<Arc<Cell<S>>> {
        self.shard(stream).lock().get(stream).cloned()
    }

    /// The cell that is there, or this one.
    pub(crate) fn get_or_insert(&self, cell: Cell<S>) -> Arc<Cell<S>> {
        let mut shard = self.shard(&cell.stream).lock();
        shard.entry(cell.stream.clone()).or_insert_with(|| Arc::new(cell)).clone()
    }

    /// Takes exactly this cell out, not a newer one of the same stream.
    pub(crate) fn remove(&self, cell: &Arc<Cell<S>>) {
        let mut shard = self.shard(&cell.stream).lock();
        if shard.get(&cell.stream).is_some_and(|there| Arc::ptr_eq(there, cell)) {
            shard.remove(&cell.stream);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// Every cell of one shard at a time, so that a walk never holds more than one lock, and that one shortly.
    pub(crate) fn by_shard(&self) -> impl Iterator<Item = Vec<Arc<Cell<S>>>> + '_ {
        self.shards.iter().map(|shard| shard.lock().values().cloned().collect())
    }

    pub(crate) fn all(&self) -> Vec<Arc<Cell<S>>> {
        self.by_shard().flatten().collect()
    }
}
