//! `verify` and `repair`: what they name, what they keep, and that they change nothing they should not.

use factum_store::conformance::{commit, dump, put};
use factum_store::{
    Commit, EmbeddedStore, FindingKind, OpenError, Options, RepairMode, Store, repair_truncate_tail,
    repair_truncate_tail_on, verify,
};

use crate::support::{Rig, append, assert_prefix, block_on, run, scratch, workload};

#[test]
fn a_sound_store_has_no_findings_and_every_commit_is_shown() {
    let rig = Rig::new(1);
    let store = rig.open();
    let outcome = run(&store, &workload());
    block_on(store.close());
    drop(store);
    let mut seen = 0;
    let disk: std::sync::Arc<dyn factum_store::Disk> = std::sync::Arc::new(rig.disk.clone());
    let report = factum_store::verify_on(&disk, &rig.index(), &mut |_| seen += 1).unwrap();
    assert_eq!(report.findings, []);
    assert_eq!((seen, report.commits, report.streams), (outcome.attempted.len(), seen as u64, 3));
    assert_eq!(report.index_position, Some(report.position));
}

#[test]
fn one_run_names_all_damage() {
    let rig = Rig::new(1);
    let store = rig.open();
    run(&store, &workload());
    drop(store);
    let segments = rig.segments();
    rig.disk.flip(&segments[0], 300 * 8);
    rig.disk.flip(&segments[1], 700 * 8);
    let findings = rig.verify().unwrap().findings;
    let files: Vec<&str> =
        findings.iter().filter(|f| f.kind == FindingKind::Flipped).map(|f| f.file.as_str()).collect();
    assert_eq!(files, [segments[0].as_str(), segments[1].as_str()], "{findings:#?}");
    let lost: Vec<_> = findings.iter().filter(|f| f.kind == FindingKind::Missing).collect();
    assert!(
        lost.iter().any(|f| f.stream.is_some() && f.sequence.is_some()),
        "the lost sequences are named: {findings:#?}"
    );
}

#[test]
fn an_index_that_says_something_else_is_named() {
    // An index is swapped for that of a store with other index changes and the same shape.
    let make = |value: &str| {
        let dir = scratch();
        let (store, _) = EmbeddedStore::open(dir.path(), Options::tiny()).unwrap();
        append(&store, Commit { index: vec![put("k", value)], ..commit("s", 0, &["x"]) }).unwrap();
        block_on(store.close());
        dir
    };
    let (one, two) = (make("1"), make("2"));
    assert_eq!(verify(one.path(), &mut |_| ()).unwrap().findings, []);
    std::fs::copy(two.path().join("index/data.mdb"), one.path().join("index/data.mdb")).unwrap();
    let findings = verify(one.path(), &mut |_| ()).unwrap().findings;
    assert!(
        findings.iter().all(|finding| finding.kind == FindingKind::IndexDiffers) && findings.len() >= 2,
        "{findings:?}"
    );
    // A start notices that it is another log's and makes it again.
    let (store, report) = EmbeddedStore::open(one.path(), Options::tiny()).unwrap();
    assert!(report.index_rebuilt.is_some());
    assert_eq!(block_on(store.get(b"k")).unwrap().unwrap(), "1");
}

#[test]
fn verify_refuses_a_store_in_use_and_opening_one_twice_is_refused() {
    let dir = scratch();
    let (store, _) = EmbeddedStore::open(dir.path(), Options::tiny()).unwrap();
    let again = EmbeddedStore::open(dir.path(), Options::tiny()).err().unwrap();
    assert!(matches!(again, OpenError::Locked { .. }));
    assert!(again.to_string().contains(&dir.path().display().to_string()), "{again}");
    assert!(matches!(verify(dir.path(), &mut |_| ()), Err(OpenError::Locked { .. })));
    assert!(matches!(repair_truncate_tail(dir.path(), RepairMode::DryRun), Err(OpenError::Locked { .. })));
    block_on(store.close());
    EmbeddedStore::open(dir.path(), Options::tiny()).unwrap();
}

#[test]
fn a_repair_keeps_the_intact_beginning_and_sets_the_rest_aside() {
    let rig = Rig::new(1);
    let store = rig.open();
    let mut outcome = run(&store, &workload());
    drop(store);
    rig.delete_index();
    let last = rig.segments().last().unwrap().clone();
    let before = rig.disk.contents(&last).unwrap();
    // Somewhere in the first commit of the last segment.
    rig.disk.flip(&last, 150 * 8);
    let error = rig.try_open().err().unwrap();
    let dry = repair_truncate_tail_on(&rig.disk, &rig.index(), RepairMode::DryRun).unwrap();
    assert_eq!((dry.offset, dry.kept_in.clone()), (64, None), "{error}");
    assert!(!dry.dropped_commits.is_empty() && rig.try_open().is_err(), "a dry run changes nothing");
    let done = repair_truncate_tail_on(&rig.disk, &rig.index(), RepairMode::Apply).unwrap();
    let kept_in = done.kept_in.clone().unwrap();
    let mut set_aside = before[64..64 + done.dropped_bytes as usize].to_vec();
    set_aside[150 - 64] ^= 1;
    assert_eq!(rig.disk.contents(&kept_in).unwrap(), set_aside);
    let store = rig.open();
    outcome.acknowledged = 0;
    let kept = assert_prefix(&store, &outcome);
    assert!(kept > 0 && kept < outcome.attempted.len());
    append(&store, commit("afterwards", 0, &["x"])).unwrap();
    block_on(store.close());
    drop(store);
    assert_eq!(rig.verify().unwrap().findings, []);
    let again = repair_truncate_tail_on(&rig.disk, &rig.index(), RepairMode::Apply).unwrap();
    assert_eq!((again.dropped_bytes, again.kept_in), (0, None), "nothing is left to repair");
}

#[test]
fn a_cut_file_is_repaired_to_its_full_length() {
    let rig = Rig::new(1);
    let store = rig.open();
    let mut outcome = run(&store, &workload());
    drop(store);
    rig.delete_index();
    let last = rig.segments().last().unwrap().clone();
    let whole = rig.disk.contents(&last).unwrap();
    rig.disk.set_contents(&last, whole[..1000].to_vec());
    let error = rig.try_open().err().unwrap().to_string();
    assert!(error.contains("cut") && error.contains("--truncate-tail"), "{error}");
    let report = repair_truncate_tail_on(&rig.disk, &rig.index(), RepairMode::Apply).unwrap();
    assert!(report.was_cut);
    assert_eq!(rig.disk.contents(&last).unwrap().len(), whole.len());
    outcome.acknowledged = 0;
    assert_prefix(&rig.open(), &outcome);
    let dumped = block_on(dump(&rig.open()));
    assert!(!dumped.commits.is_empty());
}
