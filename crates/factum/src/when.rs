//! Times as people write them on a command line.

use factum_model::Timestamp;
use jiff::SignedDuration;

const DAY_SECONDS: i64 = 24 * 60 * 60;

/// A span such as `90d`, `12h` or `1h30m`. Jiff's have no days, since a day is not always the same; ours is.
pub(crate) fn parse_span(text: &str) -> Option<SignedDuration> {
    match text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok()) {
        Some(days) => days.checked_mul(DAY_SECONDS).map(SignedDuration::from_secs),
        None => text.parse().ok(),
    }
}

/// The time now.
pub(crate) fn now() -> Timestamp {
    use factum_runtime::Clock;
    factum_runtime::SystemClock.now()
}
