//! The suite, run by both stores; the embedded one on a real directory and on a simulated disk.

use std::path::PathBuf;
use std::sync::Arc;

use factum_store::conformance::Harness;
use factum_store::sim::SimDisk;
use factum_store::{EmbeddedStore, MemoryStore, Options, Store};
use tempfile::TempDir;

struct Memory;

impl Harness for Memory {
    type Store = MemoryStore;

    fn open(&self) -> Arc<MemoryStore> {
        Arc::new(MemoryStore::new())
    }

    fn fail_next_sync(&self, store: &MemoryStore) -> bool {
        store.fail_next_sync();
        true
    }
}

struct Real {
    dir: TempDir,
    options: Options,
}

impl Real {
    fn new(options: Options) -> Self {
        Self { dir: tempfile::tempdir().unwrap(), options }
    }
}

impl Harness for Real {
    type Store = EmbeddedStore;

    fn open(&self) -> Arc<EmbeddedStore> {
        Arc::new(EmbeddedStore::open(self.dir.path(), self.options.clone()).unwrap().0)
    }

    fn settle(&self, store: &EmbeddedStore) {
        store.checkpoint().unwrap();
    }

    fn reopen(&self, store: Arc<EmbeddedStore>) -> Option<Arc<EmbeddedStore>> {
        drop(store);
        Some(self.open())
    }
}

struct Simulated {
    disk: SimDisk,
    index: TempDir,
}

impl Simulated {
    fn new() -> Self {
        Self { disk: SimDisk::new(1), index: tempfile::tempdir().unwrap() }
    }

    fn index(&self) -> PathBuf {
        self.index.path().join("index")
    }
}

impl Harness for Simulated {
    type Store = EmbeddedStore;

    fn open(&self) -> Arc<EmbeddedStore> {
        let disk = Arc::new(self.disk.clone());
        Arc::new(EmbeddedStore::open_on(disk, &self.index(), Options::tiny()).unwrap().0)
    }

    fn reopen(&self, store: Arc<EmbeddedStore>) -> Option<Arc<EmbeddedStore>> {
        let runtime = tokio::runtime::Handle::current();
        std::thread::scope(|scope| scope.spawn(|| runtime.block_on(store.close())).join()).unwrap();
        drop(store);
        self.disk.restart_machine();
        Some(self.open())
    }

    fn fail_next_sync(&self, _store: &EmbeddedStore) -> bool {
        self.disk.fail_sync(1);
        true
    }
}

mod memory {
    factum_store::conformance_tests!(super::Memory);
}

mod embedded {
    factum_store::conformance_tests!(super::Real::new(factum_store::Options::default()));
}

mod embedded_tiny {
    factum_store::conformance_tests!(super::Real::new(factum_store::Options::tiny()));
}

mod simulated {
    factum_store::conformance_tests!(super::Simulated::new());
}
