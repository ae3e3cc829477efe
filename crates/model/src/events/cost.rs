//! Facts about cost, rate limits and quotas. `limit.changed` is in `artifact`, beside the other settings of a run.

use jiff::Timestamp;

use crate::limit::*;
use crate::value::{Knowledge, Usage};
use crate::wire::wire;

wire! {
    /// What a call will probably cost, before it is made.
    pub struct CostEstimated {
        pub provider: String,
        pub model: String,
        pub usage: Usage,
        pub cost: Option<Money>,
        pub knowledge: Knowledge,
        /// What is set aside for it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub reservations: Vec<Reservation>,
    }

    /// What a call did cost. Without a price the knowledge is `unavailable`, and the cost is absent rather than zero.
    pub struct CostRecorded {
        pub provider: String,
        pub model: String,
        pub usage: Usage,
        pub cost: Option<Money>,
        pub knowledge: Knowledge,
        pub estimated: Option<Money>,
        /// What is no longer set aside.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub released: Vec<Reservation>,
    }

    /// Somebody told us to slow down.
    pub struct RateLimitHit {
        pub limit: LimitState,
        pub provider: Option<String>,
        pub model: Option<String>,
        pub retry_after_ms: Option<u64>,
        pub retry_at: Option<Timestamp>,
    }

    /// A quota is nearly used up.
    pub struct QuotaLow {
        pub limit: LimitState,
        pub threshold_percent: u8,
    }

    /// A quota stopped the work.
    pub struct QuotaBlocked {
        pub limit: LimitState,
        /// How much was asked for, in the limit's unit.
        pub requested: Option<u64>,
        pub reason: String,
        pub advice: Option<String>,
    }
}
