//! Cron expressions of five fields, and when they come next in a time zone.
//!
//! Written here because the crates of the field bring a second date library along, read the machine's clock or do not say
//! what they do when clocks are changed; the arithmetic on `jiff` is short. The rules are those of Vixie cron:
//!
//! - Where both day fields are restricted, either of them is enough.
//! - Where clocks go forward, a fixed hour that does not exist comes right after the gap; with `*` in the hour field only
//!   times that exist count.
//! - Where clocks go back, a fixed hour comes once, the first time; with `*` in the hour field it comes in both.

use factum_model::{Refusal, Timestamp};
use jiff::civil::{Date, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, ToSpan};

/// How far ahead a time is looked for: a leap day may be eight years away.
const DAYS_AHEAD_MAX: usize = 9 * 366;

const MINUTE: SignedDuration = SignedDuration::from_secs(60);

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A parsed expression. Each field is a set of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    /// Sunday is 0.
    weekdays: u64,
    /// The fields began with `*`.
    any_hour: bool,
    any_day: bool,
    any_weekday: bool,
}

impl Cron {
    pub(super) fn parse(text: &str) -> Result<Cron, Refusal> {
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(Refusal::invalid("cron has five fields: minute, hour, day of month, month, day of week"));
        };
        let weekdays = field("day of week", weekday, 0, 7, &DAYS, 0)?;
        Ok(Cron {
            minutes: field("minute", minute, 0, 59, &[], 0)?,
            hours: field("hour", hour, 0, 23, &[], 0)?,
            days: field("day of month", day, 1, 31, &[], 0)?,
            months: field("month", month, 1, 12, &MONTHS, 1)?,
            // Both 0 and 7 are Sunday.
            weekdays: (weekdays | weekdays >> 7) & 0x7f,
            any_hour: hour.starts_with('*'),
            any_day: day.starts_with('*'),
            any_weekday: weekday.starts_with('*'),
        })
    }

    /// The first time strictly after `after`; `None` where there is none for years.
    pub(super) fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        // Clocks that are set back at midnight make the day before come again, so the search begins a day early.
        let mut date = zone.to_datetime(after).date().yesterday().ok()?;
        for _ in 0..DAYS_AHEAD_MAX {
            if self.on(date) {
                let found = self.on_day(date, zone, after);
                if found.is_some() {
                    return found;
                }
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    fn on(&self, date: Date) -> bool {
        let day = self.days >> date.day() & 1 == 1;
        let weekday = self.weekdays >> sunday_zero(date.weekday()) & 1 == 1;
        let days = if self.any_day || self.any_weekday { day && weekday } else { day || weekday };
        self.months >> date.month() & 1 == 1 && days
    }

    fn at(&self, hour: i8, minute: i8) -> bool {
        self.hours >> hour & 1 == 1 && self.minutes >> minute & 1 == 1
    }

    /// The first time of this day after `after`.
    fn on_day(&self, date: Date, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
        let start = zone.to_zoned(date.at(0, 0, 0, 0)).ok()?.timestamp();
        let end = zone.to_zoned(date.tomorrow().ok()?.at(0, 0, 0, 0)).ok()?.timestamp();
        if end <= after {
            return None;
        }
        if end.duration_since(start) == SignedDuration::from_hours(24) {
            return self.on_plain_day(start, after);
        }
        self.on_changed_day(date, zone, start, end, after)
    }

    /// A day of 24 hours: its times are where they stand on the clock.
    fn on_plain_day(&self, start: Timestamp, after: Timestamp) -> Option<Timestamp> {
        let passed = after.duration_since(start);
        let first = if passed.is_negative() { 0 } else { passed.as_mins() + 1 };
        let hours = (first / 60..24).filter(|hour| self.hours >> hour & 1 == 1);
        let minutes = || (0..60).filter(|minute| self.minutes >> minute & 1 == 1);
        let mut times = hours.flat_map(|hour| minutes().map(move |minute| hour * 60 + minute));
        start.checked_add(SignedDuration::from_mins(times.find(|time| *time >= first)?)).ok()
    }

    /// A day on which clocks change is walked through minute by minute.
    fn on_changed_day(
        &self,
        date: Date,
        zone: &TimeZone,
        start: Timestamp,
        end: Timestamp,
        after: Timestamp,
    ) -> Option<Timestamp> {
        let mut time = start;
        while time < end {
            if time > after && self.at_instant(date, time, zone) {
                return Some(time);
            }
            time = time.checked_add(MINUTE).ok()?;
        }
        None
    }

    fn at_instant(&self, date: Date, time: Timestamp, zone: &TimeZone) -> bool {
        let local = zone.to_datetime(time);
        if local.date() == date && self.at(local.hour(), local.minute()) {
            let again = matches!(
                zone.to_ambiguous_timestamp(local).offset(),
                AmbiguousOffset::Fold { after, .. } if zone.to_offset(time) == after
            );
            return self.any_hour || !again;
        }
        !self.any_hour && self.skipped_before(time, zone)
    }

    /// Whether clocks went forward right before this minute, over a time that was meant.
    fn skipped_before(&self, time: Timestamp, zone: &TimeZone) -> bool {
        let Ok(before) = time.checked_sub(MINUTE) else { return false };
        let (from, to) = (zone.to_datetime(before), zone.to_datetime(time));
        let mut skipped = from.saturating_add(1.minute());
        while skipped < to {
            if self.on(skipped.date()) && self.at(skipped.hour(), skipped.minute()) {
                return true;
            }
            skipped = skipped.saturating_add(1.minute());
        }
        false
    }
}

fn sunday_zero(weekday: Weekday) -> i8 {
    weekday.to_sunday_zero_offset()
}

/// The set of a field: lists of numbers, names, ranges and steps.
fn field(what: &str, text: &str, min: u32, max: u32, names: &[&str], first_name: u32) -> Result<u64, Refusal> {
    let refuse = || Refusal::invalid(format!("cron: {text:?} is not a {what}; {min} to {max}, with * , - and /"));
    let number = |text: &str| -> Result<u32, Refusal> {
        let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let number = match named {
            Some(at) => first_name + at as u32,
            // `parse` would take a sign.
            None if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().map_err(|_| refuse())?,
            None => return Err(refuse()),
        };
        if (min..=max).contains(&number) { Ok(number) } else { Err(refuse()) }
    };
    let mut set = 0_u64;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (part, None),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (min, max),
            Some((from, to)) => (number(from)?, number(to)?),
            // `5/10` means from 5 on, as in Vixie cron's descendants.
            None => (number(range)?, if step.is_some() { max } else { number(range)? }),
        };
        let step = match step {
            Some(text) if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().map_err(|_| refuse())?,
            Some(_) => return Err(refuse()),
            None => 1_usize,
        };
        if step == 0 || from > to {
            return Err(refuse());
        }
        set = (from..=to).step_by(step).fold(set, |set, number| set | 1 << number);
    }
    Ok(set)
}
