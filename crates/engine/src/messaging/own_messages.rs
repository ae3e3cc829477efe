//! The messages of a member that are behind what they have read: theirs to skip when the unread ones are counted.

use serde::{Deserialize, Serialize};

/// How many rows of messages are kept, each between two messages of others. Beyond that the oldest counts as unread.
const ROWS_MAX: usize = 64;

/// Rows of sequences, first and last of each, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OwnMessages(Vec<(u64, u64)>);

impl OwnMessages {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The member said this one, the newest of all.
    pub(super) fn add(&mut self, sequence: u64) {
        if let Some((_, last)) = self.0.last_mut().filter(|(_, last)| *last + 1 == sequence) {
            *last = sequence;
            return;
        }
        if self.0.len() >= ROWS_MAX {
            self.0.remove(0);
        }
        self.0.push((sequence, sequence));
    }

    /// The member has read up to this one.
    pub(super) fn read(&mut self, sequence: u64) {
        self.0.retain_mut(|(first, last)| {
            *first = (*first).max(sequence + 1);
            *first <= *last
        });
    }

    /// How many are behind this one.
    pub(super) fn behind(&self, sequence: u64) -> u64 {
        self.0.iter().map(|(first, last)| (last + 1).saturating_sub((*first).max(sequence + 1))).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// As a set of sequences would count, as long as there is room.
        #[test]
        fn they_are_counted(said in prop::collection::vec(any::<bool>(), 0..120), reads in prop::collection::vec(0..130u64, 0..4)) {
            let (mut own, mut set) = (OwnMessages::default(), BTreeSet::new());
            for (sequence, mine) in (1..).zip(&said) {
                if *mine {
                    own.add(sequence);
                    set.insert(sequence);
                }
            }
            prop_assert!(own.0.len() <= ROWS_MAX);
            for read in reads {
                prop_assert_eq!(own.behind(read), set.range(read + 1..).count() as u64);
                own.read(read);
                set = set.split_off(&(read + 1));
                prop_assert_eq!(own.behind(0), set.len() as u64);
            }
        }
    }

    #[test]
    fn the_oldest_goes_where_there_are_too_many() {
        let mut own = OwnMessages::default();
        (1..=2 * ROWS_MAX as u64 + 2).filter(|sequence| sequence % 2 == 0).for_each(|sequence| own.add(sequence));
        assert_eq!(own.behind(0), ROWS_MAX as u64);
        assert_eq!(own.0[0], (4, 4));
    }
}
