//! The sessions in memory, by stream. Sharded, so that the map is never what sessions wait for.

use std::hash::{BuildHasher, BuildHasherDefault};
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};

use crate::cell::Cell;

const SHARDS: usize = 64;

type Shard = Mutex<FxHashMap<Arc<str>, Arc<Cell>>>;

pub(crate) struct Sessions {
    shards: Box<[Shard]>,
    hasher: BuildHasherDefault<FxHasher>,
}

impl Default for Sessions {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Shard::default()).collect(), hasher: BuildHasherDefault::default() }
    }
}

impl Sessions {
    fn shard(&self, stream: &str) -> &Shard {
        // The high bits are the well-mixed ones of this hash.
        let hash = self.hasher.hash_one(stream);
        &self.shards[(hash >> 58) as usize % SHARDS]
    }

    pub(crate) fn get(&self, stream: &str) -> Option<Arc<Cell>> {
        self.shard(stream).lock().get(stream).cloned()
    }

    /// The cell that is there, or this one.
    pub(crate) fn get_or_insert(&self, cell: Cell) -> Arc<Cell> {
        let mut shard = self.shard(&cell.stream).lock();
        shard.entry(cell.stream.clone()).or_insert_with(|| Arc::new(cell)).clone()
    }

    /// Takes exactly this cell out, not a newer one of the same session.
    pub(crate) fn remove(&self, cell: &Arc<Cell>) {
        let mut shard = self.shard(&cell.stream).lock();
        if shard.get(&cell.stream).is_some_and(|there| Arc::ptr_eq(there, cell)) {
            shard.remove(&cell.stream);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// Every cell of one shard at a time, so that a walk never holds more than one lock, and that one shortly.
    pub(crate) fn by_shard(&self) -> impl Iterator<Item = Vec<Arc<Cell>>> + '_ {
        self.shards.iter().map(|shard| shard.lock().values().cloned().collect())
    }

    pub(crate) fn all(&self) -> Vec<Arc<Cell>> {
        self.by_shard().flatten().collect()
    }
}
