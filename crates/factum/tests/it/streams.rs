//! Connections that stay: subscriptions over WebSocket, gRPC and stdio, windows, and a reader that does not read.

use factum_api::grpc::proto::SubscribeRequest;
use factum_testkit::clients::{Grpc, Stdio};
use factum_testkit::{Client, Reader, eventually, within};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::*;

/// Event notifications of one subscription, up to and including a sequence.
async fn follow(next: impl AsyncFn() -> Option<Value>, last: u64) -> Vec<Value> {
    let mut events: Vec<Value> = Vec::new();
    while events.last().is_none_or(|event| event["sequence"].as_u64() < Some(last)) {
        let message = next().await.expect("the connection stays");
        assert_eq!(message["method"], "event", "{message}");
        events.push(message["params"]["event"].clone());
    }
    events
}

#[tokio::test]
async fn a_subscription_gives_the_same_events_from_any_sequence_on_every_transport() {
    let (_dir, server) = dev().await;
    let http = server.http(None);
    let session = submit(&http, "artifact: a report of some words").await;
    wait_for(&http, &session, "turn.completed", 1).await;
    let all = all_events(&http, &session).await;
    let last = all.len() as u64;
    let (ws, grpc) = (server.ws(None).await, server.grpc(None));
    let bridge = Stdio::spawn(BINARY, &["--url", &server.url("")], &[]);
    for after in 0..last {
        let rest = &all[after as usize..];
        let params = json!({ "session_id": session, "after": after });
        let subscribed = ws.call("subscribe", params.clone()).await.unwrap();
        assert_eq!(follow(async || ws.next().await, last).await, rest, "after {after}");
        ws.call("unsubscribe", json!({ "subscription_id": subscribed["subscription_id"] })).await.unwrap();
        bridge.call("subscribe", params).await.unwrap();
        assert_eq!(follow(async || bridge.next().await, last).await, rest, "after {after}");
        let request = SubscribeRequest { session_id: session.clone(), after, ..Default::default() };
        let mut stream = grpc.subscribe(request).await.unwrap();
        for expected in rest {
            let message = within("an event", stream.message()).await.unwrap().unwrap();
            assert_eq!(serde_json::from_str::<Value>(&message.event).unwrap(), *expected);
            assert_eq!(Some(message.sequence), expected["sequence"].as_u64());
        }
    }
}

#[tokio::test]
async fn a_window_holds_events_back_until_they_are_acknowledged() {
    let (_dir, server) = dev().await;
    let session = submit(&server.http(None), "one two three four five six").await;
    wait_for(&server.http(None), &session, "turn.completed", 1).await;
    let last = all_events(&server.http(None), &session).await.len() as u64;
    let ws = server.ws(None).await;
    let subscribed = ws.call("subscribe", json!({ "session_id": session, "window": 2 })).await.unwrap();
    let mut acknowledged = 0;
    while acknowledged < last {
        let upto = (acknowledged + 2).min(last);
        let events = follow(async || ws.next().await, upto).await;
        assert_eq!(events.len() as u64, upto - acknowledged);
        // Answers and events share one queue: had another event been sent, it would come before this answer.
        let answer = ws.call("list_sessions", json!({})).await;
        assert!(answer.is_ok());
        acknowledged = upto;
        let ack = json!({ "subscription_id": subscribed["subscription_id"], "sequence": acknowledged });
        assert_eq!(ws.call("ack_events", ack).await.unwrap()["acknowledged_sequence"], acknowledged);
    }
    let unknown = ws.call("unsubscribe", json!({ "subscription_id": "sub-99" })).await.unwrap_err();
    assert_eq!(unknown["code"], "not_found");
}

#[tokio::test]
async fn a_reader_that_does_not_read_disturbs_nobody_and_misses_nothing() {
    let (_dir, server) = dev().await;
    let http = server.http(None);
    let session = field(&http.call("create_session", json!({})).await.unwrap(), "session_id");
    let slow = Reader::session(&http, &session, None).await;
    let sleeping = server.ws(None).await;
    sleeping.call("subscribe", json!({ "session_id": session })).await.unwrap();
    // Far more than the sockets and the ring between the two hold.
    let large = "word ".repeat(4_000);
    for turn in 0..40 {
        let params = json!({ "session_id": session, "turn_id": format!("t{turn}"), "input": [{ "type": "text", "text": "hi" }, { "type": "data", "data": large }] });
        http.call("submit_turn", params).await.unwrap();
    }
    let mut quick = Reader::session(&http, &session, None).await;
    for _ in 0..40 {
        quick.wait_for("turn.completed").await;
    }
    let last = quick.seen.last().unwrap().sequence();
    let mut slow = slow;
    slow.read_to(last).await;
    assert_eq!(slow.seen, quick.seen);
    let events = follow(async || sleeping.next().await, last).await;
    assert_eq!(events, quick.seen.iter().map(|event| event.data.clone()).collect::<Vec<_>>());
}

/// A client that was cut off without a word does not answer pings either: its channel is not connected because of it.
#[tokio::test]
async fn a_client_that_answers_no_ping_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("factum.toml");
    std::fs::write(&config, "[server]\nheartbeat_ms = 200\n").unwrap();
    let server = launch(&dir).arg("--config").arg(config.display().to_string()).start().await;
    let http = server.http(None);
    let mut sockets = Vec::new();
    for channel in ["mute", "there"] {
        http.call("enroll_channel", json!({ "channel_id": channel, "peer_role": "client" })).await.unwrap();
        let url = format!("ws://{}/rpc", server.address());
        let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
        let subscribe =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": { "channel_id": channel } });
        socket.send(Message::text(subscribe.to_string())).await.unwrap();
        within("an answer", socket.next()).await.unwrap().unwrap();
        sockets.push(socket);
    }
    let mut there = sockets.pop().unwrap();
    let reads = tokio::spawn(async move { while there.next().await.is_some() {} });
    let state = async |channel: &str| {
        let shown = http.call("get_channel_summary", json!({ "channel_id": channel })).await.unwrap();
        field(&shown["channel"], "state")
    };
    eventually("the silent one to be missed", async || (state("mute").await == "disconnected").then_some(())).await;
    assert_eq!(state("there").await, "connected");
    assert!(!reads.is_finished(), "who answers pings stays");
}

#[tokio::test]
async fn a_drain_ends_streams_and_answers_what_is_under_way() {
    let (_dir, mut server) = dev().await;
    let session = submit(&server.http(None), "slow: never mind").await;
    let mut reader = Reader::session(&server.http(None), &session, None).await;
    reader.wait_for("model.delta").await;
    let ws = server.ws(None).await;
    let grpc = server.grpc(None);
    let channel = server.http(None).call("channels/create", json!({})).await.unwrap();
    let channel = json!({ "channelId": channel["channel"]["id"] }).to_string();
    let requests = [
        SubscribeRequest { session_id: session.clone(), ..Default::default() },
        SubscribeRequest { channel, ..Default::default() },
        SubscribeRequest::default(),
    ];
    let mut streams = Vec::new();
    for request in requests {
        streams.push(grpc.subscribe(request).await.unwrap());
    }
    server.term().await;
    within("the end of the stream", async { while reader.next().await.is_some() {} }).await;
    within("the end of the socket", async { while ws.next().await.is_some() {} }).await;
    for mut stream in streams {
        // Clients of gRPC try again by themselves where they are told that, and take a plain end for all there is.
        let end = within("the end of gRPC", async {
            loop {
                match stream.message().await {
                    Ok(Some(_)) => {}
                    end => break end,
                }
            }
        });
        let status = end.await.expect_err("a stream without an end ends with a word");
        let (error, code) = (Grpc::error(&status), status.code());
        assert_eq!((code, &error["code"]), (tonic::Code::Unavailable, &json!("unavailable")), "{status:?}");
    }
    server.restart().await;
    let mut rest = Reader::session(&server.http(None), &session, reader.last_id().as_deref()).await;
    rest.wait_for("model.delta").await;
    assert_eq!(rest.seen[0].sequence(), reader.seen.last().unwrap().sequence() + 1);
}
