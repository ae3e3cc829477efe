//! Money, budgets and limits. Amounts are whole numbers, so that sums are exact.

use jiff::Timestamp;

use crate::value::Knowledge;
use crate::wire::{wire, words};

wire! {
    /// An amount of money.
    #[derive(Eq)]
    pub struct Money {
        /// Millionths of the currency's unit.
        pub amount_micros: u64,
        /// ISO 4217, such as `USD`.
        pub currency: String,
    }

    /// How much of a limit is used.
    pub struct LimitState {
        /// The limit's name, such as `tokens_per_minute` or `session_budget`.
        pub limit: String,
        pub level: LimitLevel,
        /// What `used`, `reserved` and `max` count, such as `tokens`, `requests` or `usd_micros`.
        pub unit: String,
        pub used: Option<u64>,
        pub reserved: Option<u64>,
        pub max: Option<u64>,
        pub resets_at: Option<Timestamp>,
        pub knowledge: Knowledge,
    }

    /// A part of a budget that is set aside before the work starts, so that fan-out cannot overspend.
    pub struct Reservation {
        pub level: LimitLevel,
        /// The id of the session, task, run or subagent whose budget it is.
        pub owner: String,
        pub amount: Money,
    }
}

words! {
    /// Whose limit it is.
    pub enum LimitLevel {
        Provider,
        Account,
        Session,
        Task,
        Run,
        Subagent,
    }
}
