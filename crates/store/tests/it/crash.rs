//! Stopping the machine at every disk call, in many ways, and looking for anything lost, halved, doubled or reordered.

use factum_store::Store;
use factum_store::conformance::{commit, dump};

use crate::support::{Rig, append, assert_prefix, block_on, long, run, workload};

/// Fates tried for each moment.
fn fates() -> u64 {
    if long() { 60 } else { 4 }
}

fn calls_of_workload() -> u64 {
    let rig = Rig::new(1);
    let store = rig.open();
    run(&store, &workload());
    rig.disk.calls()
}

#[test]
fn acknowledged_commits_survive_a_power_failure_at_every_call() {
    let mut torn = 0;
    for call in 1..=calls_of_workload() {
        let rig = Rig::new(call);
        rig.disk.crash_at_call(call);
        let outcome = match rig.try_open() {
            Ok((store, _)) => run(&store, &workload()),
            Err(_) => Default::default(),
        };
        for fate in 0..fates() {
            let rig = rig.fork(call * 1000 + fate);
            rig.disk.restart_machine();
            let (store, report) = rig.try_open().unwrap_or_else(|error| panic!("call {call}, fate {fate}: {error}"));
            torn += usize::from(report.torn.is_some());
            let kept = assert_prefix(&store, &outcome);
            drop(store);
            recovers_again(&rig, &outcome.attempted[..kept]);
        }
    }
    assert!(torn > 0, "some write was torn, or this test tests nothing");
}

/// A recovered store takes commits, and the power may go again.
fn recovers_again(rig: &Rig, kept: &[factum_store::Commit]) {
    let store = rig.open();
    append(&store, commit("afterwards", 0, &["x"])).unwrap();
    let before = block_on(dump(&store));
    assert_eq!(before.commits.len(), kept.len() + 1);
    drop(store);
    rig.disk.restart_machine();
    let (store, report) = rig.try_open().unwrap();
    assert_eq!((block_on(dump(&store)), report.torn), (before, None));
}

#[test]
fn a_power_failure_during_recovery_is_recovered_from() {
    let last = calls_of_workload();
    for call in (1..=last).step_by(if long() { 1 } else { 3 }) {
        let rig = Rig::new(call + 7);
        rig.disk.crash_at_call(call);
        let outcome = match rig.try_open() {
            Ok((store, _)) => run(&store, &workload()),
            Err(_) => Default::default(),
        };
        rig.disk.restart_machine();
        for second in 1..8 {
            let rig = rig.fork(call * 100 + second);
            rig.disk.crash_at_call(second);
            drop(rig.try_open());
            rig.disk.restart_machine();
            let store = rig.try_open().unwrap_or_else(|error| panic!("call {call}, then {second}: {error}")).0;
            assert_prefix(&store, &outcome);
        }
    }
}

#[test]
fn what_a_restarted_process_shows_survives_a_power_failure_after_that() {
    for call in 1..=calls_of_workload() {
        let rig = Rig::new(call);
        rig.disk.crash_at_call(call);
        let outcome = match rig.try_open() {
            Ok((store, _)) => run(&store, &workload()),
            Err(_) => Default::default(),
        };
        // Only the process is gone: the operating system still holds what was written and not synced.
        rig.disk.restart_process();
        let store = rig.try_open().unwrap_or_else(|error| panic!("call {call}: {error}")).0;
        assert_prefix(&store, &outcome);
        let shown = block_on(dump(&store));
        drop(store);
        rig.disk.restart_machine();
        assert_eq!(block_on(dump(&rig.open())), shown, "call {call}");
    }
}

#[test]
fn a_failed_sync_acknowledges_nothing_and_recovery_is_sound() {
    let probe = Rig::new(1);
    let store = probe.open();
    let at_open = probe.disk.syncs();
    run(&store, &workload());
    let syncs = probe.disk.syncs() - at_open;
    assert!(syncs > 8);
    for sync in 1..=syncs {
        for fate in 0..fates() {
            let rig = Rig::new(sync * 100 + fate);
            let store = rig.open();
            rig.disk.fail_sync(sync);
            let outcome = run(&store, &workload());
            assert!(outcome.acknowledged < outcome.attempted.len() || store.poisoned().is_none());
            let shown = block_on(dump(&store));
            assert_eq!(shown.commits.len(), outcome.acknowledged, "only what was acknowledged is visible");
            drop(store);
            if fate % 2 == 0 {
                rig.disk.restart_process();
                let store = rig.open();
                assert_prefix(&store, &outcome);
                let shown = block_on(dump(&store));
                drop(store);
                rig.disk.restart_machine();
                assert_eq!(block_on(dump(&rig.open())), shown);
            } else {
                rig.disk.restart_machine();
                assert_prefix(&rig.open(), &outcome);
            }
        }
    }
}

#[test]
fn deleting_the_index_at_any_time_changes_no_answer() {
    for steps in 0..=workload().len() {
        let rig = Rig::new(steps as u64);
        let store = rig.open();
        run(&store, &workload()[..steps]);
        let before = block_on(dump(&store));
        drop(store);
        rig.delete_index();
        let (store, _) = rig.try_open().unwrap();
        assert_eq!(block_on(dump(&store)), before);
        block_on(store.close());
        drop(store);
        let (store, report) = rig.try_open().unwrap();
        assert_eq!(report.replayed_commits, 0, "closing wrote the index down");
        assert_eq!(block_on(dump(&store)), before);
    }
}

#[test]
fn an_unusable_index_is_made_again() {
    let rig = Rig::new(3);
    let store = rig.open();
    run(&store, &workload());
    let before = block_on(dump(&store));
    block_on(store.close());
    drop(store);
    let data = rig.index().join("data.mdb");
    let whole = std::fs::read(&data).unwrap();
    let damages: [&dyn Fn(); 4] = [
        &|| std::fs::write(&data, b"not a database").unwrap(),
        &|| std::fs::write(&data, &whole[..whole.len() - 4096]).unwrap(),
        &|| std::fs::write(&data, vec![0; whole.len()]).unwrap(),
        &|| std::fs::write(&data, b"").unwrap(),
    ];
    for damage in damages {
        damage();
        let (store, report) = rig.try_open().unwrap();
        assert!(report.index_rebuilt.is_some() || report.replayed_commits > 0);
        assert_eq!(block_on(dump(&store)), before);
        block_on(store.close());
    }
}
