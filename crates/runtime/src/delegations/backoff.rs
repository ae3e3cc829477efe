//! How long a driver waits: after trouble, longer each time; between two looks at a peer that is well, by how it stands.

use std::time::Duration;

/// After the first trouble, and at most.
const RETRY_MIN: Duration = Duration::from_millis(250);
const RETRY_MAX: Duration = Duration::from_secs(60);
/// Between two looks at a task that nothing streams, at first and at most.
const POLL_MIN: Duration = Duration::from_millis(500);
const POLL_MAX: Duration = Duration::from_secs(30);

/// Grows until something works.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    troubles: u32,
    looks: u32,
}

impl Backoff {
    /// Something worked.
    pub(super) fn worked(&mut self) {
        self.troubles = 0;
    }

    /// Something changed: the next change may come soon.
    pub(super) fn changed(&mut self) {
        self.looks = 0;
    }

    pub(super) fn after_trouble(&mut self) -> Duration {
        self.troubles = self.troubles.saturating_add(1);
        doubled(RETRY_MIN, self.troubles - 1).min(RETRY_MAX)
    }

    pub(super) fn between_looks(&mut self) -> Duration {
        self.looks = self.looks.saturating_add(1);
        doubled(POLL_MIN, self.looks - 1).min(POLL_MAX)
    }
}

fn doubled(first: Duration, times: u32) -> Duration {
    first.saturating_mul(1u32.checked_shl(times).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_their_bounds_and_begin_anew() {
        let mut backoff = Backoff::default();
        let waits: Vec<u128> = (0..12).map(|_| backoff.after_trouble().as_millis()).collect();
        assert_eq!(waits[..4], [250, 500, 1_000, 2_000]);
        assert_eq!(waits[11], 60_000);
        backoff.worked();
        assert_eq!(backoff.after_trouble(), RETRY_MIN);
        let looks: Vec<u128> = (0..80).map(|_| backoff.between_looks().as_millis()).collect();
        assert_eq!((looks[0], looks[79]), (500, 30_000));
        backoff.changed();
        assert_eq!(backoff.between_looks(), POLL_MIN);
    }
}
