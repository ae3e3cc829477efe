//! Pages of history: both directions, every filter, page sizes brought into their bounds.

use futures::future::join_all;
use serde_json::json;

use super::*;
use crate::world::World;

/// A channel with so many messages of Ann, every tenth of them Bob's, each a second after the one before it.
async fn filled(world: &World, count: u64) -> (Caller, String) {
    let (ann, bob) = (member("ann"), member("bob"));
    let id = channel(&world.runtime, &ann, &[&bob]).await;
    for number in 1..=count {
        world.clock.advance(Duration::from_secs(1));
        let author = if number % 10 == 0 { &bob } else { &ann };
        publish(&world.runtime, author, &id, &number.to_string()).await;
    }
    (ann, id)
}

#[tokio::test]
async fn page_sizes_are_brought_into_their_bounds() {
    let world = World::new().await;
    let (ann, id) = filled(&world, 210).await;
    for (asked, got) in [
        (json!(null), 50),
        (json!(1), 1),
        (json!(0), 1),
        (json!(-7), 1),
        (json!(200), 200),
        (json!(201), 200),
        (json!(i64::MAX), 200),
        (json!(i64::MIN), 1),
    ] {
        for direction in ["forward", "backward"] {
            let params = json!({ "channelId": id, "pageSize": asked, "direction": direction });
            let page = call(&world.runtime, &ann, "channels/history", params).await.unwrap();
            assert_eq!(page["events"].as_array().unwrap().len(), got, "{asked} {direction}");
            assert!(page["nextPageToken"].is_string());
        }
    }
}

#[tokio::test]
async fn a_page_goes_on_however_its_authors_are_listed() {
    let world = World::new().await;
    let (ann, id) = filled(&world, 20).await;
    let ask = |authors: Value, token: Value| {
        let params = json!({ "channelId": id, "authorIds": authors, "pageSize": 5, "pageToken": token });
        call(&world.runtime, &ann, "channels/history", params)
    };
    let first = ask(json!(["agent://ann", "agent://bob"]), json!(null)).await.unwrap();
    let token = &first["nextPageToken"];
    for same in [json!(["agent://bob", "agent://ann"]), json!(["agent://bob", "agent://ann", "agent://bob"])] {
        let next = ask(same, token.clone()).await.unwrap();
        assert_eq!(next["events"][0]["sequence"], 6);
    }
    assert_eq!(ask(json!(["agent://bob"]), token.clone()).await.unwrap_err().code, ErrorCode::InvalidParams);
}

#[tokio::test]
async fn pages_put_together_are_everything_once() {
    let world = World::new().await;
    let (ann, id) = filled(&world, 45).await;
    let forward: Vec<u64> = (1..=45).collect();
    let backward: Vec<u64> = (1..=45).rev().collect();
    for size in [1, 2, 7, 44, 45, 46, 200] {
        let mut params = json!({ "channelId": id, "pageSize": size });
        assert_eq!(sequences(&pages(&world.runtime, &ann, &params).await), forward, "size {size}");
        params["direction"] = json!("backward");
        assert_eq!(sequences(&pages(&world.runtime, &ann, &params).await), backward, "size {size}");
    }
    // The last page says that it is the last one.
    let page =
        call(&world.runtime, &ann, "channels/history", json!({ "channelId": id, "pageSize": 45 })).await.unwrap();
    assert_eq!(page.get("nextPageToken"), None);
}

#[tokio::test]
async fn a_sequence_is_exclusive_and_a_time_inclusive() {
    let world = World::new().await;
    let (ann, id) = filled(&world, 30).await;
    let time = |number: i64| 1_800_000_000_000 + number * 1_000;
    let table = [
        (json!({ "sinceSequence": 0 }), 1),
        (json!({ "sinceSequence": 12 }), 13),
        (json!({ "sinceSequence": 29 }), 30),
        (json!({ "sinceSequence": 30 }), 31),
        (json!({ "sinceSequence": 1000 }), 31),
        (json!({ "sinceSequence": u64::MAX }), 31),
        (json!({ "sinceTimestamp": 0 }), 1),
        (json!({ "sinceTimestamp": -5 }), 1),
        (json!({ "sinceTimestamp": time(1) }), 1),
        (json!({ "sinceTimestamp": time(12) }), 12),
        (json!({ "sinceTimestamp": time(12) + 1 }), 13),
        (json!({ "sinceTimestamp": time(30) }), 30),
        (json!({ "sinceTimestamp": time(30) + 1 }), 31),
        (json!({ "sinceTimestamp": i64::MAX }), 31),
    ];
    for (mut params, first) in table {
        params["channelId"] = json!(id);
        params["pageSize"] = json!(4);
        let expected: Vec<u64> = (first..=30).collect();
        assert_eq!(sequences(&pages(&world.runtime, &ann, &params).await), expected, "{params}");
        params["direction"] = json!("backward");
        let backward: Vec<u64> = expected.into_iter().rev().collect();
        assert_eq!(sequences(&pages(&world.runtime, &ann, &params).await), backward, "{params}");
    }
    let both = json!({ "channelId": id, "sinceSequence": 1, "sinceTimestamp": 1 });
    assert_eq!(code(call(&world.runtime, &ann, "channels/history", both).await), ErrorCode::InvalidParams);
}

#[tokio::test]
async fn authors_are_filtered_and_filters_combine() {
    let world = World::new().await;
    let (ann, id) = filled(&world, 60).await;
    let of = |authors: Value, since: u64, direction: &str| json!({ "channelId": id, "authorIds": authors, "sinceSequence": since, "direction": direction, "pageSize": 3 });
    let bobs = json!(["agent://bob"]);
    let run = async |params: Value| sequences(&pages(&world.runtime, &ann, &params).await);
    assert_eq!(run(of(bobs.clone(), 0, "forward")).await, [10, 20, 30, 40, 50, 60]);
    assert_eq!(run(of(bobs.clone(), 30, "forward")).await, [40, 50, 60]);
    assert_eq!(run(of(bobs.clone(), 30, "backward")).await, [60, 50, 40]);
    assert_eq!(run(of(json!(["agent://bob", "agent://ann"]), 55, "forward")).await, [56, 57, 58, 59, 60]);
    assert_eq!(run(of(json!(["agent://nobody"]), 0, "forward")).await, [0; 0]);
    assert_eq!(run(of(json!([]), 55, "backward")).await, [60, 59, 58, 57, 56], "nobody named is everybody");
}

/// A page looks through a bounded number of messages; whoever goes on finds what is far away all the same.
#[tokio::test]
async fn what_is_rare_is_found_in_the_end() {
    let world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    let id = channel(&world.runtime, &ann, &[&bob]).await;
    publish(&world.runtime, &bob, &id, "first").await;
    for _ in 0..23 {
        join_all((0..100).map(|number| publish(&world.runtime, &ann, &id, if number % 2 == 0 { "a" } else { "b" })))
            .await;
    }
    publish(&world.runtime, &bob, &id, "last").await;
    let mut params = json!({ "channelId": id, "authorIds": ["agent://bob"], "pageSize": 200 });
    let first = call(&world.runtime, &ann, "channels/history", params.clone()).await.unwrap();
    assert_eq!(first["events"].as_array().unwrap().len(), 1, "a page does not look through everything");
    assert!(first["nextPageToken"].is_string());
    assert_eq!(sequences(&pages(&world.runtime, &ann, &params).await), [1, 2302]);
    params["direction"] = json!("backward");
    assert_eq!(sequences(&pages(&world.runtime, &ann, &params).await), [2302, 1]);
}

#[tokio::test]
async fn what_comes_while_one_pages_comes_at_the_end() {
    let world = World::new().await;
    let (ann, id) = filled(&world, 5).await;
    let params = json!({ "channelId": id, "pageSize": 5, "sinceSequence": 0 });
    let whole = call(&world.runtime, &ann, "channels/history", params).await.unwrap();
    assert_eq!(whole.get("nextPageToken"), None);
    let mut params = json!({ "channelId": id, "pageSize": 3 });
    let page = call(&world.runtime, &ann, "channels/history", params.clone()).await.unwrap();
    publish(&world.runtime, &ann, &id, "6").await;
    params["pageToken"] = page["nextPageToken"].clone();
    assert_eq!(sequences(&pages(&world.runtime, &ann, &params).await), [4, 5, 6]);
    // Backward goes on behind what was shown; what is new is not in between.
    let mut back = json!({ "channelId": id, "pageSize": 2, "direction": "backward" });
    let page = call(&world.runtime, &ann, "channels/history", back.clone()).await.unwrap();
    publish(&world.runtime, &ann, &id, "7").await;
    back["pageToken"] = page["nextPageToken"].clone();
    assert_eq!(sequences(&pages(&world.runtime, &ann, &back).await), [4, 3, 2, 1]);
}

#[tokio::test]
async fn an_empty_channel_has_an_empty_page() {
    let world = World::new().await;
    let ann = member("ann");
    let id = channel(&world.runtime, &ann, &[]).await;
    for params in
        [json!({}), json!({ "direction": "backward" }), json!({ "sinceTimestamp": 0 }), json!({ "sinceSequence": 0 })]
    {
        let mut params = params;
        params["channelId"] = json!(id);
        let page = call(&world.runtime, &ann, "channels/history", params).await.unwrap();
        assert_eq!(page, json!({ "events": [] }));
    }
}

#[tokio::test]
async fn so_many_authors_may_be_named_as_may_be_in_a_channel() {
    let world = World::new().await;
    let (ann, id) = filled(&world, 3).await;
    let named = |count: usize| {
        let authors = (0..count).map(|number| format!("agent://{number}")).chain(["agent://ann".to_owned()]);
        json!({ "channelId": id, "authorIds": authors.collect::<Vec<_>>() })
    };
    assert_eq!(sequences(&pages(&world.runtime, &ann, &named(999)).await), [1, 2, 3]);
    let refused = call(&world.runtime, &ann, "channels/history", named(1_000)).await.unwrap_err();
    assert_eq!((refused.code, &refused.details["limit"]["name"]), (ErrorCode::LimitExceeded, &json!("author_ids")));
    let outsider = call(&world.runtime, &member("cat"), "channels/history", named(1_000)).await.unwrap_err();
    assert_eq!(outsider, Refusal::not_found(), "outsiders see no difference");
}

/// A page is no longer than a client of gRPC takes, and goes on where it ended, through whatever stands between messages.
#[tokio::test]
async fn a_page_of_long_messages_ends_early() {
    let world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    let id = channel(&world.runtime, &ann, &[&bob]).await;
    let long = "x".repeat(250_000);
    for number in 1..=30 {
        publish(&world.runtime, &ann, &id, &long).await;
        let read = json!({ "channelId": id, "sequence": number });
        call(&world.runtime, &bob, "channels/markRead", read).await.unwrap();
    }
    publish(&world.runtime, &bob, &id, "short").await;
    let forward: Vec<u64> = (1..=31).collect();
    let backward: Vec<u64> = (1..=31).rev().collect();
    let both = json!(["agent://ann", "agent://bob"]);
    for (size, authors) in [(json!(null), json!(null)), (json!(200), json!(null)), (json!(200), both)] {
        for (direction, expected) in [("forward", &forward), ("backward", &backward)] {
            let mut params = json!({ "channelId": id, "pageSize": size, "authorIds": authors, "direction": direction });
            let (mut seen, mut lengths) = (Vec::new(), Vec::new());
            loop {
                let page = call(&world.runtime, &ann, "channels/history", params.clone()).await.unwrap();
                let bytes = page.to_string().len();
                assert!(bytes < 7 << 19, "{bytes} bytes {direction}");
                let found = sequences(page["events"].as_array().unwrap());
                lengths.push(found.len());
                seen.extend(found);
                let Some(token) = page.get("nextPageToken") else { break };
                params["pageToken"] = token.clone();
            }
            assert_eq!(&seen, expected, "{size} {direction}");
            let lengths_expected = if direction == "forward" { [12, 12, 7] } else { [13, 12, 6] };
            assert_eq!(lengths, lengths_expected, "{size} {direction}: a page is as long as it may be");
        }
    }
}
