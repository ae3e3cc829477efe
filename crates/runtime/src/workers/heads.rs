//! Where the ready rows of each group begin, as far as is known.
//!
//! Runs are claimed from the front, and a row that was deleted lately still has to be stepped over to find the first that is
//! there: a queue that has been worked on for a while would get slower with every claim. So a search remembers up to
//! where it found nothing. A row that is put before that place takes the memory back; one that a search has not heard of yet
//! cannot be forgotten, because what a search remembers counts only if no row was put in its group since it began.

use bytes::Bytes;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// Groups beyond this are forgotten, all at once; they are found again.
const GROUPS_MAX: usize = 10_000;

#[derive(Default)]
pub(super) struct Heads(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Counts the rows that were put.
    puts: u64,
    groups: FxHashMap<Vec<u8>, Group>,
}

#[derive(Default)]
struct Group {
    /// There is no row at or before this key.
    nothing_until: Option<Bytes>,
    /// The newest row that was put, by its count.
    put: u64,
}

/// What was known when a search began.
pub(super) struct Start {
    /// The search may begin behind this key.
    pub(super) after: Option<Bytes>,
    puts: u64,
}

impl Heads {
    /// Where to begin to search a group, by the prefix of its keys.
    pub(super) fn start(&self, group: &[u8]) -> Start {
        let known = self.0.lock();
        let after = known.groups.get(group).and_then(|group| group.nothing_until.clone());
        Start { after, puts: known.puts }
    }

    /// A search that began so found this row first, or none.
    pub(super) fn found(&self, group: &[u8], start: &Start, first: Option<&Bytes>) {
        let nothing_until = match first {
            // The key without the end of its last part: right before it.
            Some(key) => key.slice(..key.len().saturating_sub(1)),
            // Behind every key of the group: what comes next in those is a number.
            None => [group, &[0xFF; 9]].concat().into(),
        };
        let mut known = self.0.lock();
        if known.groups.len() >= GROUPS_MAX && !known.groups.contains_key(group) {
            known.groups.clear();
        }
        let nothing_new = known.puts == start.puts;
        match known.groups.get_mut(group) {
            Some(group) if group.put <= start.puts => group.nothing_until = Some(nothing_until),
            None if nothing_new => {
                let put = start.puts;
                known.groups.insert(group.to_vec(), Group { nothing_until: Some(nothing_until), put });
            }
            _ => {}
        }
    }

    /// A row was put.
    pub(super) fn put(&self, key: &[u8]) {
        let mut known = self.0.lock();
        known.puts += 1;
        let puts = known.puts;
        let Some(group) = group_of(key).and_then(|group| known.groups.get_mut(group)) else { return };
        group.put = puts;
        if group.nothing_until.as_deref().is_some_and(|until| until >= key) {
            group.nothing_until = None;
        }
    }
}

/// The prefix of the keys of the group that a ready row belongs to: its first four texts.
fn group_of(key: &[u8]) -> Option<&[u8]> {
    let ends = key.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at);
    ends.take(4).nth(3).map(|end| &key[..=end])
}

#[cfg(test)]
mod tests {
    use factum_engine::session::workers::{ReadyKey, keys};
    use factum_model::Timestamp;
    use factum_model::task::Priority;

    use super::*;

    fn key(second: i64) -> Bytes {
        let ready = ReadyKey {
            account: "acme".to_owned(),
            queue: "mail".to_owned(),
            capabilities: vec!["gpu".to_owned()],
            priority: Priority::Normal,
            since: Timestamp::from_second(second).expect("a time"),
            sequence: 1,
            run_id: "run_1".parse().expect("an id"),
        };
        keys::ready(&ready).into()
    }

    fn group() -> Vec<u8> {
        keys::ready_group("acme", "mail", &["gpu".to_owned()])
    }

    #[test]
    fn a_search_begins_where_the_last_one_found_something() {
        let heads = Heads::default();
        assert_eq!(group_of(&key(5)), Some(&*group()));
        let start = heads.start(&group());
        assert_eq!(start.after, None);
        heads.found(&group(), &start, Some(&key(5)));
        let after = heads.start(&group()).after.expect("something is known");
        assert!(key(4) < after && after < key(5), "the row itself is still found");
        heads.found(&group(), &heads.start(&group()), None);
        assert!(heads.start(&group()).after.is_some_and(|after| after > key(1_000_000)));
    }

    #[test]
    fn a_row_that_is_put_is_never_passed_over() {
        let heads = Heads::default();
        heads.found(&group(), &heads.start(&group()), Some(&key(5)));
        heads.put(&key(9));
        assert!(heads.start(&group()).after.is_some(), "it is behind the place");
        heads.put(&key(3));
        assert_eq!(heads.start(&group()).after, None, "it is before the place");
        // Put while a search is under way that has not seen it.
        for known in [true, false] {
            let heads = Heads::default();
            if known {
                heads.found(&group(), &heads.start(&group()), Some(&key(1)));
            }
            let start = heads.start(&group());
            heads.put(&key(3));
            heads.found(&group(), &start, Some(&key(5)));
            assert!(heads.start(&group()).after.is_none_or(|after| after < key(3)));
        }
    }
}
