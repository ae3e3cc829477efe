//! Layers written one after another, beside a plain map of what they hold.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::contract::{IndexChange, Scan};
use crate::overlay::Applied;

const MAP_BYTES: usize = 64 << 20;
/// Not every sequence of a long stream is asked for.
const STEP: usize = 23;

/// A commit: its stream, how many records, and the changes of the caller's index.
type Made = (u8, u32, Vec<(u16, Option<usize>)>);

fn layers() -> impl Strategy<Value = Vec<Vec<Made>>> {
    // Some values fit a page many times, some twice, some not at all.
    let value = prop_oneof![4 => 0..200_usize, 1 => 200..2_000_usize, 1 => 2_000..9_000_usize];
    let change = (0..400_u16, prop::option::weighted(0.8, value));
    // Some streams have a commit in a layer, one has more than a row of locations.
    let stream = prop_oneof![Just(0_u8), 1..40_u8];
    let commit = (stream, 1..5_u32, prop::collection::vec(change, 0..12));
    prop::collection::vec(prop::collection::vec(commit, 1..400), 1..4)
}

/// Keys in three groups, so that each layer puts some among those that are there.
fn key(n: u16) -> Bytes {
    Bytes::from(format!("{}\0{:0>60}", ["task", "task_status", "turn"][usize::from(n % 3)], n / 3))
}

fn value(n: u16, len: usize) -> Bytes {
    Bytes::from(vec![n as u8 ^ len as u8; len])
}

/// What everything written so far comes to.
#[derive(Default)]
struct Model {
    entries: BTreeMap<Bytes, Bytes>,
    streams: BTreeMap<String, Vec<Location>>,
    position: u64,
}

impl Model {
    fn apply(&mut self, layer: &mut Layer, (stream, count, changes): Made) {
        self.position += 512;
        let name = format!("stream {stream}");
        let commits = self.streams.entry(name.clone()).or_default();
        let first = commits.last().map_or(1, |location| location.last() + 1);
        let location = Location { first, count, position: self.position, frame_len: 512 };
        commits.push(location);
        let changes: Vec<_> = changes.into_iter().map(|(n, len)| self.change(n, len)).collect();
        let head = head_of(&location);
        let reflects = Reflects { position: self.position, end: self.position + 512, crc: first as u32 };
        layer.apply(Applied { stream: &name.into(), head, location, reflects }, changes);
    }

    fn change(&mut self, n: u16, len: Option<usize>) -> IndexChange {
        let key = key(n);
        let Some(value) = len.map(|len| value(n, len)) else {
            self.entries.remove(&key);
            return IndexChange::Delete { key };
        };
        self.entries.insert(key.clone(), value.clone());
        IndexChange::Put { key, value }
    }
}

fn head_of(location: &Location) -> Head {
    Head { sequence: location.last(), position: location.position, hash: [location.count as u8; 32] }
}

fn everything(index: &Index) -> Vec<(Bytes, Bytes)> {
    let scan =
        Scan { prefix: Bytes::new(), after: None, until: None, direction: Direction::Forward, limit: usize::MAX };
    let (txn, range) = (index.read().unwrap(), KeyRange::of(&scan).unwrap());
    let entries = index.range(&txn, &range, Direction::Forward).unwrap();
    entries.map(|entry| entry.map(|(key, value)| (key, value.unwrap())).unwrap()).collect()
}

/// Each `step`th sequence is found from, in both directions, and a few commits are as right as all.
fn check_locations(index: &Index, txn: &ReadTxn<'_>, number: u64, commits: &[Location], step: usize) {
    for at in (0..=commits.last().unwrap().last() + 1).step_by(step) {
        for max in [1, 3, usize::MAX] {
            let ahead: Vec<_> = commits.iter().filter(|location| location.last() >= at).take(max).copied().collect();
            assert_eq!(index.locations(txn, number, at, max).unwrap(), ahead);
            let behind = commits.iter().rev().filter(|location| location.first < at);
            assert_eq!(
                index.locations_back(txn, number, at, max).unwrap(),
                behind.take(max).copied().collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn rows_of_one_commit_each_are_read_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::open_scratch(dir.path(), MAP_BYTES).unwrap();
    let made = |first, count| Location { first, count, position: 512 * first, frame_len: 512 };
    let commits = [made(1, 3), made(4, 1), made(5, 2)];
    let mut txn = index.env.write_txn().unwrap();
    for commit in &commits {
        index.locations.put(&mut txn, &location_key(7, commit.first), &encode_locations(&[*commit])).unwrap();
    }
    let mut reflects = [0; REFLECTS_LEN];
    reflects[0] = 1;
    let crc = crc32c::crc32c(&reflects[..32]);
    reflects[32..].copy_from_slice(&crc.to_le_bytes());
    index.meta.put(&mut txn, REFLECTS_KEY, &reflects).unwrap();
    txn.commit().unwrap();
    let txn = index.read().unwrap();
    index.reflects(&txn).unwrap();
    check_locations(&index, &txn, 7, &commits, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_was_written_is_what_is_there(layers in layers()) {
        let dir = tempfile::tempdir().unwrap();
        let index = Index::open_scratch(dir.path(), MAP_BYTES).unwrap();
        let mut model = Model::default();
        for commits in layers {
            let mut layer = Layer::default();
            for commit in commits {
                model.apply(&mut layer, commit);
            }
            index.write(&layer).unwrap();
            let expected: Vec<_> = model.entries.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
            prop_assert!(everything(&index) == expected);
            let txn = index.read().unwrap();
            prop_assert_eq!(index.reflects(&txn).unwrap().position, model.position);
            let names: Vec<_> = index.streams(&txn).unwrap().map(|entry| entry.unwrap().0.to_vec()).collect();
            prop_assert_eq!(names, model.streams.keys().map(|name| name.clone().into_bytes()).collect::<Vec<_>>());
            for (name, commits) in &model.streams {
                let entry = index.stream(&txn, name).unwrap().unwrap();
                prop_assert_eq!(entry.head, head_of(commits.last().unwrap()));
                check_locations(&index, &txn, entry.number, commits, STEP);
            }
        }
    }
}
