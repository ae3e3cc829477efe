//! The embedded store against the one in memory over random operations, with checkpoints, restarts and power failures.

use bytes::Bytes;
use factum_store::conformance::dump;
use factum_store::{Commit, Direction, IndexChange, MemoryStore, ReadLimit, Scan, Snapshot, Store, append_and_wait};
use proptest::prelude::*;

use crate::support::{Rig, append_together, block_on, long};

#[derive(Clone, Debug)]
enum Op {
    Append { stream: u8, sizes: Vec<u16>, index: Vec<(u8, Option<u8>)>, wrong: bool },
    Together(Vec<(u8, u16)>),
    Checkpoint,
    Snapshot { stream: u8 },
    Reopen { close: bool, delete_index: bool },
    Read { stream: u8, at: u8, records: u8, bytes: u16 },
    Feed { after: u8, records: u8, bytes: u16 },
    Scan { prefix: Option<u8>, after: Option<u8>, until: Option<u8>, backward: bool, limit: u8 },
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0u8..24;
    prop_oneof![
        6 => (0u8..5, prop::collection::vec(0u16..1500, 1..4), prop::collection::vec((key.clone(), prop::option::of(any::<u8>())), 0..4), prop::bool::weighted(0.1))
            .prop_map(|(stream, sizes, index, wrong)| Op::Append { stream, sizes, index, wrong }),
        1 => prop::collection::vec((0u8..5, 0u16..900), 1..5).prop_map(Op::Together),
        1 => Just(Op::Checkpoint),
        1 => (0u8..5).prop_map(|stream| Op::Snapshot { stream }),
        1 => (any::<bool>(), prop::bool::weighted(0.3)).prop_map(|(close, delete_index)| Op::Reopen { close, delete_index }),
        3 => (0u8..6, 0u8..40, 0u8..20, 0u16..3000).prop_map(|(stream, at, records, bytes)| Op::Read { stream, at, records, bytes }),
        1 => (0u8..40, 0u8..20, 0u16..3000).prop_map(|(after, records, bytes)| Op::Feed { after, records, bytes }),
        3 => (prop::option::of(0u8..3), prop::option::of(key.clone()), prop::option::of(key), any::<bool>(), 0u8..12)
            .prop_map(|(prefix, after, until, backward, limit)| Op::Scan { prefix, after, until, backward, limit }),
    ]
}

/// Keys share prefixes, and one is a prefix of another.
fn key(n: u8) -> Bytes {
    Bytes::from(format!("{}{}", ["a", "b", "bb"][usize::from(n % 3)], n / 3))
}

fn record(size: u16, n: usize) -> Bytes {
    let fill = if size.is_multiple_of(3) { 0 } else { b'a' + n as u8 };
    Bytes::from(vec![fill; usize::from(size)])
}

fn commit(stream: u8, expected: u64, sizes: &[u16]) -> Commit {
    let records = sizes.iter().enumerate().map(|(n, size)| record(*size, n)).collect();
    Commit { stream: format!("s{stream}").into(), partition: "p".into(), expected, records, index: Vec::new() }
}

async fn head(store: &dyn Store, stream: u8) -> u64 {
    store.head(&format!("s{stream}")).await.unwrap().map_or(0, |head| head.sequence)
}

fn check(ops: Vec<Op>, seed: u64) {
    let rig = Rig::new(seed);
    let memory = MemoryStore::new();
    let mut store = rig.open();
    // What a restart without its index forgets, the witness must forget too.
    let mut snapshots_lost = false;
    for op in ops {
        match op {
            Op::Append { stream, sizes, index, wrong } => block_on(async {
                let expected = head(&memory, stream).await + u64::from(wrong);
                let mut commit = commit(stream, expected, &sizes);
                commit.index = index
                    .into_iter()
                    .map(|(n, value)| match value {
                        Some(value) => IndexChange::Put { key: key(n), value: Bytes::from(vec![value; 3]) },
                        None => IndexChange::Delete { key: key(n) },
                    })
                    .collect();
                let (one, two) =
                    (append_and_wait(&memory, commit.clone()).await, append_and_wait(&store, commit).await);
                let plain = |receipt: factum_store::Receipt| (receipt.first_sequence, receipt.last_sequence);
                assert_eq!(one.map(plain), two.map(plain));
            }),
            Op::Together(parts) => {
                let mut heads = [0; 5];
                block_on(async {
                    for (stream, head_of) in heads.iter_mut().enumerate() {
                        *head_of = head(&memory, stream as u8).await;
                    }
                });
                let commits: Vec<Commit> = parts
                    .into_iter()
                    .map(|(stream, size)| {
                        heads[usize::from(stream)] += 1;
                        commit(stream, heads[usize::from(stream)] - 1, &[size])
                    })
                    .collect();
                for outcome in append_together(&store, commits.clone()) {
                    outcome.unwrap();
                }
                block_on(async {
                    for commit in commits {
                        append_and_wait(&memory, commit).await.unwrap();
                    }
                });
            }
            Op::Checkpoint => store.checkpoint().unwrap(),
            Op::Snapshot { stream } => block_on(async {
                let sequence = head(&memory, stream).await;
                let snapshot = Snapshot { sequence, bytes: Bytes::from(format!("at {sequence}")) };
                for store in [&memory as &dyn Store, &store] {
                    store.put_snapshot(format!("s{stream}").into(), snapshot.clone());
                    let kept = store.snapshot(&format!("s{stream}")).await.unwrap();
                    assert_eq!(kept, (sequence > 0).then(|| snapshot.clone()).or(kept.clone()));
                }
            }),
            Op::Reopen { close, delete_index } => {
                if close {
                    block_on(store.close());
                }
                snapshots_lost |= !close || delete_index;
                drop(store);
                if delete_index {
                    rig.delete_index();
                }
                rig.disk.restart_machine();
                store = rig.open();
            }
            Op::Read { stream, at, records, bytes } => block_on(async {
                let limit = ReadLimit { records: records.into(), bytes: bytes.into() };
                let name = format!("s{stream}");
                let both = [&memory as &dyn Store, &store];
                let [one, two] = both.map(|store| store.read(&name, at.into(), limit));
                assert_eq!(one.await.unwrap(), two.await.unwrap());
                let [one, two] = both.map(|store| store.read_back(&name, at.into(), limit));
                assert_eq!(one.await.unwrap(), two.await.unwrap());
                if !snapshots_lost {
                    assert_eq!(memory.snapshot(&name).await.unwrap(), store.snapshot(&name).await.unwrap());
                }
            }),
            Op::Feed { after, records, bytes } => block_on(async {
                // Positions differ, so the same place is found by counting.
                let all = ReadLimit { records: usize::MAX, bytes: usize::MAX };
                let limit = ReadLimit { records: records.into(), bytes: bytes.into() };
                let mut seen = Vec::new();
                for store in [&memory as &dyn Store, &store] {
                    let positions = store.feed(0, all).await.unwrap();
                    let after = usize::from(after).checked_sub(1).and_then(|at| positions.get(at));
                    let found = store.feed(after.map_or(0, |commit| commit.position), limit).await.unwrap();
                    seen.push(found.into_iter().map(|commit| (commit.stream, commit.records)).collect::<Vec<_>>());
                }
                assert_eq!(seen[0], seen[1]);
            }),
            Op::Scan { prefix, after, until, backward, limit } => block_on(async {
                let prefix =
                    prefix.map_or(Bytes::new(), |n| Bytes::from_static([b"a" as &[u8], b"b", b"bb"][usize::from(n)]));
                let direction = if backward { Direction::Backward } else { Direction::Forward };
                let scan =
                    Scan { prefix, after: after.map(key), until: until.map(key), direction, limit: limit.into() };
                assert_eq!(memory.scan(scan.clone()).await.unwrap(), store.scan(scan).await.unwrap());
            }),
        }
    }
    assert_eq!(block_on(dump(&store)), block_on(dump(&memory)));
    block_on(store.close());
    drop(store);
    assert_eq!(rig.verify().unwrap().findings, []);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if long() { 2000 } else { 48 }, failure_persistence: None, ..Default::default() })]

    #[test]
    fn both_stores_answer_the_same(ops in prop::collection::vec(op(), 1..60), seed in any::<u64>()) {
        check(ops, seed);
    }
}
