//! What it costs to open a long channel: its newest snapshot and what came since, however much was said in it.

use std::sync::Arc;

use factum_runtime::Agents;
use futures::future::join_all;
use serde_json::json;

use super::*;
use crate::counting::Counting;
use crate::world::{TestClock, start};

const MESSAGES: u64 = 20_000;
/// Events between two snapshots, as `ShellLimits` says.
const SNAPSHOT_EVENTS: usize = 1_000;

#[tokio::test]
async fn a_long_channel_opens_from_its_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let clock = TestClock::at(1_800_000_000_000);
    let store = Arc::new(Counting::default());
    let owner = member("owner");
    let runtime = start(store.clone(), &clock, Agents::demo(), dir.path()).await;
    let id = channel(&runtime, &owner, &[]).await;
    for _ in 0..MESSAGES / 200 {
        join_all((0..200).map(|_| publish(&runtime, &owner, &id, "words"))).await;
    }
    // As after a crash: the first runtime is forgotten, nothing is written down at the end.
    let runtime = start(store.clone(), &clock, Agents::demo(), dir.path()).await;
    store.take();
    let channel = call(&runtime, &owner, "channels/get", json!({ "channelId": id })).await.unwrap();
    assert_eq!(channel["channel"]["messageCount"], MESSAGES);
    let opened = store.take();
    assert!(opened <= SNAPSHOT_EVENTS, "{opened} records were read to open the channel");

    // Any message is one read away, and so is where a stream begins.
    let params = json!({ "channelId": id, "sinceSequence": 12_344, "pageSize": 1 });
    let page = call(&runtime, &owner, "channels/history", params).await.unwrap();
    assert_eq!(sequences(page["events"].as_array().unwrap()), [12_345]);
    assert_eq!(store.take(), 1);
    let mut stream = stream(&runtime, &owner, json!({ "channelId": id, "sinceSequence": MESSAGES - 3 })).await.unwrap();
    assert_eq!(sequences(&read_to(&mut stream, MESSAGES).await), [MESSAGES - 2, MESSAGES - 1, MESSAGES]);
    assert_eq!(store.take(), 3);
    assert_eq!(sequence(&publish(&runtime, &owner, &id, "one more").await), MESSAGES + 1);
    assert_eq!(store.take(), 0, "publishing reads nothing");
}
