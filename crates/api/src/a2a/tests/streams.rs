//! Streams over server-sent events: what they hold, where they go on, how they end.

use futures::StreamExt;
use tokio::time::timeout;

use super::*;

async fn stream(world: &World, headers: &[(&str, &str)], method: &str, params: Value) -> Answer {
    let body = json!({ "jsonrpc": "2.0", "id": "s", "method": method, "params": params });
    let answer = world.ask("POST", "/a2a", headers, Some(&body)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer
}

#[tokio::test]
async fn each_item_is_an_answer_to_the_request() {
    let world = World::open().await;
    let answer = stream(&world, &[("a2a-version", "1.0")], "SendStreamingMessage", message("hi")).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert!(answer.text.starts_with("retry: 1000\nid: 1\ndata: "), "no event without data: {:?}", answer.text);
    let events = answer.events();
    assert_eq!(events.iter().map(|(id, _)| id.unwrap()).collect::<Vec<_>>(), ["1", "2", "3", "4"]);
    let task = json!({ "id": "t", "contextId": "c", "status": { "state": "TASK_STATE_SUBMITTED" } });
    assert_eq!(events[0].1, json!({ "jsonrpc": "2.0", "id": "s", "result": { "task": task } }));
    let last = json!({ "taskId": "t", "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" } });
    assert_eq!(events[3].1["result"], json!({ "statusUpdate": last }));
}

#[tokio::test]
async fn older_versions_get_their_own_items() {
    let world = World::open().await;
    let message = json!({ "messageId": "m", "role": "user", "parts": [{ "kind": "text", "text": "hi" }] });
    let v0_3 = stream(&world, &[], "message/stream", json!({ "message": message })).await;
    let kinds: Vec<_> = v0_3.events().iter().map(|(_, event)| event["result"]["kind"].clone()).collect();
    assert_eq!(kinds, ["task", "status-update", "artifact-update", "status-update"]);
    assert_eq!(v0_3.events()[3].1["result"]["final"], true);

    let params = json!({ "id": "mine", "message": { "role": "user", "parts": [{ "type": "text", "text": "hi" }] } });
    let april = stream(&world, &[], "tasks/sendSubscribe", params).await;
    let results: Vec<Value> = april.events().into_iter().map(|(_, event)| event["result"].clone()).collect();
    let expected = [
        json!({ "id": "mine", "status": { "state": "submitted" }, "final": false }),
        json!({ "id": "mine", "status": { "state": "working" }, "final": false }),
        json!({ "id": "mine", "artifact": { "index": 0, "lastChunk": true, "parts": [{ "type": "text", "text": "x" }] } }),
        json!({ "id": "mine", "status": { "state": "completed" }, "final": true }),
    ];
    assert_eq!(results, expected);
}

#[tokio::test]
async fn a_subscription_goes_on_behind_what_was_seen() {
    let world = World::open().await;
    let table = [
        ("1.0", "SubscribeToTask", None, vec!["1", "2", "3", "4"]),
        ("1.0", "SubscribeToTask", Some("2"), vec!["1", "3", "4"]),
        ("0.3", "tasks/resubscribe", Some("3"), vec!["1", "4"]),
    ];
    for (version, method, seen, ids) in table {
        let mut headers = vec![("a2a-version", version)];
        headers.extend(seen.map(|seen| ("last-event-id", seen)));
        let answer = stream(&world, &headers, method, json!({ "id": "t" })).await;
        assert_eq!(answer.events().iter().map(|(id, _)| id.unwrap()).collect::<Vec<_>>(), ids, "{seen:?}");
        let after = seen.map(|seen| seen.parse::<u64>().unwrap());
        assert_eq!(world.fake.asked(), [json!({ "operation": "subscribe", "request": { "id": "t" }, "after": after })]);
    }
    let bad = stream(&world, &[("last-event-id", "x")], "SubscribeToTask", json!({ "id": "t" })).await;
    assert_eq!(bad.json()["error"]["code"], -32602, "{}", bad.text);
}

#[tokio::test]
async fn what_fails_before_is_an_answer_and_what_fails_after_the_last_event() {
    let world = World::open().await;
    let refused = stream(&world, &[], "SubscribeToTask", json!({ "id": "error:-32004" })).await;
    assert_eq!(
        (refused.header("content-type"), &refused.json()["error"]["code"]),
        (Some("application/json"), &json!(-32004))
    );

    let broken = stream(&world, &[], "SendStreamingMessage", message("breaks")).await;
    let events = broken.events();
    assert_eq!(events.len(), 3);
    let (id, last) = &events[2];
    assert_eq!((id, &last["id"], &last["error"]["code"]), (&None, &json!("s"), &json!(-32603)));
    assert_eq!(last["error"]["data"][0]["reason"], "INTERNAL_ERROR");

    let plain = world.ask("POST", "/a2a/message:stream", &[], Some(&message("breaks"))).await;
    assert!(plain.text.contains("event: error\ndata: "), "{}", plain.text);
    assert_eq!(plain.events()[2].1["error"]["status"], "INTERNAL");
}

/// Older clients stop reading at an item that is `final`, so nothing may come behind it; 1.0 has no such item and goes on.
#[tokio::test]
async fn a_subscription_ends_with_what_is_final_where_there_is_such_a_thing() {
    let world = World::with(A2aOptions::default(), Duration::from_millis(20), true).await;
    let rpc = json!({ "jsonrpc": "2.0", "id": "s", "method": "tasks/resubscribe", "params": { "id": "asks" } });
    for (version, uri, body) in [
        ("0.3", "/a2a", Some(&rpc)),
        // 0.3 and April 2025 in one.
        ("", "/a2a", Some(&rpc)),
        ("0.3", "/a2a/v1/tasks/asks:subscribe", None),
    ] {
        let headers: &[(&str, &str)] = if version.is_empty() { &[] } else { &[("a2a-version", version)] };
        let method = if body.is_some() { "POST" } else { "GET" };
        let answer = timeout(Duration::from_secs(20), world.ask(method, uri, headers, body)).await;
        let answer = answer.expect("an end");
        let events = answer.events();
        let last = &events.last().expect("events").1;
        let last = last.get("result").unwrap_or(&last["statusUpdate"]);
        assert_eq!((events.len(), &last["final"]), (4, &json!(true)), "{version} {uri}");
    }
    let request = Request::get("/a2a/tasks/asks:subscribe").header("a2a-version", "1.0").body(Body::empty()).unwrap();
    let mut frames = world.send(request).await.into_body().into_data_stream();
    let mut next = async || timeout(Duration::from_secs(20), frames.next()).await.unwrap();
    for _ in 0..4 {
        assert!(next().await.unwrap().unwrap().ends_with(b"\n\n"));
    }
    assert_eq!(&next().await.unwrap().unwrap()[..], b": heartbeat\n");
}

/// A stream that says nothing says that it is alive, and ends when the server does.
#[tokio::test]
async fn an_idle_stream_beats_and_ends_with_the_server() {
    let world = World::with(A2aOptions::default(), Duration::from_millis(20), true).await;
    let request = Request::post("/a2a/tasks/hangs:subscribe").body(Body::empty()).unwrap();
    let mut frames = world.send(request).await.into_body().into_data_stream();
    let mut next = async || timeout(Duration::from_secs(20), frames.next()).await.unwrap();
    for _ in 0..4 {
        assert!(next().await.unwrap().unwrap().ends_with(b"\n\n"));
    }
    assert_eq!(&next().await.unwrap().unwrap()[..], b": heartbeat\n");
    world.state.runtime.begin_close();
    let ended = async { while next().await.is_some() {} };
    ended.await;
}
