//! Runs that somebody is about to claim. A worker that looks for one passes them over, so that a thousand that look at once
//! find a thousand different ones. The engine decides who gets a run; this only spares it the losers.

use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use super::Workers;
use super::waiting::Wake;

/// The keys of reserved ready rows.
#[derive(Default)]
pub(super) struct Reserved(Mutex<FxHashSet<Vec<u8>>>);

impl Reserved {
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        self.0.lock().contains(key)
    }
}

/// A reservation. Given up unless it is said that it was used: then the next in line is told that the run is there.
pub(super) struct Reservation<'a> {
    workers: &'a Workers,
    key: Vec<u8>,
    used: bool,
}

impl Workers {
    /// Reserves a run; `None` where somebody else has.
    pub(super) fn reserve(&self, key: &[u8]) -> Option<Reservation<'_>> {
        let key = key.to_vec();
        let first = self.reserved.0.lock().insert(key.clone());
        first.then_some(Reservation { workers: self, key, used: false })
    }
}

impl Reservation<'_> {
    /// The run is claimed, by this worker or by another: nobody needs to hear of it.
    pub(super) fn used(mut self) -> Vec<u8> {
        self.used = true;
        self.key.clone()
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.workers.reserved.0.lock().remove(&self.key);
        if !self.used
            && let Some(wake) = Wake::of(&self.key)
        {
            self.workers.waiting.wake(wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use factum_engine::session::workers::{ReadyKey, keys};
    use factum_model::Timestamp;
    use factum_model::task::Priority;
    use futures::poll;

    use super::*;
    use crate::options::ShellLimits;

    fn key() -> Vec<u8> {
        keys::ready(&ReadyKey {
            account: "acme".to_owned(),
            queue: "q".to_owned(),
            capabilities: Vec::new(),
            priority: Priority::Normal,
            since: Timestamp::UNIX_EPOCH,
            sequence: 1,
            run_id: "run_1".parse().unwrap(),
        })
    }

    #[test]
    fn a_run_is_reserved_by_one_at_a_time() {
        let workers = Workers::new(&ShellLimits::default());
        let first = workers.reserve(&key());
        assert!(first.is_some() && workers.reserve(&key()).is_none());
        drop(first);
        assert!(!workers.reserved.contains(&key()) && workers.reserve(&key()).is_some());
    }

    #[tokio::test]
    async fn a_run_that_was_reserved_and_not_claimed_wakes_the_next_in_line() {
        for used in [false, true] {
            let workers = Workers::new(&ShellLimits::default());
            let mut place = workers.waiting.enter(&"acme".into(), vec!["q".to_owned()], &[].into()).unwrap();
            place.stand();
            let reservation = workers.reserve(&key()).unwrap();
            if used {
                reservation.used();
            } else {
                drop(reservation);
            }
            let woken = poll!(std::pin::pin!(place.woken())) == Poll::Ready(());
            assert_eq!(woken, !used);
        }
    }
}
