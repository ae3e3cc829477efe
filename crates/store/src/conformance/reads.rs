//! Streams and the feed, with their limits.

use super::*;

/// A stream of 30 records in commits of 1, 2, 3, 4 records and so on, half of it settled.
async fn stream_of_thirty<H: Harness>(harness: &H) -> Arc<H::Store> {
    let store = harness.open();
    let (mut next, mut size) = (0u64, 1u64);
    while next < 30 {
        let texts: Vec<String> = (next..(next + size).min(30)).map(|n| format!("r{}", n + 1)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        append(&*store, commit("s", next, &texts)).await;
        append(&*store, commit(&format!("other{next}"), 0, &["noise"])).await;
        next += texts.len() as u64;
        size += 1;
        if (10..20).contains(&next) {
            harness.settle(&store);
        }
    }
    store
}

pub async fn a_stream_reads_forwards_and_backwards<H: Harness>(harness: &H) {
    let store = stream_of_thirty(harness).await;
    for from in 0..=32u64 {
        for limit in [1, 2, 7, 100] {
            let expected: Vec<_> = (from.max(1)..=30).take(limit).map(|n| (n, format!("r{n}"))).collect();
            let records = store.read("s", from, ReadLimit::records(limit)).await.unwrap();
            assert_eq!(texts(records), expected, "from {from}, limit {limit}");
            let expected: Vec<_> = (1..from.min(31)).rev().take(limit).map(|n| (n, format!("r{n}"))).collect();
            let records = store.read_back("s", from, ReadLimit::records(limit)).await.unwrap();
            assert_eq!(texts(records), expected, "before {from}, limit {limit}");
        }
    }
    let newest = store.read_back("s", Sequence::MAX, ReadLimit::records(2)).await.unwrap();
    assert_eq!(texts(newest), [(30, "r30".into()), (29, "r29".into())]);
}

pub async fn read_limits_hold_at_every_edge<H: Harness>(harness: &H) {
    let store = stream_of_thirty(harness).await;
    let read = async |records, bytes| store.read("s", 1, ReadLimit { records, bytes }).await.unwrap().len();
    assert_eq!(read(0, 1000).await, 0);
    assert_eq!(read(10, 0).await, 1, "one record is returned however small the limit");
    assert_eq!(read(10, 2).await, 1);
    assert_eq!(read(10, 3).await, 1);
    assert_eq!(read(10, 4).await, 2);
    assert_eq!(read(100, 9 * 2 + 3).await, 10);
    let back = store.read_back("s", 31, ReadLimit { records: 100, bytes: 7 }).await.unwrap();
    assert_eq!(back.len(), 2);
}

pub async fn an_unknown_stream_is_empty<H: Harness>(harness: &H) {
    let store = stream_of_thirty(harness).await;
    for name in ["", "none", "othe", "other", "t", &"long".repeat(200)] {
        assert_eq!(store.head(name).await.unwrap(), None);
        assert_eq!(store.read(name, 1, ReadLimit::records(5)).await.unwrap(), []);
        assert_eq!(store.read_back(name, 5, ReadLimit::records(5)).await.unwrap(), []);
        assert_eq!(store.snapshot(name).await.unwrap(), None);
    }
}

pub async fn the_feed_gives_every_commit_once<H: Harness>(harness: &H) {
    let store = stream_of_thirty(harness).await;
    let all = store.feed(0, ReadLimit::records(usize::MAX)).await.unwrap();
    assert_eq!(all.iter().map(|commit| commit.records.len()).sum::<usize>(), 30 + all.len() / 2);
    assert_eq!(all[0].partition.as_ref(), "part");
    for limit in [1, 2, 5, 100] {
        let (mut after, mut seen) = (0, Vec::new());
        loop {
            let page = store.feed(after, ReadLimit::records(limit)).await.unwrap();
            let Some(last) = page.last() else { break };
            after = last.position;
            seen.extend(page);
        }
        assert_eq!(seen, all, "pages of {limit}");
    }
    assert_eq!(all.last().unwrap().position, *store.durable().borrow());
}

pub async fn the_feed_takes_any_cursor<H: Harness>(harness: &H) {
    let store = stream_of_thirty(harness).await;
    let all = store.feed(0, ReadLimit::records(usize::MAX)).await.unwrap();
    for after in (0..all.last().unwrap().position + 3).step_by(3) {
        let next = store.feed(after, ReadLimit::records(1)).await.unwrap();
        let expected: Vec<_> = all.iter().filter(|commit| commit.position > after).take(1).cloned().collect();
        assert_eq!(next, expected, "behind {after}");
    }
    assert_eq!(store.feed(Position::MAX, ReadLimit::records(1)).await.unwrap(), []);
}

pub async fn feed_limits_count_whole_commits<H: Harness>(harness: &H) {
    let store = harness.open();
    for n in 0..4 {
        append(&*store, commit("s", n * 3, &["aa", "bb", "cc"])).await;
    }
    let feed = async |records, bytes| store.feed(0, ReadLimit { records, bytes }).await.unwrap().len();
    assert_eq!(feed(0, 100).await, 0);
    assert_eq!(feed(1, 100).await, 1, "a whole commit is returned however small the limit");
    assert_eq!(feed(5, 100).await, 1);
    assert_eq!(feed(6, 100).await, 2);
    assert_eq!(feed(100, 0).await, 1);
    assert_eq!(feed(100, 17).await, 2);
    assert_eq!(feed(100, 18).await, 3);
}
