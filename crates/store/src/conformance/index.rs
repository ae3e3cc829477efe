//! The ordered key-value index and snapshots.

use super::*;

async fn scan<S: Store>(
    store: &S,
    prefix: &str,
    after: Option<&str>,
    until: Option<&str>,
    direction: Direction,
    limit: usize,
) -> Vec<String> {
    let scan = Scan { prefix: text(prefix), after: after.map(text), until: until.map(text), direction, limit };
    let entries = store.scan(scan).await.unwrap();
    entries.into_iter().map(|(key, _)| String::from_utf8(key.to_vec()).unwrap()).collect()
}

async fn change<S: Store>(store: &S, changes: Vec<IndexChange>) {
    let expected = store.head("changes").await.unwrap().map_or(0, |head| head.sequence);
    append(store, Commit { index: changes, ..commit("changes", expected, &["x"]) }).await;
}

pub async fn an_index_key_has_its_newest_value<H: Harness>(harness: &H) {
    let store = harness.open();
    assert_eq!(store.get(b"k").await.unwrap(), None);
    assert_eq!(store.get(b"").await.unwrap(), None);
    change(&*store, vec![put("k", "1")]).await;
    assert_eq!(store.get(b"k").await.unwrap(), Some(text("1")));
    harness.settle(&store);
    assert_eq!(store.get(b"k").await.unwrap(), Some(text("1")));
    change(&*store, vec![put("k", "2"), put("k", "3")]).await;
    assert_eq!(store.get(b"k").await.unwrap(), Some(text("3")), "changes apply in their order");
    change(&*store, vec![put("k", "4"), delete("k")]).await;
    assert_eq!(store.get(b"k").await.unwrap(), None);
    harness.settle(&store);
    assert_eq!(store.get(b"k").await.unwrap(), None);
    change(&*store, vec![delete("k"), put("k", "")]).await;
    assert_eq!(store.get(b"k").await.unwrap(), Some(text("")), "an empty value is a value");
}

/// Keys a1..a5, b1..b5, c1..c5: every second one settled, so that both halves interleave.
async fn fifteen_keys<H: Harness>(harness: &H) -> Arc<H::Store> {
    let store = harness.open();
    let keys: Vec<String> = ["a", "b", "c"].iter().flat_map(|p| (1..=5).map(move |n| format!("{p}{n}"))).collect();
    for (at, key) in keys.iter().enumerate().filter(|(at, _)| at % 2 == 0) {
        change(&*store, vec![put(key, &at.to_string())]).await;
    }
    harness.settle(&store);
    for (at, key) in keys.iter().enumerate().filter(|(at, _)| at % 2 == 1) {
        change(&*store, vec![put(key, &at.to_string())]).await;
    }
    store
}

pub async fn scans_go_both_ways<H: Harness>(harness: &H) {
    let store = fifteen_keys(harness).await;
    assert_eq!(scan(&*store, "b", None, None, Direction::Forward, 99).await, ["b1", "b2", "b3", "b4", "b5"]);
    assert_eq!(scan(&*store, "b", None, None, Direction::Backward, 99).await, ["b5", "b4", "b3", "b2", "b1"]);
    assert_eq!(scan(&*store, "", None, None, Direction::Forward, 3).await, ["a1", "a2", "a3"]);
    assert_eq!(scan(&*store, "", None, None, Direction::Backward, 3).await, ["c5", "c4", "c3"]);
    assert_eq!(scan(&*store, "", None, None, Direction::Forward, 0).await, [""; 0]);
    assert_eq!(scan(&*store, "x", None, None, Direction::Forward, 9).await, [""; 0]);
}

pub async fn scans_keep_within_their_bounds<H: Harness>(harness: &H) {
    let store = fifteen_keys(harness).await;
    let (forward, backward) = (Direction::Forward, Direction::Backward);
    assert_eq!(scan(&*store, "b", Some("b2"), None, forward, 99).await, ["b3", "b4", "b5"]);
    assert_eq!(scan(&*store, "b", Some("b2"), None, backward, 99).await, ["b1"]);
    assert_eq!(scan(&*store, "b", Some("b2"), Some("b5"), forward, 99).await, ["b3", "b4"]);
    assert_eq!(scan(&*store, "b", Some("b5"), Some("b2"), backward, 99).await, ["b4", "b3"]);
    assert_eq!(scan(&*store, "b", Some("a3"), Some("c3"), forward, 99).await.len(), 5);
    assert_eq!(scan(&*store, "b", Some("c"), None, forward, 99).await, [""; 0]);
    assert_eq!(scan(&*store, "b", Some("b0"), None, backward, 99).await, [""; 0]);
    assert_eq!(scan(&*store, "b", Some("b4"), Some("b4"), forward, 99).await, [""; 0]);
    assert_eq!(scan(&*store, "", Some("b25"), None, forward, 2).await, ["b3", "b4"]);
    assert_eq!(scan(&*store, "", Some(""), None, forward, 2).await, ["a1", "a2"]);
    assert_eq!(scan(&*store, "", Some(""), None, backward, 2).await, [""; 0]);
    assert_eq!(scan(&*store, "", None, Some(""), backward, 2).await, ["c5", "c4"]);
    let long = format!("b3{}", "x".repeat(2 * KEY_BYTES_MAX));
    assert_eq!(scan(&*store, "", Some(&long), None, forward, 1).await, ["b4"]);
    assert_eq!(scan(&*store, "", Some(&long), None, backward, 1).await, ["b3"]);
    assert_eq!(scan(&*store, &long, None, None, forward, 1).await, [""; 0]);
    assert_eq!(store.get(long.as_bytes()).await.unwrap(), None);
    let (mut after, mut seen) = (None::<String>, Vec::new());
    loop {
        let page = scan(&*store, "", after.as_deref(), None, backward, 4).await;
        let Some(last) = page.last() else { break };
        after = Some(last.clone());
        seen.extend(page);
    }
    assert_eq!(seen.len(), 15);
}

pub async fn deleted_keys_stay_hidden<H: Harness>(harness: &H) {
    let store = fifteen_keys(harness).await;
    harness.settle(&store);
    change(&*store, vec![delete("b2"), delete("b3"), delete("never"), put("b31", "new")]).await;
    for _ in 0..2 {
        assert_eq!(scan(&*store, "b", None, None, Direction::Forward, 3).await, ["b1", "b31", "b4"]);
        assert_eq!(scan(&*store, "b", None, None, Direction::Backward, 3).await, ["b5", "b4", "b31"]);
        harness.settle(&store);
    }
    change(&*store, vec![put("b2", "again")]).await;
    assert_eq!(scan(&*store, "b", None, None, Direction::Forward, 2).await, ["b1", "b2"]);
}

pub async fn snapshots_are_the_newest_and_never_ahead<H: Harness>(harness: &H) {
    let store = harness.open();
    let snapshot = |sequence| Snapshot { sequence, bytes: text(&format!("as of {sequence}")) };
    store.put_snapshot("s".into(), snapshot(1));
    assert_eq!(store.snapshot("s").await.unwrap(), None, "ahead of the stream");
    append(&*store, commit("s", 0, &["1", "2", "3", "4"])).await;
    assert_eq!(store.snapshot("s").await.unwrap(), Some(snapshot(1)));
    store.put_snapshot("s".into(), snapshot(3));
    harness.settle(&store);
    assert_eq!(store.snapshot("s").await.unwrap(), Some(snapshot(3)));
    store.put_snapshot("s".into(), snapshot(2));
    assert_eq!(store.snapshot("s").await.unwrap(), Some(snapshot(3)), "an older one does not replace it");
    harness.settle(&store);
    assert_eq!(store.snapshot("s").await.unwrap(), Some(snapshot(3)));
    store.put_snapshot("s".into(), snapshot(4));
    assert_eq!(store.snapshot("s").await.unwrap(), Some(snapshot(4)));
}
