//! How often somebody may ask: one bound for everything, and further ones for what costs more.
//!
//! Each is by principal, over all its connections. What is over is refused with the time to wait.

use std::num::NonZeroU32;
use std::sync::Arc;

use factum_model::{ErrorCode, Refusal};
use factum_runtime::Caller;
use governor::clock::{Clock, DefaultClock};
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use rustc_hash::FxBuildHasher;

use crate::limits::TransportLimits;

/// The bounds of one server.
pub(crate) struct Rates {
    requests: Rate,
    publishes: Rate,
    history: Rate,
}

struct Rate {
    what: &'static str,
    per_second: u32,
    limiter: RateLimiter<Who, DashMapStateStore<Who, FxBuildHasher>, DefaultClock>,
}

/// Account and principal, who were authenticated: nobody chooses so many names that they meet in one place of the table.
type Who = (Arc<str>, Arc<str>);

impl Rates {
    pub(crate) fn new(limits: &TransportLimits) -> Self {
        Self {
            requests: Rate::new("requests", limits.requests_per_second, limits.requests_burst),
            publishes: Rate::new("messages", limits.publishes_per_second, limits.publishes_per_second),
            history: Rate::new(
                "pages of channel history",
                limits.history_pages_per_second,
                limits.history_pages_per_second,
            ),
        }
    }

    /// Any request.
    pub(crate) fn check(&self, caller: &Caller) -> Result<(), Refusal> {
        self.requests.check(caller)
    }

    /// A command that has a bound of its own (seed 002 §9).
    pub(crate) fn check_command(&self, caller: &Caller, command: &str) -> Result<(), Refusal> {
        match command {
            "channels/publish" => self.publishes.check(caller),
            "channels/history" => self.history.check(caller),
            _ => Ok(()),
        }
    }

    /// Forgets principals that have not called for a while.
    pub(crate) fn sweep(&self) {
        for rate in [&self.requests, &self.publishes, &self.history] {
            rate.limiter.retain_recent();
            rate.limiter.shrink_to_fit();
        }
    }
}

impl Rate {
    fn new(what: &'static str, per_second: u32, burst: u32) -> Self {
        let at_least_one = |number: u32| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(at_least_one(per_second)).allow_burst(at_least_one(burst));
        Self { what, per_second, limiter: RateLimiter::dashmap_with_hasher(quota, FxBuildHasher) }
    }

    fn check(&self, caller: &Caller) -> Result<(), Refusal> {
        let Err(not_until) = self.limiter.check_key(&(caller.account.clone(), caller.principal.clone())) else {
            return Ok(());
        };
        let wait = not_until.wait_time_from(DefaultClock::default().now());
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
        let message = format!("more than {} {} a second", self.per_second, self.what);
        Err(Refusal::new(ErrorCode::RateLimited, message).with("retry_after_ms", wait_ms))
    }
}
