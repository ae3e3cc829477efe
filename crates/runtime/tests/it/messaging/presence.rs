//! Presence: who follows a channel right now, told to streams that ask, and never stored.

use factum_store::Store;
use futures::FutureExt;
use serde_json::json;

use super::*;
use crate::world::World;

async fn present(world: &World, caller: &Caller, id: &str) -> Vec<(String, u64)> {
    let answer = call(&world.runtime, caller, "channels/presence", json!({ "channelId": id })).await.unwrap();
    let line = |one: &Value| (one["principalId"].as_str().unwrap().to_owned(), one["streams"].as_u64().unwrap());
    answer["present"].as_array().unwrap().iter().map(line).collect()
}

#[tokio::test]
async fn who_follows_is_present_and_streams_that_ask_are_told() {
    let world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    let id = channel(&world.runtime, &ann, &[&bob]).await;
    assert_eq!(present(&world, &ann, &id).await, []);
    let mut asks = stream(&world.runtime, &ann, json!({ "channelId": id, "presence": true })).await.unwrap();
    let mut does_not = stream(&world.runtime, &ann, json!({ "channelId": id })).await.unwrap();
    let told = next(&mut asks).await.unwrap();
    assert_eq!((&told[0]["kind"], &told[0]["event"]["principalId"]), (&json!("presenceEvent"), &json!("agent://ann")));
    let before = *world.store.durable().borrow();
    let theirs = [
        stream(&world.runtime, &bob, json!({ "channelId": id })).await.unwrap(),
        stream(&world.runtime, &bob, json!({ "channelId": id })).await.unwrap(),
    ];
    let state = |envelopes: &[Value]| {
        let line = |one: &Value| {
            (
                one["event"]["principalId"].as_str().unwrap().to_owned(),
                one["event"]["state"].as_str().unwrap().to_owned(),
            )
        };
        envelopes.iter().map(line).collect::<Vec<_>>()
    };
    let bob_is = |state: &str| vec![("agent://bob".to_owned(), state.to_owned())];
    assert_eq!(state(&next(&mut asks).await.unwrap()), bob_is("online"));
    assert_eq!(present(&world, &ann, &id).await, [("agent://ann".to_owned(), 2), ("agent://bob".to_owned(), 2)]);
    let [one, two] = theirs;
    drop(one);
    assert!(asks.next().now_or_never().is_none(), "one of two streams is left");
    drop(two);
    assert_eq!(state(&next(&mut asks).await.unwrap()), bob_is("offline"));
    assert!(does_not.next().now_or_never().is_none(), "who did not ask is not told");
    drop((asks, does_not));
    assert_eq!(present(&world, &ann, &id).await, []);
    assert_eq!(*world.store.durable().borrow(), before, "presence is no fact");
}

#[tokio::test]
async fn who_was_taken_out_is_not_present_although_their_client_does_not_read() {
    let world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    let id = channel(&world.runtime, &ann, &[&bob]).await;
    let _stalled = stream(&world.runtime, &bob, json!({ "channelId": id })).await.unwrap();
    assert_eq!(present(&world, &ann, &id).await, [("agent://bob".to_owned(), 1)]);
    let params = json!({ "channelId": id, "principalId": "agent://bob" });
    call(&world.runtime, &ann, "channels/removeMember", params).await.unwrap();
    assert_eq!(present(&world, &ann, &id).await, []);
}

#[tokio::test]
async fn outsiders_are_told_nothing() {
    let world = World::new().await;
    let (ann, eve) = (member("ann"), member("eve"));
    let id = channel(&world.runtime, &ann, &[]).await;
    let _stream = stream(&world.runtime, &ann, json!({ "channelId": id })).await.unwrap();
    let outcome = call(&world.runtime, &eve, "channels/presence", json!({ "channelId": id })).await;
    assert_eq!(outcome.unwrap_err(), Refusal::not_found());
}

/// A channel that leaves memory keeps those who follow it.
#[tokio::test(start_paused = true)]
async fn who_follows_a_quiet_channel_stays_present() {
    let world = World::new().await;
    let ann = member("ann");
    let (id, quiet) = (channel(&world.runtime, &ann, &[]).await, channel(&world.runtime, &ann, &[]).await);
    let mut live = stream(&world.runtime, &ann, json!({ "channelId": id })).await.unwrap();
    world.clock.advance(Duration::from_secs(3_600));
    // The sweep runs on tokio's clock; it has been by when another channel, which nobody follows, is loaded anew.
    for _ in 0..10 {
        tokio::time::advance(Duration::from_secs(5)).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(present(&world, &ann, &quiet).await, []);
    assert_eq!(present(&world, &ann, &id).await, [("agent://ann".to_owned(), 1)]);
    let event = publish(&world.runtime, &ann, &id, "hi").await;
    assert_eq!(next(&mut live).await.unwrap(), [json!({ "kind": "messageEvent", "event": event })]);
}
