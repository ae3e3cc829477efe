//! Seed 002 §6: sequences start at 1, none is skipped, none is given twice, whoever publishes at the same time.

use std::collections::{BTreeMap, HashSet};

use factum_runtime::Agents;
use futures::future::join_all;
use serde_json::json;

use super::*;
use crate::world::World;

const PUBLISHERS: usize = 8;
const EACH: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sequences_are_contiguous_under_concurrent_publishers() {
    let mut world = World::new().await;
    let owner = member("owner");
    let authors: Vec<Caller> = (0..PUBLISHERS).map(|number| member(&format!("p{number}"))).collect();
    let id = channel(&world.runtime, &owner, &authors.iter().collect::<Vec<_>>()).await;
    let publishers = authors.iter().cloned().map(|author| {
        let (runtime, id) = (world.runtime.clone(), id.clone());
        tokio::spawn(async move {
            let mut told = Vec::new();
            for number in 0..EACH {
                let event = publish(&runtime, &author, &id, &format!("{} {number}", author.principal)).await;
                told.push(event);
                // Facts that are no messages stand between them.
                if number % 7 == 0 {
                    let read = json!({ "channelId": id, "sequence": sequence(told.last().unwrap()) });
                    call(&runtime, &author, "channels/markRead", read).await.unwrap();
                }
            }
            told
        })
    });
    let told: Vec<Vec<Value>> = join_all(publishers).await.into_iter().map(Result::unwrap).collect();
    for own in &told {
        assert!(own.is_sorted_by(|one, next| sequence(one) < sequence(next)), "an author's own order");
    }
    let by_sequence: BTreeMap<u64, &Value> = told.iter().flatten().map(|event| (sequence(event), event)).collect();
    let total = (PUBLISHERS * EACH) as u64;
    assert_eq!(by_sequence.keys().copied().collect::<Vec<_>>(), (1..=total).collect::<Vec<_>>());
    let ids: HashSet<&str> = told.iter().flatten().map(|event| event["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len() as u64, total);

    let stored = all(&world.runtime, &owner, &id).await;
    assert_eq!(stored.iter().collect::<Vec<_>>(), by_sequence.values().copied().collect::<Vec<_>>());
    world.restart(Agents::demo()).await;
    assert_eq!(all(&world.runtime, &owner, &id).await, stored);
    assert_eq!(sequence(&publish(&world.runtime, &owner, &id, "after the restart").await), total + 1);
}

#[tokio::test]
async fn what_is_refused_takes_no_sequence() {
    let world = World::new().await;
    let (owner, outsider) = (member("owner"), member("eve"));
    let id = channel(&world.runtime, &owner, &[]).await;
    publish(&world.runtime, &owner, &id, "one").await;
    let bad = [
        (&owner, json!({ "channelId": id, "parts": [] })),
        (&owner, json!({ "channelId": id, "parts": [{ "smell": "rose" }] })),
        (&owner, json!({ "channelId": id, "parts": vec![json!({ "text": "x" }); 33] })),
        (&owner, json!({ "channelId": id, "parts": parts("x"), "replyToId": "msg_nobody" })),
        (&outsider, json!({ "channelId": id, "parts": parts("x") })),
    ];
    let before = *factum_store::Store::durable(&*world.store).borrow();
    for (caller, params) in bad {
        call(&world.runtime, caller, "channels/publish", params.clone()).await.expect_err(&params.to_string());
    }
    assert_eq!(*factum_store::Store::durable(&*world.store).borrow(), before, "something was written");
    assert_eq!(sequence(&publish(&world.runtime, &owner, &id, "two").await), 2);
}

/// Parts of both forms come back exactly as they were sent, with everything in them that is the caller's.
#[tokio::test]
async fn content_comes_back_as_it_was_sent() {
    let mut world = World::new().await;
    let owner = member("owner");
    let id = channel(&world.runtime, &owner, &[]).await;
    let params = json!({
        "channelId": id,
        "parts": [
            { "type": "text", "text": "ünïcode \u{1F980}", "metadata": { "z": 1, "a": [null, 1.5, "x"] } },
            { "kind": "text", "text": "" },
            { "kind": "file", "file": { "uri": "https://example.com/x", "mimeType": "text/plain" } },
            { "text": "1.0" }, { "url": "https://example.com/y", "mediaType": "image/png" }, { "raw": "AAEC" },
            { "data": { "deep": [{ "er": {} }] } },
        ],
        "artifactRefs": ["artifact_abc", "b"], "taskRefs": ["task_1"], "metadata": { "b": 1, "a": { "n": null } },
    });
    let event = call(&world.runtime, &owner, "channels/publish", params.clone()).await.unwrap()["event"].clone();
    for field in ["parts", "artifactRefs", "taskRefs", "metadata", "channelId"] {
        assert_eq!(event[field].to_string(), params[field].to_string(), "{field}, down to the order of keys");
    }
    assert_eq!((&event["kind"], &event["author"]), (&json!("messageEvent"), &json!("agent://owner")));
    world.restart(Agents::demo()).await;
    assert_eq!(all(&world.runtime, &owner, &id).await, vec![event]);
}
