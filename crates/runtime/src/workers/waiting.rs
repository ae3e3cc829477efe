//! Where workers wait for runs: in line, by queue, asleep. A run that becomes ready wakes the first who can do it, and
//! nobody else.
//!
//! No wake-up is lost. A worker stands in line *before* it looks at the index, so a run is either found by that look or
//! wakes somebody in line. Whoever is woken owes the run a look: if it goes away without one (its client left, its time was
//! over, it got another run), the next in line is woken instead.

use std::collections::BTreeSet;
use std::sync::Arc;

use factum_engine::session::workers::{ReadyKey, keys};
use factum_model::Refusal;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::Notify;

use super::groups::satisfies;

/// A run became ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wake {
    ready: ReadyKey,
    key: Vec<u8>,
}

impl Wake {
    /// What the key of a ready row says.
    pub(super) fn of(key: &[u8]) -> Option<Wake> {
        Some(Wake { ready: keys::read_ready(key)?, key: key.to_vec() })
    }
}

/// All that wait.
pub(super) struct Waiting {
    max: usize,
    lines: Mutex<Lines>,
}

/// Who came when. A worker keeps its ticket for as long as it waits, so being woken in vain costs it no place.
type Ticket = u64;

#[derive(Default)]
struct Lines {
    tickets: Ticket,
    waiters: FxHashMap<Ticket, Waiter>,
    /// By account and queue.
    lines: FxHashMap<(Arc<str>, String), Line>,
}

/// Those who wait for one queue, by what they can do: few kinds of workers, however many of each.
type Line = FxHashMap<Arc<[String]>, BTreeSet<Ticket>>;

struct Waiter {
    account: Arc<str>,
    queues: Vec<String>,
    capabilities: Arc<[String]>,
    notify: Arc<Notify>,
    /// What it was woken for; it does not stand in line then.
    woken: Option<Wake>,
}

impl Waiting {
    pub(super) fn new(max: usize) -> Self {
        Self { max, lines: Mutex::default() }
    }

    /// Comes in, without standing in line yet.
    pub(super) fn enter(
        &self,
        account: &Arc<str>,
        queues: Vec<String>,
        capabilities: &Arc<[String]>,
    ) -> Result<Place<'_>, Refusal> {
        let mut lines = self.lines.lock();
        if lines.waiters.len() >= self.max {
            return Err(Refusal::limit("waiting_workers", lines.waiters.len() as u64 + 1, self.max as u64));
        }
        lines.tickets += 1;
        let (ticket, notify) = (lines.tickets, Arc::new(Notify::new()));
        let (account, capabilities) = (account.clone(), capabilities.clone());
        let waiter = Waiter { account, queues, capabilities, notify: notify.clone(), woken: None };
        lines.waiters.insert(ticket, waiter);
        Ok(Place { waiting: self, ticket, notify, owed: None })
    }

    /// Wakes the first in line who can do the run.
    pub(super) fn wake(&self, wake: Wake) {
        let mut lines = self.lines.lock();
        let Some(ticket) = lines.first_for(&wake.ready) else { return };
        lines.step_out(ticket);
        if let Some(waiter) = lines.waiters.get_mut(&ticket) {
            waiter.woken = Some(wake);
            waiter.notify.notify_one();
        }
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        let lines = self.lines.lock();
        lines.waiters.is_empty() && lines.lines.is_empty()
    }
}

impl Lines {
    fn first_for(&self, ready: &ReadyKey) -> Option<Ticket> {
        let line = self.lines.get(&(ready.account.as_str().into(), ready.queue.clone()))?;
        let able = line.iter().filter(|(have, _)| satisfies(have, &ready.capabilities));
        able.filter_map(|(_, tickets)| tickets.first().copied()).min()
    }

    fn step_in(&mut self, ticket: Ticket) {
        let Some(waiter) = self.waiters.get(&ticket) else { return };
        for queue in &waiter.queues {
            let line = self.lines.entry((waiter.account.clone(), queue.clone())).or_default();
            line.entry(waiter.capabilities.clone()).or_default().insert(ticket);
        }
    }

    fn step_out(&mut self, ticket: Ticket) {
        let Some(waiter) = self.waiters.get(&ticket) else { return };
        for queue in &waiter.queues {
            let key = (waiter.account.clone(), queue.clone());
            let Some(line) = self.lines.get_mut(&key) else { continue };
            if let Some(tickets) = line.get_mut(&waiter.capabilities) {
                tickets.remove(&ticket);
                if tickets.is_empty() {
                    line.remove(&waiter.capabilities);
                }
            }
            if line.is_empty() {
                self.lines.remove(&key);
            }
        }
    }
}

/// A worker's place. Dropping it passes on what it was woken for and did not look at.
pub(super) struct Place<'a> {
    waiting: &'a Waiting,
    ticket: Ticket,
    notify: Arc<Notify>,
    /// What it was woken for, until it has looked.
    owed: Option<Wake>,
}

impl Place<'_> {
    /// Stands in line. A look at the index has to follow.
    pub(super) fn stand(&mut self) {
        let mut lines = self.waiting.lines.lock();
        if let Some(waiter) = lines.waiters.get_mut(&self.ticket)
            && let Some(wake) = waiter.woken.take()
        {
            self.owed = Some(wake);
        }
        lines.step_in(self.ticket);
    }

    /// It has looked, and found nothing: what it was woken for is somebody else's.
    pub(super) fn found_nothing(&mut self) {
        self.owed = None;
    }

    /// It has looked, and got the runs of these keys.
    pub(super) fn found(&mut self, taken: &[Vec<u8>]) {
        let mut lines = self.waiting.lines.lock();
        let woken = lines.waiters.get_mut(&self.ticket).map(|waiter| &mut waiter.woken);
        for slot in [Some(&mut self.owed), woken].into_iter().flatten() {
            if slot.as_ref().is_some_and(|wake| taken.contains(&wake.key)) {
                *slot = None;
            }
        }
    }

    /// Sleeps until it is woken.
    pub(super) async fn woken(&self) {
        self.notify.notified().await;
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let woken = {
            let mut lines = self.waiting.lines.lock();
            lines.step_out(self.ticket);
            lines.waiters.remove(&self.ticket).and_then(|waiter| waiter.woken)
        };
        for wake in [self.owed.take(), woken].into_iter().flatten() {
            self.waiting.wake(wake);
        }
    }
}

#[cfg(test)]
mod tests;
