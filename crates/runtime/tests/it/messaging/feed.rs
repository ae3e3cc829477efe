//! The feed shows the channels that the caller may read, and no others.

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
