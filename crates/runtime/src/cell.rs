//! An aggregate in memory: a lock around its state, the hub its readers wait at, and what goes on beside it.
//!
//! The lock's order is the order of commits. It is held while a command is decided, applied and handed to the store, and
//! never while anything waits. The state may be ahead of what is durable; whoever shows it waits for the hub first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use factum_model::Timestamp;
use parking_lot::Mutex;

use crate::aggregate::Aggregate;
use crate::hub::Hub;
use crate::loading::Loading;

pub(crate) struct Cell<S: Aggregate> {
    pub(crate) stream: Arc<str>,
    pub(crate) account: Arc<str>,
    pub(crate) partition: Arc<str>,
    pub(crate) id: S::Id,
    pub(crate) hub: Hub,
    pub(crate) live: Mutex<Live<S>>,
    /// The load that is under way, so that the state is loaded once.
    pub(crate) loading: Mutex<Option<Arc<Loading>>>,
    pub(crate) work: S::Work,
    /// Commits handed to the store that are not settled.
    pub(crate) in_flight: AtomicU32,
    /// A commit failed: the state is ahead of the log and has to be loaded again.
    pub(crate) broken: AtomicBool,
}

pub(crate) struct Live<S> {
    /// Absent when not loaded.
    pub(crate) state: Option<Box<S>>,
    /// No longer in the map: whoever holds it has to look it up again.
    pub(crate) retired: bool,
    /// The sequence of the newest snapshot handed to the store.
    pub(crate) snapshot_sequence: u64,
    pub(crate) used_at: Timestamp,
    /// Among those that came to rest, see `at_rest.rs`.
    pub(crate) in_line: bool,
}

impl<S: Aggregate> Cell<S> {
    pub(crate) fn new(account: Arc<str>, id: S::Id, state: Option<S>, now: Timestamp) -> Self {
        let live =
            Live { state: state.map(Box::new), retired: false, snapshot_sequence: 0, used_at: now, in_line: false };
        Self {
            stream: S::stream(&account, &id),
            partition: S::partition(&account),
            account,
            id,
            hub: Hub::default(),
            live: Mutex::new(live),
            loading: Mutex::default(),
            work: S::Work::default(),
            in_flight: AtomicU32::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Whether nothing is under way that needs the state in memory.
    pub(crate) fn is_quiet(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) == 0 && S::is_quiet(&self.work)
    }

    /// Whether the state can be worked with, or never again; otherwise it has to be loaded.
    pub(crate) fn is_ready(&self) -> bool {
        !self.broken.load(Ordering::Acquire) && {
            let live = self.live.lock();
            live.state.is_some() || live.retired
        }
    }
}
