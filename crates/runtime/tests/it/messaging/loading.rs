//! What it costs to open a long channel: its newest snapshot and what came since, however much was said in it. And who waits
//! for that.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use factum_runtime::Agents;
use factum_store::EmbeddedStore;
use futures::StreamExt;
use futures::future::join_all;
use futures::stream::FuturesOrdered;
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

/// Whoever waits may stop looking: its client does not read on, or it stands behind something else itself.
#[test]
fn one_who_does_not_wait_on_holds_up_nobody() {
    with_one_reader(one_who_does_not_wait_on);
}

async fn one_who_does_not_wait_on(reader: Reader) {
    let dir = tempfile::tempdir().unwrap();
    let clock = TestClock::at(1_800_000_000_000);
    let owner = member("owner");
    let (runtime, store) = stored(dir.path(), &clock).await;
    let id = channel(&runtime, &owner, &[]).await;
    publish(&runtime, &owner, &id, "words").await;
    runtime.close().await;
    drop((runtime, store));

    let (runtime, _store) = stored(dir.path(), &clock).await;
    let params = json!({ "channelId": id });
    let mut first = Box::pin(call(&runtime, &owner, "channels/get", params.clone()));
    let busy = reader.keep_busy();
    assert!(futures::poll!(&mut first).is_pending(), "the channel is not in memory");
    drop(busy);
    let others = join_all((0..3).map(|_| call(&runtime, &owner, "channels/get", params.clone())));
    let others = tokio::time::timeout(PATIENCE, others).await.expect("they are answered");
    let first = first.await.unwrap();
    assert!(others.into_iter().all(|other| other.unwrap() == first));
    runtime.close().await;
}

/// Requests that come one behind the other are decided in that order, also where all of them wait for the channel.
#[test]
fn those_who_wait_for_a_channel_go_on_in_the_order_they_came() {
    with_one_reader(those_who_wait);
}

async fn those_who_wait(reader: Reader) {
    let dir = tempfile::tempdir().unwrap();
    let clock = TestClock::at(1_800_000_000_000);
    let owner = member("owner");
    let (runtime, store) = stored(dir.path(), &clock).await;
    let id = channel(&runtime, &owner, &[]).await;
    runtime.close().await;
    drop((runtime, store));

    let (runtime, _store) = stored(dir.path(), &clock).await;
    let texts: Vec<String> = (0..16).map(|at| at.to_string()).collect();
    let said: FuturesOrdered<_> = texts.iter().map(|text| publish(&runtime, &owner, &id, text)).collect();
    let busy = reader.keep_busy();
    let mut said = pin!(said.collect::<Vec<Value>>());
    assert!(futures::poll!(&mut said).is_pending(), "the channel is not in memory");
    drop(busy);
    let said = said.await;
    assert_eq!(sequences(&said), (1..=16).collect::<Vec<_>>());
    runtime.close().await;
}

/// The one thread that reads what is not small.
struct Reader;

impl Reader {
    /// Until what it gives is dropped, nothing is read.
    fn keep_busy(&self) -> std::sync::mpsc::Sender<()> {
        let (busy, done) = std::sync::mpsc::channel::<()>();
        drop(tokio::task::spawn_blocking(move || done.recv()));
        busy
    }
}

fn with_one_reader<F: Future<Output = ()>>(test: impl FnOnce(Reader) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    runtime.unwrap().block_on(test(Reader));
}

async fn stored(dir: &Path, clock: &Arc<TestClock>) -> (Runtime, Arc<EmbeddedStore>) {
    let (store, _) = EmbeddedStore::open(dir.join("data"), factum_store::Options::default()).unwrap();
    let store = Arc::new(store);
    (start(store.clone(), clock, Agents::demo(), dir).await, store)
}
