//! Index entries in the order of their keys, in memory.
//!
//! It owns how an entry finds its place. Keys are long, begin alike, and are somewhere else in memory, so each comparison that
//! is not made counts. They are made of ids that grow, and commits that resemble each other have resembling keys at the same
//! places. So an entry mostly belongs close behind the one that had its place in an earlier commit, and that is
//! where it is looked for first.
//!
//! ```text
//!   chunks   [ a1 a2 a3 ] [ a4 a5 b1 ] [ b2 b3 ]
//!                              ▲           ▲
//!   trail    where an entry went last: of the first place in a commit, of the second, …
//! ```
//!
//! Invariant: no chunk is empty, keys ascend within each and from one to the next, and none is there twice. The trail is
//! only ever a hint.

use std::ops::Bound;

use bytes::Bytes;

use crate::scan::Entry;

/// Entries of one chunk: as many as are moved at most to make room for another.
const CHUNK_MAX: usize = 64;
/// Two neighbours have more than this together: so there are not many chunks, in whatever order keys come.
const SMALL: usize = CHUNK_MAX / 4;
/// Places of a commit that are remembered. Entries behind them are looked for among all chunks.
const TRAIL_MAX: usize = 16;

#[derive(Default)]
pub(crate) struct Entries {
    chunks: Vec<Vec<Entry>>,
    len: usize,
    trail: [usize; TRAIL_MAX],
}

impl Entries {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.chunks.iter().flatten()
    }

    /// The newest change of the key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Option<Bytes>> {
        let chunk = self.chunks.get(self.home_of(key)?)?;
        let at = chunk.binary_search_by(|entry| (*entry.0).cmp(key)).ok()?;
        Some(&chunk[at].1)
    }

    /// Adds an entry, in place of one with the same key. `place` is its number in its commit.
    pub(crate) fn insert(&mut self, place: usize, entry: Entry) {
        let near = self.trail.get(place).and_then(|last| self.home_near(*last, &entry.0));
        let Some(mut at) = near.or_else(|| self.home_of(&entry.0)) else {
            self.chunks.push(chunk_of([entry]));
            self.len = 1;
            return;
        };
        match seek(&self.chunks[at], &entry.0) {
            Ok(same) => self.chunks[at][same] = entry,
            Err(before) => {
                at = self.add(at, before, entry);
                self.len += 1;
            }
        }
        if let Some(last) = self.trail.get_mut(place) {
            *last = at;
        }
    }

    /// Entries within the bounds, which are in order.
    pub(crate) fn range<'e>(
        &'e self,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
    ) -> impl DoubleEndedIterator<Item = &'e Entry> + use<'e> {
        let start = match lower {
            Bound::Unbounded => (0, 0),
            Bound::Included(bound) => self.first_not(|key| key < bound),
            Bound::Excluded(bound) => self.first_not(|key| key <= bound),
        };
        let end = match upper {
            Bound::Unbounded => (self.chunks.len(), 0),
            Bound::Included(bound) => self.first_not(|key| key <= bound),
            Bound::Excluded(bound) => self.first_not(|key| key < bound),
        };
        let chunks = self.chunks.iter().enumerate().take(end.0 + 1).skip(start.0);
        chunks.flat_map(move |(number, chunk)| {
            let from = if number == start.0 { start.1 } else { 0 };
            let to = if number == end.0 { end.1 } else { chunk.len() };
            chunk.get(from..to).unwrap_or_default()
        })
    }

    /// The chunk that a key belongs to; `None` where there is no chunk.
    fn home_of(&self, key: &[u8]) -> Option<usize> {
        let behind = self.chunks.partition_point(|chunk| *chunk[0].0 <= *key);
        (!self.chunks.is_empty()).then(|| behind.saturating_sub(1))
    }

    /// The same where it is that chunk or the one before.
    fn home_near(&self, at: usize, key: &[u8]) -> Option<usize> {
        let begins_before = |at: usize| self.chunks.get(at).is_some_and(|chunk| *chunk[0].0 <= *key);
        if begins_before(at) {
            (!begins_before(at + 1)).then_some(at)
        } else {
            at.checked_sub(1).filter(|before| begins_before(*before))
        }
    }

    /// Adds an entry to a chunk that it belongs to, and says which chunk it is in now.
    fn add(&mut self, at: usize, before: usize, entry: Entry) -> usize {
        let chunk = &mut self.chunks[at];
        if chunk.len() < CHUNK_MAX {
            chunk.insert(before, entry);
            return at;
        }
        // More are to come where this one goes. What is behind gives way to them, so that chunks become full.
        let mut behind = chunk_of(chunk.drain(before.max(CHUNK_MAX / 2)..));
        let has_room = chunk.len() < CHUNK_MAX;
        if has_room {
            chunk.insert(before, entry);
        } else {
            behind.push(entry);
        }
        self.add_chunk(at + 1, behind);
        if has_room { at } else { at + 1 }
    }

    /// Adds a chunk; a small one to the next, if that is small too, so that two neighbours are never both small.
    fn add_chunk(&mut self, at: usize, mut chunk: Vec<Entry>) {
        match self.chunks.get_mut(at) {
            Some(next) if chunk.len() + next.len() <= SMALL => {
                chunk.append(next);
                *next = chunk;
            }
            _ => {
                self.chunks.insert(at, chunk);
                for last in self.trail.iter_mut().filter(|last| **last >= at) {
                    *last += 1;
                }
            }
        }
    }

    /// Where the first key is of which that is not true, as a chunk and a place in it. It is true of all keys before.
    fn first_not(&self, is_before: impl Fn(&[u8]) -> bool) -> (usize, usize) {
        let behind = self.chunks.partition_point(|chunk| is_before(&chunk[0].0));
        let Some(last) = behind.checked_sub(1) else { return (0, 0) };
        (last, self.chunks[last].partition_point(|(key, _)| is_before(key)))
    }
}

fn chunk_of(entries: impl IntoIterator<Item = Entry>) -> Vec<Entry> {
    let mut chunk = Vec::with_capacity(CHUNK_MAX);
    chunk.extend(entries);
    chunk
}

/// Where a key is in a chunk, or before which entry it belongs. The end is looked at first: most keys are larger than all.
fn seek(chunk: &[Entry], key: &[u8]) -> Result<usize, usize> {
    match chunk.last() {
        Some((last, _)) if **last < *key => Err(chunk.len()),
        _ => chunk.binary_search_by(|entry| (*entry.0).cmp(key)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn key(n: u32) -> Bytes {
        Bytes::from(format!("{}\0{:05}", ["session", "task", "task_status"][n as usize % 3], n / 3))
    }

    fn bound(n: Option<(u32, bool)>) -> Bound<Bytes> {
        match n {
            None => Bound::Unbounded,
            Some((n, true)) => Bound::Included(key(n)),
            Some((n, false)) => Bound::Excluded(key(n)),
        }
    }

    /// Runs of keys that go up, down or anywhere, at one place in a commit or another.
    fn runs() -> impl Strategy<Value = Vec<(u32, u32, i32, usize)>> {
        let step = prop_oneof![4 => Just(3), 2 => Just(-3), 1 => -40..40_i32];
        prop::collection::vec((0..3_000_u32, 1..200_u32, step, 0..TRAIL_MAX + 2), 1..24)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() })]

        #[test]
        fn it_is_a_map_in_order(
            runs in runs(),
            ranges in prop::collection::vec(prop::array::uniform2(prop::option::of((0..3_000_u32, any::<bool>()))), 8),
        ) {
            let (mut entries, mut map) = (Entries::default(), BTreeMap::new());
            for (number, (from, count, step, place)) in runs.into_iter().enumerate() {
                for n in 0..count {
                    let key = key(from.saturating_add_signed(step * n as i32));
                    let value = (n % 5 > 0).then(|| Bytes::from(format!("{number} {n}")));
                    entries.insert(place, (key.clone(), value.clone()));
                    map.insert(key, value);
                }
            }
            prop_assert_eq!(entries.len(), map.len());
            prop_assert!(entries.iter().map(|(key, value)| (key, value)).eq(&map));
            prop_assert!(entries.chunks.iter().all(|chunk| (1..=CHUNK_MAX).contains(&chunk.len())));
            prop_assert!(entries.chunks.windows(2).all(|two| two[0].len() + two[1].len() > SMALL));
            for n in 0..3_000 {
                prop_assert_eq!(entries.get(&key(n)), map.get(&key(n)));
            }
            for [one, other] in ranges {
                let (lower, upper) = if one.map(|n| key(n.0)) <= other.map(|n| key(n.0)) { (one, other) } else { (other, one) };
                let (lower, upper) = (bound(lower), bound(upper));
                if matches!((&lower, &upper), (Bound::Excluded(one), Bound::Excluded(other)) if one == other) {
                    continue;
                }
                let slices = (lower.as_ref().map(|key| &**key), upper.as_ref().map(|key| &**key));
                let found: Vec<_> = entries.range(slices).map(|(key, value)| (key, value)).collect();
                let expected: Vec<_> = map.range::<[u8], _>(slices).collect();
                prop_assert_eq!(&found, &expected);
                let backward: Vec<_> = entries.range(slices).rev().map(|(key, value)| (key, value)).collect();
                prop_assert!(backward.into_iter().rev().eq(expected));
            }
        }
    }

    /// What ids that grow come to: chunks that are full, and as few of them as can be.
    #[test]
    fn what_comes_in_order_fills_its_chunks() {
        let mut entries = Entries::default();
        for n in 0..3_000 {
            entries.insert(n as usize % 3, (key(n), None));
        }
        let full = entries.chunks.iter().filter(|chunk| chunk.len() == CHUNK_MAX).count();
        assert!(full * CHUNK_MAX >= 2_700, "{full} of {} are full", entries.chunks.len());
    }
}
