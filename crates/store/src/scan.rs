//! Ranges of index keys and the merging of a newer source over an older one.
//!
//! It owns what `prefix`, `after` and `until` mean, once, for every store. It does no input or output.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::ops::Bound;

use bytes::Bytes;

use crate::contract::{Direction, Scan};

/// A key and its value; `None` hides the key in everything older.
pub(crate) type Entry = (Bytes, Option<Bytes>);

/// The keys a scan may return, lowest bound first whatever the direction. Never empty: see [`KeyRange::of`].
#[derive(Clone, Debug)]
pub(crate) struct KeyRange {
    lower: Bound<Bytes>,
    upper: Bound<Bytes>,
}

impl KeyRange {
    /// `None` where no key can be in the range.
    pub(crate) fn of(scan: &Scan) -> Option<Self> {
        let prefix_lower = if scan.prefix.is_empty() { Bound::Unbounded } else { Bound::Included(scan.prefix.clone()) };
        let prefix_upper = prefix_end(&scan.prefix).map_or(Bound::Unbounded, Bound::Excluded);
        let (from, to) = match scan.direction {
            Direction::Forward => (&scan.after, &scan.until),
            Direction::Backward => (&scan.until, &scan.after),
        };
        // No key is empty, so a bound at the empty key bounds nothing, and LMDB would not take it.
        let lower = from.clone().filter(|key| !key.is_empty()).map_or(Bound::Unbounded, Bound::Excluded);
        let upper = to.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let range = Self { lower: higher(prefix_lower, lower), upper: lower_of(prefix_upper, upper) };
        (!range.is_empty()).then_some(range)
    }

    /// The borrowed form that both the overlay and LMDB take.
    pub(crate) fn as_slices(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (self.lower.as_ref().map(|key| &**key), self.upper.as_ref().map(|key| &**key))
    }

    fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (_, Bound::Excluded(upper)) if upper.is_empty() => true,
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
                lower >= upper
            }
        }
    }
}

/// The first key behind every key that starts with `prefix`, if there is one.
fn prefix_end(prefix: &[u8]) -> Option<Bytes> {
    let keep = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut end = prefix[..=keep].to_vec();
    end[keep] += 1;
    Some(end.into())
}

fn higher(prefix: Bound<Bytes>, other: Bound<Bytes>) -> Bound<Bytes> {
    match (&prefix, &other) {
        (_, Bound::Unbounded) => prefix,
        (Bound::Included(first), Bound::Excluded(second)) if first > second => prefix,
        _ => other,
    }
}

fn lower_of(prefix: Bound<Bytes>, other: Bound<Bytes>) -> Bound<Bytes> {
    match (&prefix, &other) {
        (_, Bound::Unbounded) => prefix,
        (Bound::Excluded(first), Bound::Excluded(second)) if first < second => prefix,
        _ => other,
    }
}

/// Both sources in order; where both have a key the newer one's entry is taken.
pub(crate) fn merge<N, O>(newer: N, older: O, direction: Direction) -> Merge<N, O>
where
    N: Iterator<Item = Entry>,
    O: Iterator<Item = Entry>,
{
    Merge { newer: newer.peekable(), older: older.peekable(), direction }
}

pub(crate) struct Merge<N: Iterator<Item = Entry>, O: Iterator<Item = Entry>> {
    newer: Peekable<N>,
    older: Peekable<O>,
    direction: Direction,
}

impl<N: Iterator<Item = Entry>, O: Iterator<Item = Entry>> Iterator for Merge<N, O> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let order = match (self.newer.peek(), self.older.peek()) {
            (None, _) => return self.older.next(),
            (_, None) => return self.newer.next(),
            (Some((newer, _)), Some((older, _))) => match self.direction {
                Direction::Forward => newer.cmp(older),
                Direction::Backward => older.cmp(newer),
            },
        };
        match order {
            Ordering::Less => self.newer.next(),
            Ordering::Greater => self.older.next(),
            Ordering::Equal => {
                self.older.next();
                self.newer.next()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(prefix: &str, after: Option<&str>, until: Option<&str>, direction: Direction) -> Option<KeyRange> {
        let key = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        KeyRange::of(&Scan { prefix: key(prefix), after: after.map(key), until: until.map(key), direction, limit: 1 })
    }

    #[test]
    fn empty_ranges_are_known_before_anything_is_read() {
        assert!(range("a", Some("b"), None, Direction::Forward).is_none());
        assert!(range("a", Some("ax"), Some("ax"), Direction::Forward).is_none());
        assert!(range("b", Some("a"), None, Direction::Backward).is_none());
        assert!(range("", None, None, Direction::Forward).is_some());
    }

    #[test]
    fn a_prefix_ends_before_the_next_one() {
        assert_eq!(prefix_end(b"ab"), Some(Bytes::from_static(b"ac")));
        assert_eq!(prefix_end(b"a\xff\xff"), Some(Bytes::from_static(b"b")));
        assert_eq!(prefix_end(b"\xff"), None);
    }
}
