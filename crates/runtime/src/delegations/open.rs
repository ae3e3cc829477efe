//! Which runs each peer is at, so that its channel can tell. In memory, like the drivers: every open run has one, also after a
//! restart, so nothing has to be written for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use factum_model::id::{ChannelId, RunId, SessionId};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// Account and channel.
type Key = (Arc<str>, ChannelId);
type Run = (SessionId, RunId);

/// The open runs of an account's peer, by its channel.
#[derive(Default)]
pub(crate) struct OpenDelegations(Mutex<FxHashMap<Key, BTreeSet<Run>>>);

impl OpenDelegations {
    pub(super) fn add(&self, key: Key, run: Run) {
        self.0.lock().entry(key).or_default().insert(run);
    }

    pub(super) fn remove(&self, key: &Key, run: &Run) {
        let mut open = self.0.lock();
        if let Some(runs) = open.get_mut(key) {
            runs.remove(run);
            if runs.is_empty() {
                open.remove(key);
            }
        }
    }

    /// Those of a channel, `max` at most.
    pub(crate) fn of(&self, key: &Key, max: usize) -> Vec<Run> {
        self.0.lock().get(key).into_iter().flatten().take(max).cloned().collect()
    }
}
