//! Order, expectation, durability and visibility of commits.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::*;

pub async fn positions_grow_in_the_order_of_appends<H: Harness>(harness: &H) {
    let store = harness.open();
    let mut last = 0;
    for n in 0..20 {
        let receipt = append(&*store, commit(&format!("s{}", n % 3), n / 3, &["x"])).await;
        assert!(receipt.position > last);
        last = receipt.position;
    }
}

pub async fn sequences_are_contiguous_and_chained<H: Harness>(harness: &H) {
    let store = harness.open();
    let first = append(&*store, commit("s", 0, &["1", "2", "3"])).await;
    assert_eq!((first.first_sequence, first.last_sequence), (1, 3));
    harness.settle(&store);
    let second = append(&*store, commit("s", 3, &["4"])).await;
    assert_eq!((second.first_sequence, second.last_sequence), (4, 4));
    assert_ne!(first.hash, second.hash);
    let head = store.head("s").await.unwrap();
    assert_eq!(head, Some(Head { sequence: 4, position: second.position, hash: second.hash }));
    let commits = store.feed(0, ReadLimit::records(10)).await.unwrap();
    let links: Vec<_> = commits.iter().map(|commit| (commit.previous_hash, commit.hash)).collect();
    assert_eq!(links, [(NO_HASH, first.hash), (first.hash, second.hash)]);
}

pub async fn a_wrong_expectation_is_a_conflict<H: Harness>(harness: &H) {
    let store = harness.open();
    let conflict = |expected, actual| AppendError::Conflict { stream: "s".into(), expected, actual };
    assert_eq!(refused(&*store, commit("s", 1, &["x"])).await, conflict(1, 0));
    append(&*store, commit("s", 0, &["1", "2"])).await;
    for settled in [false, true] {
        if settled {
            harness.settle(&store);
        }
        for expected in [0, 1, 3] {
            let mut wrong = commit("s", expected, &["x"]);
            wrong.index.push(put("k", "v"));
            assert_eq!(refused(&*store, wrong).await, conflict(expected, 2));
        }
    }
    assert_eq!(store.get(b"k").await.unwrap(), None);
    assert_eq!(store.head("s").await.unwrap().unwrap().sequence, 2);
}

pub async fn many_commits_in_flight_keep_their_order<H: Harness>(harness: &H) {
    let store = harness.open();
    let mut receipts = Vec::new();
    for n in 0..500u64 {
        let (sender, receiver) = oneshot::channel();
        let text = n.to_string();
        store.append(commit("s", n, &[&text]), Box::new(move |outcome| drop(sender.send(outcome))));
        receipts.push(receiver);
    }
    for (n, receiver) in receipts.into_iter().enumerate() {
        assert_eq!(receiver.await.unwrap().unwrap().first_sequence, n as u64 + 1);
    }
    let records = store.read("s", 1, ReadLimit::records(1000)).await.unwrap();
    let expected: Vec<_> = (0..500).map(|n| (n + 1, n.to_string())).collect();
    assert_eq!(texts(records), expected);
}

pub async fn done_is_called_once_and_in_order<H: Harness>(harness: &H) {
    let store = harness.open();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let (sender, last) = oneshot::channel();
    let mut sender = Some(sender);
    for n in 0..200u64 {
        // Every third one is refused: its place in line is kept all the same.
        let expected = if n % 3 == 2 { 999 } else { n / 3 * 2 + n % 3 };
        let (calls, sender) = (calls.clone(), if n == 199 { sender.take() } else { None });
        let done = move |outcome: Result<Receipt, AppendError>| {
            calls.lock().push((n, outcome.is_ok()));
            if let Some(sender) = sender {
                sender.send(()).unwrap();
            }
        };
        store.append(commit("s", expected, &["x"]), Box::new(done));
    }
    last.await.unwrap();
    let expected: Vec<_> = (0..200).map(|n| (n, n % 3 != 2)).collect();
    assert_eq!(*calls.lock(), expected);
}

pub async fn limits_are_refused_in_order<H: Harness>(harness: &H) {
    let store = harness.open();
    let long = "x".repeat(STREAM_NAME_BYTES_MAX + 1);
    assert!(matches!(refused(&*store, commit(&long, 0, &["x"])).await, AppendError::TooLarge { .. }));
    assert!(matches!(refused(&*store, commit("", 0, &["x"])).await, AppendError::Empty { .. }));
    assert!(matches!(refused(&*store, commit("s", 0, &[])).await, AppendError::Empty { .. }));
    let mut key = commit("s", 0, &["x"]);
    key.index.push(put(&"k".repeat(KEY_BYTES_MAX + 1), "v"));
    assert!(matches!(refused(&*store, key).await, AppendError::TooLarge { .. }));
    let mut empty_key = commit("s", 0, &["x"]);
    empty_key.index.push(delete(""));
    assert!(matches!(refused(&*store, empty_key).await, AppendError::Empty { .. }));
    let mut many = commit("s", 0, &[]);
    many.records = vec![text(""); COMMIT_RECORDS_MAX + 1];
    assert!(matches!(refused(&*store, many).await, AppendError::TooLarge { .. }));
    let mut large = commit("s", 0, &[]);
    large.records = vec![Bytes::from(vec![b'x'; COMMIT_BYTES_MAX])];
    assert!(matches!(refused(&*store, large).await, AppendError::TooLarge { .. }));
    let longest = commit(&"n".repeat(STREAM_NAME_BYTES_MAX), 0, &[""]);
    append(&*store, longest).await;
    let mut longest_key = commit("s", 0, &["x"]);
    longest_key.index.push(put(&"k".repeat(KEY_BYTES_MAX), ""));
    append(&*store, longest_key).await;
    harness.settle(&store);
    assert_eq!(store.get("k".repeat(KEY_BYTES_MAX).as_bytes()).await.unwrap(), Some(text("")));
}

pub async fn a_commit_is_visible_before_done_and_whole<H: Harness>(harness: &H) {
    let store = harness.open();
    for n in 0..50u64 {
        let mut both = commit("s", n * 2, &["a", "b"]);
        both.index = vec![put("x", &n.to_string()), put("y", &n.to_string())];
        let receipt = append(&*store, both).await;
        assert_eq!(store.head("s").await.unwrap().unwrap().position, receipt.position);
        let scan = Scan { prefix: text(""), after: None, until: None, direction: Direction::Forward, limit: 9 };
        let value = text(&n.to_string());
        assert_eq!(store.scan(scan).await.unwrap(), [(text("x"), value.clone()), (text("y"), value)]);
        if n % 7 == 0 {
            harness.settle(&store);
        }
    }
}

pub async fn the_durable_position_is_published<H: Harness>(harness: &H) {
    let store = harness.open();
    let mut durable = store.durable();
    assert_eq!(*durable.borrow_and_update(), 0);
    let receipt = append(&*store, commit("s", 0, &["x"])).await;
    durable.changed().await.unwrap();
    assert_eq!(*durable.borrow_and_update(), receipt.position);
}
