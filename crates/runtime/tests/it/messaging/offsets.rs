//! Messages are found by number among other facts: whatever stands between them, after a restart, and with the index made
//! again from the log.

use std::path::Path;
use std::sync::Arc;

use factum_runtime::Agents;
use factum_store::EmbeddedStore;
use serde_json::json;

use super::*;
use crate::world::{TestClock, World, start};

/// Runs of messages and of other facts, of every length from none to three. Gives the texts in order.
async fn weave(runtime: &Runtime, owner: &Caller, id: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for round in 0..16_u64 {
        let (messages, others) = (round % 4, round / 4);
        for _ in 0..messages {
            let text = format!("message {}", texts.len() + 1);
            publish(runtime, owner, id, &text).await;
            texts.push(text);
        }
        for other in 0..others {
            let principal = format!("agent://m{round}-{other}");
            // With a key the commit holds two facts.
            let mut params = json!({ "channelId": id, "principalId": principal });
            if other == 1 {
                params["idempotencyKey"] = json!(format!("{round}"));
            }
            call(runtime, owner, "channels/addMember", params).await.unwrap();
        }
    }
    texts
}

/// Every message by its number, alone and as the beginning of a page, and by a stream from there.
async fn check(runtime: &Runtime, owner: &Caller, id: &str, texts: &[String]) {
    let count = texts.len() as u64;
    for after in 0..=count {
        let expected: Vec<&str> = texts.iter().skip(after as usize).map(String::as_str).collect();
        let text = |event: &Value| event["parts"][0]["text"].as_str().unwrap().to_owned();
        let params = json!({ "channelId": id, "sinceSequence": after, "pageSize": 3 });
        let events = pages(runtime, owner, &params).await;
        assert_eq!(events.iter().map(text).collect::<Vec<_>>(), expected, "behind {after}");
        if after < count {
            let mut stream = stream(runtime, owner, json!({ "channelId": id, "sinceSequence": after })).await.unwrap();
            let events = read_to(&mut stream, count).await;
            assert_eq!(events.iter().map(text).collect::<Vec<_>>(), expected, "streamed from behind {after}");
        }
    }
}

#[tokio::test]
async fn messages_are_found_among_other_facts() {
    let mut world = World::new().await;
    let owner = member("owner");
    let created = json!({ "idempotencyKey": "make" });
    let id = call(&world.runtime, &owner, "channels/create", created).await.unwrap()["channel"]["id"].clone();
    let id = id.as_str().unwrap();
    let texts = weave(&world.runtime, &owner, id).await;
    check(&world.runtime, &owner, id, &texts).await;
    world.restart(Agents::demo()).await;
    check(&world.runtime, &owner, id, &texts).await;
}

#[tokio::test]
async fn messages_are_found_when_the_index_was_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let clock = TestClock::at(1_800_000_000_000);
    let owner = member("owner");
    let (runtime, store) = open(dir.path(), &clock).await;
    let id = channel(&runtime, &owner, &[]).await;
    let texts = weave(&runtime, &owner, &id).await;
    let keyed = json!({ "channelId": id, "parts": parts("keyed"), "idempotencyKey": "k" });
    let first = call(&runtime, &owner, "channels/publish", keyed.clone()).await.unwrap();
    let texts: Vec<String> = texts.into_iter().chain(["keyed".to_owned()]).collect();
    check(&runtime, &owner, &id, &texts).await;
    close(runtime, store).await;
    std::fs::remove_dir_all(dir.path().join("data/index")).unwrap();

    let (runtime, store) = open(dir.path(), &clock).await;
    check(&runtime, &owner, &id, &texts).await;
    assert_eq!(call(&runtime, &owner, "channels/publish", keyed).await.unwrap(), first, "keys are in it, too");
    let listed = call(&runtime, &owner, "channels/list", json!({})).await.unwrap();
    assert_eq!(listed["channels"][0]["id"], json!(id));
    assert_eq!(
        code(call(&runtime, &member("eve"), "channels/get", json!({ "channelId": id })).await),
        ErrorCode::NotFound
    );
    close(runtime, store).await;
}

async fn open(dir: &Path, clock: &Arc<TestClock>) -> (Runtime, Arc<EmbeddedStore>) {
    let (store, _) = EmbeddedStore::open(dir.join("data"), factum_store::Options::default()).unwrap();
    let store = Arc::new(store);
    (start(store.clone(), clock, Agents::demo(), dir).await, store)
}

async fn close(runtime: Runtime, store: Arc<EmbeddedStore>) {
    runtime.close().await;
    factum_store::Store::close(&*store).await;
}
