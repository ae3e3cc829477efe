//! Read cursors: forward only, never past the last message, one for each member, and no change of the channel.

use factum_runtime::Agents;
use factum_store::Store;
use serde_json::json;

use super::*;
use crate::world::World;

async fn mark(world: &World, caller: &Caller, id: &str, sequence: u64) -> Value {
    let params = json!({ "channelId": id, "sequence": sequence });
    call(&world.runtime, caller, "channels/markRead", params).await.unwrap()["readCursor"].clone()
}

async fn seen_by(world: &World, caller: &Caller, id: &str) -> Value {
    call(&world.runtime, caller, "channels/get", json!({ "channelId": id })).await.unwrap()["channel"].clone()
}

#[tokio::test]
async fn a_cursor_moves_forward_and_never_past_the_end() {
    let mut world = World::new().await;
    // Who writes has read what they wrote; the two who are looked at only read.
    let [author, ann, bob] = ["author", "ann", "bob"].map(member);
    let id = channel(&world.runtime, &author, &[&ann, &bob]).await;
    assert_eq!(mark(&world, &ann, &id, 5).await, json!({ "sequence": 0, "unreadCount": 0 }));
    for number in 0..5 {
        publish(&world.runtime, &author, &id, &number.to_string()).await;
    }
    for (asked, sequence) in [(2, 2), (1, 2), (0, 2), (4, 4), (99, 5), (u64::MAX, 5), (3, 5)] {
        assert_eq!(mark(&world, &ann, &id, asked).await, json!({ "sequence": sequence, "unreadCount": 5 - sequence }));
    }
    assert_eq!(mark(&world, &bob, &id, 1).await, json!({ "sequence": 1, "unreadCount": 4 }));
    publish(&world.runtime, &author, &id, "more").await;
    for _ in 0..2 {
        let (anns, bobs) = (seen_by(&world, &ann, &id).await, seen_by(&world, &bob, &id).await);
        assert_eq!(anns["readCursor"], json!({ "sequence": 5, "unreadCount": 1 }));
        assert_eq!(bobs["readCursor"], json!({ "sequence": 1, "unreadCount": 5 }));
        assert_eq!((&anns["version"], &anns["messageCount"]), (&json!(1), &json!(6)), "reading changes no channel");
        world.restart(Agents::demo()).await;
    }
    let before = *world.store.durable().borrow();
    mark(&world, &bob, &id, 1).await;
    assert_eq!(*world.store.durable().borrow(), before, "where nothing moves nothing is written");
}

#[tokio::test]
async fn only_members_have_a_cursor() {
    let world = World::new().await;
    let (ann, reader) = (member("ann"), member("reader"));
    let create = json!({ "visibility": "public" });
    let id = call(&world.runtime, &ann, "channels/create", create).await.unwrap()["channel"]["id"].clone();
    let id = id.as_str().unwrap();
    publish(&world.runtime, &ann, id, "hi").await;
    assert_eq!(seen_by(&world, &reader, id).await.get("readCursor"), None);
    let params = json!({ "channelId": id, "sequence": 1 });
    assert_eq!(code(call(&world.runtime, &reader, "channels/markRead", params).await), ErrorCode::PermissionDenied);
}

/// Where a member has read up to is nobody else's business: no stream shows it.
#[tokio::test]
async fn reading_is_no_event() {
    let world = World::new().await;
    let ann = member("ann");
    let id = channel(&world.runtime, &ann, &[]).await;
    publish(&world.runtime, &ann, &id, "one").await;
    let params = json!({ "channelId": id, "sinceSequence": 1, "controlEvents": true });
    let mut stream = stream(&world.runtime, &ann, params).await.unwrap();
    mark(&world, &ann, &id, 1).await;
    let event = publish(&world.runtime, &ann, &id, "two").await;
    assert_eq!(next(&mut stream).await.unwrap(), [json!({ "kind": "messageEvent", "event": event })]);
}
