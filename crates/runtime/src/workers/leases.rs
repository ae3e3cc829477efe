//! When each lease runs out. Only in memory: heartbeats move deadlines without writing anything, and after a restart every
//! lease has its whole time again, so that a restart costs no worker its run.

use std::collections::BTreeSet;
use std::time::Duration;

use factum_engine::session::workers::LeaseRow;
use factum_model::id::{RunId, SessionId};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::pauses;

/// Account and run.
pub(super) type Key = (String, RunId);

/// A lease whose time is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) account: String,
    pub(super) run_id: RunId,
    pub(super) session_id: SessionId,
    pub(super) token: u64,
    /// How often recording that was tried.
    pub(super) tries: u32,
}

#[derive(Default)]
pub(super) struct Leases {
    deadlines: Mutex<Deadlines>,
    /// Something is due sooner than the keeper expects.
    sooner: Notify,
}

#[derive(Default)]
struct Deadlines {
    leases: FxHashMap<Key, Lease>,
    by_time: BTreeSet<(Instant, Key)>,
}

struct Lease {
    row: LeaseRow,
    deadline: Instant,
    /// How often it was tried to record that its time was over. From the first on it is not kept any more.
    tries: u32,
}

impl Leases {
    /// A worker got a run.
    pub(super) fn begin(&self, key: Key, row: LeaseRow) {
        self.begin_if(key, |_| Some(row));
    }

    /// A lease that was found in the index at a start, unless more is known of it already.
    pub(super) fn begin_again(&self, key: Key, row: LeaseRow) {
        self.begin_if(key, |known| known.is_none().then_some(row));
    }

    /// A run is not held any more.
    pub(super) fn end(&self, key: &Key) {
        self.deadlines.lock().remove(key);
    }

    /// Moves the deadline. False where the time was over: then it is too late, even if nobody has recorded it yet.
    pub(super) fn keep(&self, key: Key, row: LeaseRow) -> bool {
        let over = |known: &Lease| known.tries > 0 && known.row.token == row.token;
        self.begin_if(key, |known| (!known.is_some_and(over)).then(|| row.clone()))
    }

    /// The same for one of which only the token is known. Without effect where it is not held with that one.
    pub(super) fn keep_if_held(&self, key: Key, token: u64) {
        let held = |known: &&Lease| known.row.token == token && known.tries == 0;
        self.begin_if(key, |known| known.filter(held).map(|known| known.row.clone()));
    }

    /// Gives a lease its whole time, if it is to have it in view of what is known.
    fn begin_if(&self, key: Key, wanted: impl FnOnce(Option<&Lease>) -> Option<LeaseRow>) -> bool {
        let mut deadlines = self.deadlines.lock();
        let Some(row) = wanted(deadlines.leases.get(&key)) else { return false };
        let deadline = Instant::now() + Duration::from_millis(row.lease_ms);
        if deadlines.set(key, Lease { row, deadline, tries: 0 }) {
            self.sooner.notify_one();
        }
        true
    }

    /// Those whose time is over, and when the next one's is. They come again after a
    /// pause that grows, unless they end before.
    pub(super) fn due(&self, now: Instant, max: usize) -> (Vec<Due>, Option<Instant>) {
        let mut deadlines = self.deadlines.lock();
        let mut due = Vec::new();
        while let Some((at, key)) = deadlines.by_time.first()
            && *at <= now
            && due.len() < max
        {
            let key = key.clone();
            let Some(lease) = deadlines.leases.get(&key) else { break };
            let (row, tries) = (lease.row.clone(), lease.tries);
            due.push(Due {
                account: key.0.clone(),
                run_id: key.1.clone(),
                session_id: row.session_id.clone(),
                token: row.token,
                tries,
            });
            let deadline = now + pauses::growing(tries);
            deadlines.set(key, Lease { row, deadline, tries: tries.saturating_add(1) });
        }
        (due, deadlines.by_time.first().map(|(at, _)| *at))
    }

    /// It was recorded that this one is over, or that it is not held any more.
    pub(super) fn settled(&self, due: &Due) {
        let mut deadlines = self.deadlines.lock();
        let key = (due.account.clone(), due.run_id.clone());
        // A newer hold on the same run is not what was settled.
        if deadlines.leases.get(&key).is_some_and(|lease| lease.row.token == due.token) {
            deadlines.remove(&key);
        }
    }

    /// Waits until something is due sooner than before.
    pub(super) async fn sooner(&self) {
        self.sooner.notified().await;
    }
}

impl Deadlines {
    /// Says whether it is the first of all now.
    fn set(&mut self, key: Key, lease: Lease) -> bool {
        self.remove(&key);
        let first = self.by_time.first().is_none_or(|(at, _)| lease.deadline < *at);
        self.by_time.insert((lease.deadline, key.clone()));
        self.leases.insert(key, lease);
        first
    }

    fn remove(&mut self, key: &Key) {
        if let Some(lease) = self.leases.remove(key) {
            self.by_time.remove(&(lease.deadline, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
