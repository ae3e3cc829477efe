//! The times of a schedule: which comes next, and which have passed.

use factum_model::job::Schedule;
use factum_model::{Refusal, Timestamp};
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::super::apply::later;
use super::cron::Cron;

/// How many passed times are counted one by one; beyond that they are only passed over.
pub(super) const PASSED_MAX: u64 = 10_000;

/// When a schedule is due.
pub(super) enum Times {
    Cron { cron: Cron, zone: TimeZone },
    Every { start: Timestamp, ms: u64 },
}

/// What has come since the time a schedule waited for.
pub(super) struct Passed {
    /// How many times, with the one it waited for.
    pub(super) count: u64,
    /// The newest of them.
    pub(super) last: Timestamp,
}

impl Times {
    /// `start` is what intervals count from where the schedule itself does not say.
    pub(super) fn of(schedule: &Schedule, start: Timestamp) -> Result<Times, Refusal> {
        match (&schedule.cron, schedule.every_ms) {
            (Some(cron), None) => Ok(Times::Cron { cron: Cron::parse(cron)?, zone: zone(schedule)? }),
            (None, Some(0)) => Err(Refusal::invalid("every_ms must be more than 0")),
            (None, Some(ms)) => Ok(Times::Every { start: schedule.start_at.unwrap_or(start), ms }),
            _ => Err(Refusal::invalid("a schedule has either cron or every_ms")),
        }
    }

    /// The first time strictly after `after`.
    pub(super) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Times::Cron { cron, zone } => cron.next(after, zone),
            Times::Every { start, .. } if after < *start => Some(*start),
            Times::Every { start, ms } => later(*start, (elapsed(*start, after) / ms + 1).checked_mul(*ms)?),
        }
    }

    /// The times from `first`, which is one of them, up to `now`.
    pub(super) fn passed(&self, first: Timestamp, now: Timestamp) -> Passed {
        if let Times::Every { ms, .. } = self {
            let more = elapsed(first, now) / ms;
            return Passed { count: more + 1, last: later(first, more * ms).unwrap_or(first) };
        }
        let mut passed = Passed { count: 1, last: first };
        while passed.count < PASSED_MAX {
            let Some(next) = self.next(passed.last).filter(|next| *next <= now) else { break };
            passed = Passed { count: passed.count + 1, last: next };
        }
        passed
    }

    /// The time that `count` times of those from `first` come before.
    pub(super) fn skip(&self, first: Timestamp, count: u64) -> Timestamp {
        match self {
            Times::Every { ms, .. } => count.checked_mul(*ms).and_then(|ms| later(first, ms)).unwrap_or(first),
            Times::Cron { .. } => (0..count).fold(first, |time, _| self.next(time).unwrap_or(time)),
        }
    }
}

fn elapsed(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.as_millisecond() - from.as_millisecond()).unwrap_or(0)
}

fn zone(schedule: &Schedule) -> Result<TimeZone, Refusal> {
    let Some(name) = &schedule.time_zone else { return Ok(TimeZone::UTC) };
    let unknown = |_| Refusal::invalid(format!("there is no time zone {name:?}; name one such as Europe/Vienna"));
    TimeZoneDatabase::bundled().get(name).map_err(unknown)
}
