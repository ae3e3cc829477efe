//! Why credentials were refused, for whoever reads the log: the callers themselves all hear the same.
//!
//! Anybody may send bad credentials as fast as they like, so a minute has only so many lines of it; the first line of the next
//! minute says how many were left out.

use std::net::IpAddr;

use factum_model::Timestamp;
use parking_lot::Mutex;

/// Refusals that are told in a minute, at `info`. The rest are there at `debug`.
pub(super) const TOLD_PER_MINUTE: u32 = 60;

const MINUTE_MS: i64 = 60_000;

/// How many were told lately.
#[derive(Default)]
pub(super) struct Told(Mutex<Minute>);

#[derive(Default)]
struct Minute {
    number: i64,
    seen: u32,
}

impl Told {
    pub(super) fn tell(&self, reason: &str, peer: IpAddr, now: Timestamp) {
        match self.left_out(now) {
            Some(left_out) => tracing::info!(reason, %peer, left_out, "a credential was refused"),
            None => tracing::debug!(reason, %peer, "a credential was refused"),
        }
    }

    /// Counts one. `None` where it is one too many; otherwise how many were not told in the minute before.
    fn left_out(&self, now: Timestamp) -> Option<u32> {
        let mut minute = self.0.lock();
        let number = now.as_millisecond().div_euclid(MINUTE_MS);
        let mut left_out = 0;
        if number != minute.number {
            left_out = minute.seen.saturating_sub(TOLD_PER_MINUTE);
            *minute = Minute { number, seen: 0 };
        }
        minute.seen = minute.seen.saturating_add(1);
        (minute.seen <= TOLD_PER_MINUTE).then_some(left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_only_so_many_lines_and_the_next_one_says_what_is_missing() {
        let told = Told::default();
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        for _ in 0..TOLD_PER_MINUTE {
            assert_eq!(told.left_out(at(60)), Some(0));
        }
        for second in 60..65 {
            assert_eq!(told.left_out(at(second)), None);
        }
        assert_eq!(told.left_out(at(120)), Some(5));
        assert_eq!(told.left_out(at(121)), Some(0));
        assert_eq!(told.left_out(at(300)), Some(0));
    }
}
