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

struct RandomSource(u64);

impl Ids for RandomIds {
    fn source(&self, now: Timestamp) -> Box<dyn IdSource + Send> {
        Box::new(RandomSource(u64::try_from(now.as_millisecond()).unwrap_or(0)))
    }
}

impl IdSource for RandomSource {
    #[allow(clippy::disallowed_methods, reason = "the one room in which ids are made up")]
    fn next_uuid(&mut self) -> Uuid {
        let mut random = [0; 10];
        rand::rng().fill_bytes(&mut random);
        uuid::Builder::from_unix_timestamp_millis(self.0, &random).into_uuid()
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
