//! Which sets of capabilities a worker can do, in the order in which they stand in the index.
//!
//! Runs that wait in a queue stand in groups by what they ask for. A worker with the capabilities `a` and `b` can do the
//! groups of nothing, `a`, `a,b` and `b`. Looking at the first row behind one of them shows a group that is there; leaping
//! from there to the next that the worker can do costs the same however many lie in between. It is possible because every
//! character a name may have sorts behind the comma: names joined by commas sort like the lists they are made of.

/// Whether a worker that has `have` can do what asks for `required`.
pub(super) fn satisfies(have: &[String], required: &[String]) -> bool {
    required.iter().all(|name| have.binary_search(name).is_ok())
}

/// The first set behind `group`, as it is spelled in keys, that a worker with `have` can do. `have` is sorted.
pub(super) fn next(have: &[String], group: &str) -> Option<String> {
    below(None, have, group)
}

/// The same among those that begin with `start`: it and one more name, or more.
fn below(start: Option<&str>, have: &[String], group: &str) -> Option<String> {
    for (at, name) in have.iter().enumerate() {
        let one = start.map_or_else(|| name.clone(), |start| format!("{start},{name}"));
        if one.as_str() > group {
            return Some(one);
        }
        let longer = format!("{one},");
        if longer.as_str() > group || group.starts_with(&longer) {
            let found = below(Some(&one), &have[at + 1..], group);
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn leaps_to_what_a_worker_can_do() {
        let table = [
            ("a,b", "", Some("a")),
            ("a,b", "a", Some("a,b")),
            ("a,b", "a,b", Some("b")),
            ("a,b", "a,b,c", Some("b")),
            ("a,b", "a,c", Some("b")),
            ("a,b", "b", None),
            ("a,b", "a+x", Some("a,b")),
            ("a,b", "zzz", None),
            ("a,a-b", "a,x", Some("a-b")),
            ("", "", None),
        ];
        for (have, group, expected) in table {
            assert_eq!(next(&names(have), group).as_deref(), expected, "{have} behind {group}");
        }
    }

    proptest! {
        #[test]
        fn is_the_next_of_all_subsets(
            have in proptest::collection::btree_set("[a-c][.-]?[a-c]?", 0..6),
            group in "[a-c,+.-]{0,6}",
        ) {
            let have: Vec<String> = have.into_iter().collect();
            let subsets = (0_u32..1 << have.len()).map(|bits| {
                let chosen = have.iter().enumerate().filter(|(at, _)| bits & (1 << at) != 0);
                chosen.map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(",")
            });
            prop_assert_eq!(next(&have, &group), subsets.filter(|set| *set > group).min());
        }
    }
}
