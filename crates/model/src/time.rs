//! How instants are written: as `jiff` spells them, which is RFC 3339 in UTC.
//!
//! The facts, rows and answers of a commit say the same instant many times over, and so do the commits of one millisecond. To
//! spell it takes longer than to write it, so each thread keeps the spelling of the last one.

use std::cell::RefCell;

use jiff::Timestamp;
use serde::Serializer;

/// Calls `with` with the text of an instant.
pub(crate) fn spelled<T>(at: Timestamp, with: impl FnOnce(&str) -> T) -> T {
    thread_local! { static LAST: RefCell<(Timestamp, String)> = RefCell::default(); }
    LAST.with_borrow_mut(|(last, text)| {
        if *last != at || text.is_empty() {
            (*last, *text) = (at, at.to_string());
        }
        with(text)
    })
}

/// Writes a field that is an instant, or may be one.
pub fn serialize<T: When, S: Serializer>(instant: &T, serializer: S) -> Result<S::Ok, S::Error> {
    match instant.at() {
        Some(at) => spelled(at, |text| serializer.serialize_str(text)),
        None => serializer.serialize_none(),
    }
}

/// What such a field may hold.
pub trait When {
    fn at(&self) -> Option<Timestamp>;
}

impl When for Timestamp {
    fn at(&self) -> Option<Timestamp> {
        Some(*self)
    }
}

impl When for Option<Timestamp> {
    fn at(&self) -> Option<Timestamp> {
        *self
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Serialize;

    use super::*;
    use crate::json;

    #[derive(Serialize)]
    struct Plain(Timestamp, Option<Timestamp>);

    #[derive(Serialize)]
    struct Kept(
        #[serde(serialize_with = "serialize")] Timestamp,
        #[serde(serialize_with = "serialize")] Option<Timestamp>,
    );

    /// A few instants that come again, and any other.
    fn instants() -> impl Strategy<Value = Timestamp> {
        let seconds = Timestamp::MIN.as_second()..=Timestamp::MAX.as_second();
        let any = (seconds, 0..1_000_000_000).prop_map(|(second, nano)| Timestamp::new(second, nano).unwrap());
        prop_oneof![(0..3i64).prop_map(|at| Timestamp::from_millisecond(at * 10).unwrap()), any]
    }

    proptest! {
        #[test]
        fn instants_are_written_as_jiff_writes_them(
            instants in proptest::collection::vec((instants(), proptest::option::of(instants())), 1..20),
        ) {
            for (one, other) in instants {
                let mut out = Vec::new();
                json::put(&mut out, &Kept(one, other)).unwrap();
                prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&Plain(one, other)).unwrap());
            }
        }
    }
}
