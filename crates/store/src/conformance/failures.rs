//! Poison, closing, and what is there afterwards.

use tokio::sync::oneshot;

use super::*;
use crate::error::ReadError;

pub async fn a_failed_sync_poisons<H: Harness>(harness: &H) {
    let store = harness.open();
    append(&*store, Commit { index: vec![put("k", "1")], ..commit("s", 0, &["kept"]) }).await;
    if !harness.fail_next_sync(&store) {
        return;
    }
    let lost = Commit { index: vec![put("k", "2")], ..commit("s", 1, &["lost"]) };
    assert!(matches!(refused(&*store, lost).await, AppendError::Poisoned { .. }));
    assert!(store.poisoned().is_some());
    assert!(matches!(refused(&*store, commit("t", 0, &["x"])).await, AppendError::Poisoned { .. }));
    assert_eq!(texts(store.read("s", 1, ReadLimit::records(9)).await.unwrap()), [(1, "kept".into())]);
    assert_eq!(store.feed(0, ReadLimit::records(9)).await.unwrap().len(), 1);
    assert_eq!(store.get(b"k").await.unwrap(), Some(text("1")));
    assert_eq!(store.head("s").await.unwrap().unwrap().sequence, 1);
}

pub async fn closing_finishes_and_refuses<H: Harness>(harness: &H) {
    let store = harness.open();
    let mut receipts = Vec::new();
    for n in 0..50 {
        let (sender, receiver) = oneshot::channel();
        store.append(commit("s", n, &["x"]), Box::new(move |outcome| drop(sender.send(outcome))));
        receipts.push(receiver);
    }
    store.close().await;
    for receiver in receipts {
        receiver.await.unwrap().expect("what was handed over before the close is finished");
    }
    assert_eq!(refused(&*store, commit("s", 50, &["x"])).await, AppendError::Closed);
    assert_eq!(store.head("s").await, Err(ReadError::Closed));
    assert_eq!(store.feed(0, ReadLimit::records(1)).await, Err(ReadError::Closed));
    store.close().await;
}

pub async fn everything_is_there_after_opening_again<H: Harness>(harness: &H) {
    let mut store = harness.open();
    for round in 0..3u64 {
        for n in 0..10u64 {
            let index = vec![put(&format!("k{n}"), &round.to_string()), delete(&format!("k{}", (n + round) % 10))];
            append(&*store, Commit { index, ..commit(&format!("s{n}"), round, &[&format!("{round}-{n}")]) }).await;
            if (round, n) == (1, 5) {
                harness.settle(&store);
            }
        }
        let before = (dump(&*store).await, *store.durable().borrow());
        let Some(again) = harness.reopen(store) else { return };
        store = again;
        assert_eq!((dump(&*store).await, *store.durable().borrow()), before);
    }
}
