//! Threads: a reply is in the thread of what it answers, and only messages of the channel can be answered.

use serde_json::json;

use super::*;
use crate::world::World;

async fn reply(world: &World, caller: &Caller, id: &str, fields: Value) -> Result<Value, Refusal> {
    let mut params = json!({ "channelId": id, "parts": parts("a reply") });
    params.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    call(&world.runtime, caller, "channels/publish", params).await.map(|answer| answer["event"].clone())
}

#[tokio::test]
async fn replies_are_in_the_thread_of_what_they_answer() {
    let world = World::new().await;
    let ann = member("ann");
    let id = channel(&world.runtime, &ann, &[]).await;
    let root = publish(&world.runtime, &ann, &id, "root").await;
    let aside = publish(&world.runtime, &ann, &id, "aside").await;
    assert_eq!((root.get("threadId"), root.get("replyToId")), (None, None));
    let first = reply(&world, &ann, &id, json!({ "replyToId": root["id"] })).await.unwrap();
    assert_eq!((&first["threadId"], &first["replyToId"]), (&root["id"], &root["id"]));
    let second = reply(&world, &ann, &id, json!({ "replyToId": first["id"] })).await.unwrap();
    assert_eq!((&second["threadId"], &second["replyToId"]), (&root["id"], &first["id"]));
    let third = reply(&world, &ann, &id, json!({ "threadId": second["id"] })).await.unwrap();
    assert_eq!((&third["threadId"], third.get("replyToId")), (&root["id"], None));
    let fourth = reply(&world, &ann, &id, json!({ "replyToId": second["id"], "threadId": root["id"] })).await.unwrap();
    let thread = pages(&world.runtime, &ann, &json!({ "channelId": id, "threadId": root["id"], "pageSize": 2 })).await;
    assert_eq!(thread, [root.clone(), first.clone(), second.clone(), third, fourth]);
    // As for publishing, any message names the thread it is in.
    for named in [&first, &second] {
        for direction in ["forward", "backward"] {
            let params = json!({ "channelId": id, "threadId": named["id"], "pageSize": 2, "direction": direction });
            let mut found = pages(&world.runtime, &ann, &params).await;
            if direction == "backward" {
                found.reverse();
            }
            assert_eq!(found, thread, "{params}");
        }
    }
    let nobodys = json!({ "channelId": id, "threadId": "msg_nobody" });
    assert_eq!(pages(&world.runtime, &ann, &nobodys).await, Vec::<Value>::new());

    let elsewhere = channel(&world.runtime, &ann, &[]).await;
    let foreign = publish(&world.runtime, &ann, &elsewhere, "elsewhere").await;
    for fields in [
        json!({ "replyToId": "msg_nobody" }),
        json!({ "replyToId": "msg_0198c0de-0000-7000-8000-000000000000" }),
        json!({ "replyToId": foreign["id"] }),
        json!({ "threadId": foreign["id"] }),
        json!({ "replyToId": second["id"], "threadId": aside["id"] }),
    ] {
        let refused = reply(&world, &ann, &id, fields.clone()).await.expect_err(&fields.to_string());
        assert_eq!(refused.code, ErrorCode::InvalidParams, "{fields}");
    }
}

/// An id leads to its message by the time in it: many of one instant, hours apart, and a clock that was set back.
#[tokio::test]
async fn a_message_is_found_whatever_the_clock_did() {
    let world = World::new().await;
    let ann = member("ann");
    let id = channel(&world.runtime, &ann, &[]).await;
    let mut events = Vec::new();
    for round in 0..6 {
        for _ in 0..60 {
            events.push(publish(&world.runtime, &ann, &id, "x").await);
        }
        match round {
            1 => world.clock.set_back(Duration::from_secs(3_600)),
            3 => world.clock.advance(Duration::from_secs(10_000)),
            _ => world.clock.advance(Duration::from_millis(1)),
        }
    }
    let times: Vec<i64> = events.iter().map(|event| event["timestamp"].as_i64().unwrap()).collect();
    assert!(times.is_sorted(), "time never runs backwards within a channel");
    for event in events.iter().step_by(7) {
        let answer = reply(&world, &ann, &id, json!({ "replyToId": event["id"] })).await.unwrap();
        assert_eq!(answer["threadId"], event["id"]);
    }
}

/// As many as are published while a clock that was set back catches up.
#[tokio::test]
async fn a_message_is_found_among_any_number_of_the_same_millisecond() {
    const MESSAGES: usize = 10_600;
    let world = World::new().await;
    let ann = member("ann");
    let id = channel(&world.runtime, &ann, &[]).await;
    publish(&world.runtime, &ann, &id, "before").await;
    world.clock.advance(Duration::from_millis(1));
    let mut ids = Vec::with_capacity(MESSAGES);
    for _ in 0..MESSAGES {
        ids.push(publish(&world.runtime, &ann, &id, "x").await["id"].clone());
    }
    let find = async |message: &Value| {
        let answer = reply(&world, &ann, &id, json!({ "replyToId": message })).await.unwrap();
        assert_eq!(answer["threadId"], *message);
    };
    for at in [0, 255, 256, 300, MESSAGES / 2, 10_100, MESSAGES - 1] {
        find(&ids[at]).await;
    }
    world.clock.advance(Duration::from_millis(1));
    publish(&world.runtime, &ann, &id, "behind").await;
    find(&ids[10_200]).await;
    // Of that time, and not there.
    let nobodys = ids[0].as_str().unwrap().rsplit_once('-').map(|(most, _)| format!("{most}-000000000000"));
    let refused = reply(&world, &ann, &id, json!({ "replyToId": nobodys })).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidParams);
}

#[tokio::test]
async fn a_direct_channel_nobody_used_has_nothing_to_answer() {
    let world = World::new().await;
    let ann = member("ann");
    let params = json!({ "peer": "agent://bob", "parts": parts("x"), "replyToId": "msg_nobody" });
    assert_eq!(code(call(&world.runtime, &ann, "channels/publish", params).await), ErrorCode::InvalidParams);
    // And it still can be used.
    let params = json!({ "peer": "agent://bob", "parts": parts("x") });
    let event = call(&world.runtime, &ann, "channels/publish", params).await.unwrap()["event"].clone();
    assert_eq!(sequence(&event), 1);
}
