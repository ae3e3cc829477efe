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

struct RandomSource {
    millis: u64,
}

impl Ids for RandomIds {
    fn source(&self, now: Timestamp) -> Box<dyn IdSource + Send> {
        Box::new(RandomSource { millis: u64::try_from(now.as_millisecond()).unwrap_or(0) })
    }
}

impl IdSource for RandomSource {
    #[allow(clippy::disallowed_methods, reason = "the one room in which ids are made up")]
    fn next_uuid(&mut self) -> Uuid {
        // Whole numbers: the same bytes would be copied one by one.
        let mut rng = rand::rng();
        let mut random = [0; 10];
        random[..8].copy_from_slice(&rng.next_u64().to_le_bytes());
        random[8..].copy_from_slice(&rng.next_u32().to_le_bytes()[..2]);
        uuid::Builder::from_unix_timestamp_millis(self.millis, &random).into_uuid()
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
        // Each of the other 74 bits is now this, now that.
        let (seen, unseen) = ids.iter().fold((0, 0), |(set, unset), id| (set | id.as_u128(), unset | !id.as_u128()));
        assert_eq!((seen & unseen).count_ones(), 74);
    }
}
