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
