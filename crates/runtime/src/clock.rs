//! Time and ids, the two things a pure core is not allowed to make up. Real here; counted and settable in tests.

use std::sync::Arc;

use factum_model::Timestamp;
use factum_model::id::IdSource;
use rand::Rng;
use uuid::Uuid;

/// Where "now" comes from.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;
}

/// The machine's clock, to the millisecond: finer digits would only make events longer.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one room in which the clock is read")]
    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }
}

/// Where ids come from: a source for each decision.
pub trait Ids: Send + Sync + 'static {
    fn source(&self, now: Timestamp) -> Box<dyn IdSource + Send>;
}

/// UUIDv7s of the decision's own time, so that ids sort by age.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

/// How many random bits of an id there are, in bytes, and for how many ids they are made at a time: asking
/// costs more than they do, and many commits have two.
const RANDOM_BYTES: usize = 10;
const IDS_AHEAD: usize = 4;

struct RandomSource {
    millis: u64,
    random: [[u8; RANDOM_BYTES]; IDS_AHEAD],
    /// How many of them are left.
    left: usize,
}

impl Ids for RandomIds {
    fn source(&self, now: Timestamp) -> Box<dyn IdSource + Send> {
        let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
        Box::new(RandomSource { millis, random: [[0; RANDOM_BYTES]; IDS_AHEAD], left: 0 })
    }
}

impl IdSource for RandomSource {
    fn next_uuid(&mut self) -> Uuid {
        if self.left == 0 {
            self.refill();
        }
        self.left -= 1;
        uuid::Builder::from_unix_timestamp_millis(self.millis, &self.random[self.left]).into_uuid()
    }
}

impl RandomSource {
    #[allow(clippy::disallowed_methods, reason = "the one room in which ids are made up")]
    fn refill(&mut self) {
        rand::rng().fill_bytes(self.random.as_flattened_mut());
        self.left = IDS_AHEAD;
    }
}

/// Shared handles to both.
#[derive(Clone)]
pub struct Sources {
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
}

impl Default for Sources {
    fn default() -> Self {
        Self { clock: Arc::new(SystemClock), ids: Arc::new(RandomIds) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_id_comes_twice_and_all_are_of_their_decisions_time() {
        let now = Timestamp::from_millisecond(0x0123_4567_89ab).unwrap();
        let mut sources = [RandomIds.source(now), RandomIds.source(now)];
        let ids: BTreeSet<_> = (0..1_000).map(|at| sources[at % 2].next_uuid()).collect();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.iter().all(|id| id.as_u128() >> 80 == 0x0123_4567_89ab && id.get_version_num() == 7));
    }
}
