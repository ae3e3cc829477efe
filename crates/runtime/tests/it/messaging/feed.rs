//! The feed shows the channels that the caller may read, and no others.

use factum_runtime::FeedEvent;
use futures::FutureExt;
use serde_json::json;

use super::*;
use crate::world::World;

/// The texts of the messages that somebody's feed has.
async fn texts(world: &World, caller: &Caller) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = world.runtime.feed(caller, cursor.as_deref(), 3).await.unwrap();
        for event in &page.events {
            let event: Value = serde_json::from_slice(&event.json).unwrap();
            found.extend(event["payload"]["message_parts"][0]["text"].as_str().map(str::to_owned));
        }
        if !page.has_more {
            return found;
        }
        cursor = Some(page.cursor);
    }
}

#[tokio::test]
async fn members_see_their_channels_in_the_feed_and_outsiders_do_not() {
    let world = World::new().await;
    let [ann, bob, eve] = ["ann", "bob", "eve"].map(member);
    let private = channel(&world.runtime, &ann, &[&bob]).await;
    let open = json!({ "visibility": "public" });
    let public = call(&world.runtime, &ann, "channels/create", open).await.unwrap()["channel"]["id"].clone();
    let public = public.as_str().unwrap();
    for number in 1..=4 {
        publish(&world.runtime, &ann, &private, &format!("private {number}")).await;
        publish(&world.runtime, &ann, public, &format!("public {number}")).await;
    }
    let all: Vec<String> = (1..=4).flat_map(|n| [format!("private {n}"), format!("public {n}")]).collect();
    let some: Vec<String> = (1..=4).map(|n| format!("public {n}")).collect();
    assert_eq!(texts(&world, &ann).await, all);
    assert_eq!(texts(&world, &bob).await, all);
    assert_eq!(texts(&world, &eve).await, some);
    let elsewhere = Caller::new("agent://ann", "other", Scopes::member());
    assert_eq!(texts(&world, &elsewhere).await, Vec::<String>::new());
    let remove = json!({ "channelId": private, "principalId": "agent://bob" });
    call(&world.runtime, &ann, "channels/removeMember", remove).await.unwrap();
    assert_eq!(texts(&world, &bob).await, some, "whoever was removed sees nothing of it any more");
}

/// How far somebody has read, and what was answered to their key, is in the channel's stream and in nobody else's feed.
#[tokio::test]
async fn what_is_somebodys_own_is_in_nobody_elses_feed() {
    let world = World::new().await;
    let [ann, bob, eve] = ["ann", "bob", "eve"].map(member);
    let create =
        json!({ "visibility": "public", "members": [{ "principalId": "agent://bob" }], "idempotencyKey": "secret" });
    let id = call(&world.runtime, &ann, "channels/create", create).await.unwrap()["channel"]["id"].clone();
    for number in 1..=5 {
        publish(&world.runtime, &ann, id.as_str().unwrap(), &number.to_string()).await;
        for reader in [&ann, &bob] {
            let read = json!({ "channelId": id, "sequence": number, "idempotencyKey": format!("{number}") });
            call(&world.runtime, reader, "channels/markRead", read).await.unwrap();
        }
    }
    let admin = Caller::new("agent://root", "acme", Scopes::admin());
    for (caller, own) in [(&ann, 6), (&bob, 10), (&eve, 0), (&admin, 0)] {
        for limit in [1, 2, 3, 1_000] {
            let (mut messages, mut private, mut cursor) = (0, 0, None);
            loop {
                let page = world.runtime.feed(caller, cursor.as_deref(), limit).await.unwrap();
                for event in &page.events {
                    let event: Value = serde_json::from_slice(&event.json).unwrap();
                    match event["type"].as_str().unwrap() {
                        "messaging.message.published" => messages += 1,
                        "messaging.read" | "command.accepted" => {
                            assert_eq!(event["payload"]["principal"], *caller.principal, "{event}");
                            private += 1;
                        }
                        _ => {}
                    }
                }
                cursor = Some(page.cursor);
                if !page.has_more {
                    break;
                }
            }
            assert_eq!((messages, private), (5, own), "{} in pages of {limit}", caller.principal);
        }
    }
}

/// How much comes at once, which is what somebody who does not read is left with.
#[tokio::test]
async fn what_comes_to_a_follower_at_once_is_little_and_nothing_comes_behind_a_removal() {
    const AT_ONCE_BYTES: usize = 32 << 10;
    let world = World::new().await;
    let [ann, bob, cat] = ["ann", "bob", "cat"].map(member);
    let id = channel(&world.runtime, &ann, &[&bob, &cat]).await;
    for size in [4_000; 40].into_iter().chain([100_000]).chain([5; 300]) {
        publish(&world.runtime, &ann, &id, &"x".repeat(size)).await;
    }
    let mut cats = world.runtime.follow_feed(&cat, None).await.unwrap();
    let (mut texts, mut batches) = (0, 0);
    while texts < 341 {
        let events = tokio::time::timeout(PATIENCE, cats.next()).await.expect("nothing came").unwrap();
        let bytes: usize = events.iter().map(|event| event.json.len()).sum();
        assert!(bytes <= AT_ONCE_BYTES || events.len() == 1, "{bytes} bytes in {} events", events.len());
        let message = |event: &&FeedEvent| event.json.starts_with(br#"{"type":"messaging.message.published""#);
        texts += events.iter().filter(message).count();
        batches += 1;
    }
    assert!(batches < 30, "and not one by one: {batches}");
    let mut bobs = world.runtime.follow_feed(&bob, None).await.unwrap();
    assert!(bobs.next().await.unwrap().len() <= 8);
    let remove = json!({ "channelId": id, "principalId": "agent://bob" });
    call(&world.runtime, &ann, "channels/removeMember", remove).await.unwrap();
    assert!(bobs.next().now_or_never().is_none(), "nothing more of it comes");
}
