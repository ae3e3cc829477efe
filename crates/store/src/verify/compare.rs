//! Comparing the derived index as it is with the one the log gives.

use super::{Finding, VerifyReport};
use crate::contract::{Direction, Scan};
use crate::index::{Index, IndexError, StreamEntry};
use crate::scan::KeyRange;

/// Locations compared at a time.
const PAGE: usize = 1024;

pub(super) fn indexes(kept: &Index, made: &Index, report: &mut VerifyReport) -> Result<(), IndexError> {
    streams(kept, made, report)?;
    entries(kept, made, report)
}

/// Walks two ordered sources side by side and hands over each pair of equal keys, each key with one side missing.
fn side_by_side<K: Ord, V>(
    mut left: impl Iterator<Item = Result<(K, V), IndexError>>,
    mut right: impl Iterator<Item = Result<(K, V), IndexError>>,
    mut differ: impl FnMut(K, Option<V>, Option<V>) -> Result<(), IndexError>,
) -> Result<(), IndexError> {
    let (mut one, mut other) = (left.next().transpose()?, right.next().transpose()?);
    loop {
        let order = match (&one, &other) {
            (None, None) => return Ok(()),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some((left_key, _)), Some((right_key, _))) => left_key.cmp(right_key),
        };
        let from_left = if order.is_le() { one.take() } else { None };
        let from_right = if order.is_ge() { other.take() } else { None };
        if order.is_le() {
            one = left.next().transpose()?;
        }
        if order.is_ge() {
            other = right.next().transpose()?;
        }
        match (from_left, from_right) {
            (Some((key, value)), Some((_, also))) => differ(key, Some(value), Some(also))?,
            (Some((key, value)), None) => differ(key, Some(value), None)?,
            (None, Some((key, value))) => differ(key, None, Some(value))?,
            (None, None) => {}
        }
    }
}

fn streams(kept: &Index, made: &Index, report: &mut VerifyReport) -> Result<(), IndexError> {
    let (kept_txn, made_txn) = (kept.read()?, made.read()?);
    side_by_side(kept.streams(&kept_txn)?, made.streams(&made_txn)?, |name, has, should| {
        let stream = String::from_utf8_lossy(name);
        let what = match (has, should) {
            (Some(has), Some(should)) if has.head == should.head => {
                return locations(kept, has, made, should, &stream, report);
            }
            (Some(_), Some(_)) => "the head of the stream is not the log's",
            (Some(_), None) => "the log has no such stream",
            (None, _) => "the stream is not in the index",
        };
        report.add(Finding { stream: Some(stream.as_ref().into()), ..Finding::index(what.into()) });
        Ok(())
    })
}

fn locations(
    kept: &Index,
    has: StreamEntry,
    made: &Index,
    should: StreamEntry,
    stream: &str,
    report: &mut VerifyReport,
) -> Result<(), IndexError> {
    let (kept_txn, made_txn) = (kept.read()?, made.read()?);
    let mut from = 1;
    loop {
        let one = kept.locations(&kept_txn, has.number, from, PAGE)?;
        let other = made.locations(&made_txn, should.number, from, PAGE)?;
        if one != other {
            let wrong = one.iter().zip(&other).find(|(one, other)| one != other);
            let first = wrong.map(|(_, other)| other).or(other.get(one.len())).or(one.get(other.len()));
            report.add(Finding {
                stream: Some(stream.into()),
                sequence: first.map(|location| location.first),
                position: first.map_or(0, |location| location.position),
                ..Finding::index("it says another place for the commit than the log".into())
            });
            return Ok(());
        }
        match other.last() {
            Some(last) => from = last.last() + 1,
            None => return Ok(()),
        }
    }
}

fn entries(kept: &Index, made: &Index, report: &mut VerifyReport) -> Result<(), IndexError> {
    let direction = Direction::Forward;
    let all = Scan { prefix: Default::default(), after: None, until: None, direction, limit: usize::MAX };
    let Some(range) = KeyRange::of(&all) else { return Ok(()) };
    let (kept_txn, made_txn) = (kept.read()?, made.read()?);
    let (left, right) = (kept.range(&kept_txn, &range, direction)?, made.range(&made_txn, &range, direction)?);
    side_by_side(left, right, |key, has, should| {
        let what = match (has, should) {
            (Some(has), Some(should)) if has == should => return Ok(()),
            (Some(_), Some(_)) => "another value than the log gives",
            (Some(_), None) => "a value that the log does not give",
            (None, _) => "no value, and the log gives one",
        };
        report.add(Finding::index(format!("key {:?} has {what}", String::from_utf8_lossy(&key))));
        Ok(())
    })
}
