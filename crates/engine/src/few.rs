//! Maps that mostly hold one entry: there are many sessions, and few of them have more than one task, run or turn at a time.
//!
//! One entry stands in the map itself, so that it costs no allocation to have, to copy or to change. From two on it is an
//! [`OrdMap`], whose copies share what does not change: a decision works on a copy however many entries there are.

use std::fmt;

use imbl::OrdMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Entries in the order of their keys.
#[derive(Clone, Default)]
pub(crate) enum FewMap<K, V> {
    #[default]
    Empty,
    One(K, V),
    /// Two or more.
    Many(OrdMap<K, V>),
}

impl<K: Ord + Clone, V: Clone> FewMap<K, V> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::One(..) => 1,
            Self::Many(map) => map.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        match self {
            Self::Empty => None,
            Self::One(known, value) => (known == key).then_some(value),
            Self::Many(map) => map.get(key),
        }
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        match self {
            Self::Empty => None,
            Self::One(known, value) => (known == key).then_some(value),
            Self::Many(map) => map.get_mut(key),
        }
    }

    /// Puts an entry, and gives back what stood there before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self {
            Self::Empty => {
                *self = Self::One(key, value);
                None
            }
            Self::One(known, old) if *known == key => Some(std::mem::replace(old, value)),
            Self::One(known, old) => {
                *self = Self::Many(OrdMap::from_iter([(known.clone(), old.clone()), (key, value)]));
                None
            }
            Self::Many(map) => map.insert(key, value),
        }
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        match self {
            Self::Empty => None,
            Self::One(known, _) if known != key => None,
            Self::One(..) => match std::mem::take(self) {
                Self::One(_, value) => Some(value),
                Self::Empty | Self::Many(_) => None,
            },
            Self::Many(map) => {
                let removed = map.remove(key)?;
                if map.len() == 1 {
                    *self = std::mem::take(map).into_iter().collect();
                }
                Some(removed)
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let (one, many) = match self {
            Self::Empty => (None, None),
            Self::One(key, value) => (Some((key, value)), None),
            Self::Many(map) => (None, Some(map)),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for FewMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::Empty;
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<K: Ord + Clone, V: Clone + PartialEq> PartialEq for FewMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<K: Ord + Clone + fmt::Debug, V: Clone + fmt::Debug> fmt::Debug for FewMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord + Clone + Serialize, V: Clone + Serialize> Serialize for FewMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, K: Ord + Clone + Deserialize<'de>, V: Clone + Deserialize<'de>> Deserialize<'de> for FewMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = OrdMap::<K, V>::deserialize(deserializer)?;
        Ok(if map.len() > 1 { Self::Many(map) } else { map.into_iter().collect() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u8, u8),
        Remove(u8),
        Change(u8, u8),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let key = 0..4_u8;
        let step = prop_oneof![
            (key.clone(), any::<u8>()).prop_map(|(key, value)| Step::Insert(key, value)),
            key.clone().prop_map(Step::Remove),
            (key, any::<u8>()).prop_map(|(key, value)| Step::Change(key, value)),
        ];
        prop::collection::vec(step, 0..40)
    }

    proptest! {
        /// It is a map like any other, whichever way it came to hold what it holds, and a copy stays as it was.
        #[test]
        fn it_holds_what_a_map_holds(steps in steps()) {
            let (mut few, mut plain) = (FewMap::default(), BTreeMap::new());
            for step in steps {
                let (copy, before) = (few.clone(), plain.clone());
                match step {
                    Step::Insert(key, value) => prop_assert_eq!(few.insert(key, value), plain.insert(key, value)),
                    Step::Remove(key) => prop_assert_eq!(few.remove(&key), plain.remove(&key)),
                    Step::Change(key, value) => {
                        let changed = few.get_mut(&key).map(|at| std::mem::replace(at, value));
                        prop_assert_eq!(changed, plain.get_mut(&key).map(|at| std::mem::replace(at, value)));
                    }
                }
                prop_assert!(copy.iter().eq(before.iter()), "{:?} is not {:?}", copy, before);
                prop_assert!(few.iter().eq(plain.iter()), "{:?} is not {:?}", few, plain);
                prop_assert_eq!((few.len(), few.is_empty()), (plain.len(), plain.is_empty()));
                for key in 0..4 {
                    prop_assert_eq!(few.get(&key), plain.get(&key));
                    prop_assert_eq!(few.contains_key(&key), plain.contains_key(&key));
                }
                prop_assert_eq!(&few, &plain.clone().into_iter().collect());
                prop_assert_eq!(few == copy, plain == before);
                let written = serde_json::to_string(&few).unwrap_or_default();
                prop_assert_eq!(&written, &serde_json::to_string(&plain).unwrap_or_default());
                let read: FewMap<u8, u8> = serde_json::from_str(&written).unwrap_or_default();
                prop_assert_eq!(&read, &few);
                prop_assert_eq!(matches!(few, FewMap::Many(_)), plain.len() > 1, "one entry needs no map");
            }
        }
    }
}
