//! Times as people write them on a command line.

use factum_model::Timestamp;
use jiff::SignedDuration;
use jiff::tz::TimeZone;

const DAY_SECONDS: i64 = 24 * 60 * 60;

/// A span such as `90d`, `12h` or `1h30m`. Jiff's have no days, since a day is not always the same; ours is.
pub(crate) fn parse_span(text: &str) -> Option<SignedDuration> {
    match text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok()) {
        Some(days) => days.checked_mul(DAY_SECONDS).map(SignedDuration::from_secs),
        None => text.parse().ok(),
    }
}

/// A span on a command line, as the milliseconds that commands want.
pub(crate) fn parse_ms(text: &str) -> Result<u64, String> {
    let span = parse_span(text).and_then(|span| u64::try_from(span.as_millis()).ok());
    span.ok_or_else(|| "write a span such as 500ms, 2s, 1m, 12h or 7d".to_owned())
}

/// A time where the reader is.
pub(crate) fn local(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// How long something took, in the two largest units that say something.
pub(crate) fn took(span: SignedDuration) -> String {
    let seconds = span.as_secs().max(0);
    match seconds {
        0 => format!("{}ms", span.as_millis().max(0)),
        1..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {}s", seconds / 60, seconds % 60),
        3_600..DAY_SECONDS => format!("{}h {}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d {}h", seconds / DAY_SECONDS, seconds % DAY_SECONDS / 3_600),
    }
}

/// The time now.
pub(crate) fn now() -> Timestamp {
    use factum_runtime::Clock;
    factum_runtime::SystemClock.now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_written_as_people_do() {
        for (text, ms) in
            [("500ms", Some(500)), ("2s", Some(2_000)), ("1d", Some(86_400_000)), ("-1s", None), ("x", None)]
        {
            assert_eq!(parse_ms(text).ok(), ms, "{text}");
        }
        for (seconds, text) in [(0, "0ms"), (59, "59s"), (61, "1m 1s"), (7_260, "2h 1m"), (90_000, "1d 1h")] {
            assert_eq!(took(SignedDuration::from_secs(seconds)), text);
        }
    }
}
