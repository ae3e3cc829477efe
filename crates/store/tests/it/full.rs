//! A full disk: refused, not poisoned, and over as soon as there is room.

use factum_store::conformance::{commit, dump};
use factum_store::{AppendError, Store};

use crate::support::{Rig, append, assert_prefix, block_on, run, workload};

#[test]
fn commits_that_fit_the_segment_succeed_while_the_disk_is_full() {
    let rig = Rig::new(1);
    let store = rig.open();
    rig.disk.set_space(Some(rig.disk.used()));
    let large = "x".repeat(6000);
    append(&store, commit("s", 0, &["small"])).unwrap();
    for _ in 0..3 {
        let refused = append(&store, commit("s", 1, &[&large]));
        assert!(matches!(refused, Err(AppendError::Full { .. })), "{refused:?}");
        assert!(!rig.disk.names().contains(&"log/next.tmp".to_owned()), "the part that was written is gone");
    }
    append(&store, commit("s", 1, &["small too"])).unwrap();
    assert_eq!(store.poisoned(), None);
    rig.disk.set_space(None);
    append(&store, commit("s", 2, &[&large])).unwrap();
    let before = block_on(dump(&store));
    drop(store);
    rig.disk.restart_machine();
    assert_eq!(block_on(dump(&rig.open())), before);
}

#[test]
fn a_disk_that_fills_at_any_size_loses_nothing() {
    let probe = Rig::new(1);
    let store = probe.open();
    let at_open = probe.disk.used();
    run(&store, &workload());
    let needed = probe.disk.used();
    for space in (at_open..=needed + 512).step_by(700) {
        let rig = Rig::new(space);
        let store = rig.open();
        rig.disk.set_space(Some(space));
        let outcome = run(&store, &workload());
        assert_eq!(store.poisoned(), None);
        assert_eq!(assert_prefix(&store, &outcome), outcome.acknowledged);
        drop(store);
        rig.disk.restart_machine();
        assert_eq!(assert_prefix(&rig.open(), &outcome), outcome.acknowledged);
    }
}

#[test]
fn a_disk_too_full_to_start_says_so_and_leaves_nothing_behind() {
    let rig = Rig::new(1);
    rig.disk.set_space(Some(2000));
    let error = rig.try_open().err().unwrap();
    assert!(error.to_string().contains("creating the first log segment"), "{error}");
    rig.disk.set_space(None);
    append(&rig.open(), commit("s", 0, &["x"])).unwrap();
}

#[test]
fn an_overlay_at_its_bound_is_written_down_before_more_is_taken() {
    let mut rig = Rig::new(1);
    rig.options.overlay_bytes_max = 4000;
    rig.options.index_map_bytes = 64 << 20;
    let store = rig.open();
    // The writer writes a checkpoint itself where no thread does, so the bound is never in the way.
    for n in 0..100 {
        append(&store, commit("s", n, &["x"])).unwrap();
    }
    assert!(store.stats().checkpoints > 0);
    assert!(store.stats().overlay_bytes <= 4000 + 500);
}

#[test]
fn a_queue_beyond_its_bound_is_busy() {
    let mut rig = Rig::new(1);
    rig.options.queue_commits_max = 10;
    let store = rig.open();
    let (open_gate, gate) = std::sync::mpsc::channel::<()>();
    let (entered, inside) = std::sync::mpsc::channel();
    let (sender, results) = std::sync::mpsc::channel();
    store.append(
        commit("s", 0, &["x"]),
        Box::new(move |_| {
            entered.send(()).unwrap();
            gate.recv().unwrap();
        }),
    );
    inside.recv().unwrap();
    for n in 1..=12 {
        let sender = sender.clone();
        store.append(commit("s", n, &["x"]), Box::new(move |outcome| sender.send((n, outcome.is_ok())).unwrap()));
    }
    assert_eq!([results.recv().unwrap(), results.recv().unwrap()], [(11, false), (12, false)]);
    open_gate.send(()).unwrap();
    for n in 1..=10 {
        assert_eq!(results.recv().unwrap(), (n, true));
    }
}
