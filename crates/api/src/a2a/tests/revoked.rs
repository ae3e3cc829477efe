//! Streams and connections whose credential is revoked while they are open: they end over every binding, idle or busy, at once,
//! and say why. No heartbeat is due in any of these tests.

use axum::body::BodyDataStream;
use factum_model::commands::{CreateApiKey, RevokeApiKey};
use factum_model::id::KeyId;
use factum_model::registry::Scopes;
use factum_runtime::Caller;
use futures::StreamExt;
use tokio::time::timeout;
use tonic::Request as Call;

use super::grpc::{Grpc, send, subscribe};
use super::*;

const LONG: Duration = Duration::from_secs(20);

/// One task says nothing after its first updates, the other does not stop.
const TASKS: [&str; 2] = ["hangs", "busy"];

/// A server that lets in who has a key.
async fn world() -> World {
    World::with(A2aOptions::default(), NEVER, false).await
}

fn admin() -> Caller {
    Caller::new("agent://admin", "acme", Scopes::admin())
}

/// A key's id, and what it looks like in a header.
async fn key(world: &World) -> (KeyId, String) {
    let command = CreateApiKey {
        principal: "agent://client".to_owned(),
        scopes: Some(Scopes::member()),
        name: None,
        expires_at: None,
        idempotency_key: None,
    };
    let created = world.state.runtime.call(&admin(), command).await.unwrap();
    (created.key_id, format!("Bearer {}", created.key.unwrap()))
}

async fn revoke(world: &World, key_id: KeyId) {
    let command = RevokeApiKey { key_id, reason: None, idempotency_key: None };
    world.state.runtime.call(&admin(), command).await.unwrap();
}

async fn open(world: &World, path: &str, body: Option<Value>, bearer: &str) -> BodyDataStream {
    let request = Request::post(path).header("a2a-version", "1.0").header("authorization", bearer);
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    let response = world.send(request.body(body).unwrap()).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream", "{path}");
    response.into_body().into_data_stream()
}

/// The last thing a stream says, if it ends. Gives way between two items: a stream that never stops must not keep the clock from
/// being seen.
async fn last<T>(mut items: impl futures::Stream<Item = T> + Unpin) -> Option<T> {
    let rest = async {
        let mut last = None;
        while let Some(item) = items.next().await {
            last = Some(item);
            tokio::task::yield_now().await;
        }
        last
    };
    timeout(LONG, rest).await.expect("it goes on with a key that was revoked")
}

/// The last event of a body.
async fn last_event(frames: BodyDataStream) -> String {
    let frame = last(frames).await.expect("an event").unwrap();
    String::from_utf8(frame.to_vec()).unwrap()
}

#[tokio::test]
async fn server_sent_events_of_tasks_end() {
    let world = world().await;
    for task in TASKS {
        let rpc = |method: &str, params| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let openings = [
            ("/a2a".to_owned(), Some(rpc("SendStreamingMessage", message(task)))),
            ("/a2a".to_owned(), Some(rpc("SubscribeToTask", json!({ "id": task })))),
            ("/a2a/message:stream".to_owned(), Some(message(task))),
            (format!("/a2a/tasks/{task}:subscribe"), None),
        ];
        for (path, body) in openings {
            let (key_id, bearer) = key(&world).await;
            let shown = format!("{path} {body:?}");
            let mut frames = open(&world, &path, body, &bearer).await;
            assert!(timeout(LONG, frames.next()).await.unwrap().is_some(), "{shown}");
            revoke(&world, key_id).await;
            let event = last_event(frames).await;
            assert!(event.contains("a valid credential is needed"), "{shown}: {event}");
        }
    }
}

/// The caller's own channel, session and feed, with nothing going on in them.
#[tokio::test]
async fn idle_server_sent_events_end() {
    let world = world().await;
    let client = Caller::new("agent://client", "acme", Scopes::member());
    let call = async |method: &str, params: Value| -> Value {
        let answer = world.state.runtime.call_by_name(&client, method, &params.to_string()).await.unwrap();
        serde_json::from_str(answer.get()).unwrap()
    };
    let channel = call("channels/create", json!({})).await["channel"]["id"].clone();
    let session = call("create_session", json!({})).await["session_id"].clone();
    let rpc = json!({ "jsonrpc": "2.0", "id": 7, "method": "channels/stream",
        "params": { "channelId": channel, "heartbeatIntervalMs": 60_000 } });
    let get = |path: String| Request::get(path).header("accept", "text/event-stream");
    let openings = [
        (Request::post("/a2a"), Body::from(rpc.to_string())),
        (Request::post("/v1/channels/stream"), Body::from(json!({ "channelId": channel }).to_string())),
        (get(format!("/v1/channels/{}/events", channel.as_str().unwrap())), Body::empty()),
        (get(format!("/v1/sessions/{}/events?after=1", session.as_str().unwrap())), Body::empty()),
        (get("/v1/feed".to_owned()), Body::empty()),
    ];
    for (request, body) in openings {
        let (key_id, bearer) = key(&world).await;
        let request = request.header("authorization", bearer).body(body).unwrap();
        let shown = request.uri().to_string();
        let response = world.send(request).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream", "{shown}");
        let mut frames = response.into_body().into_data_stream();
        assert!(timeout(LONG, frames.next()).await.unwrap().is_some(), "{shown}: the greeting");
        let waits = tokio::spawn(last_event(frames));
        // Somebody else's key is none of its business.
        let (other, _) = key(&world).await;
        revoke(&world, other).await;
        tokio::task::yield_now().await;
        assert!(!waits.is_finished(), "{shown}");
        revoke(&world, key_id).await;
        let event = waits.await.unwrap();
        assert!(event.contains("unauthenticated"), "{shown}: {event}");
        let framed = if shown == "/a2a" { "\"id\":7" } else { "event: error\n" };
        assert!(event.contains(framed), "{shown}: {event}");
    }
}

/// What is published once the key is revoked does not come, however soon.
#[tokio::test]
async fn nothing_comes_behind_the_revocation() {
    let world = world().await;
    let client = Caller::new("agent://client", "acme", Scopes::member());
    let call = async |method: &str, params: Value| -> Value {
        let answer = world.state.runtime.call_by_name(&client, method, &params.to_string()).await.unwrap();
        serde_json::from_str(answer.get()).unwrap()
    };
    let channel = call("channels/create", json!({})).await["channel"]["id"].clone();
    let publish =
        async |text: &str| call("channels/publish", json!({ "channelId": channel, "parts": [{ "text": text }] })).await;
    for _ in 0..20 {
        let (key_id, bearer) = key(&world).await;
        let mut frames = open(&world, "/v1/channels/stream", Some(json!({ "channelId": channel })), &bearer).await;
        timeout(LONG, frames.next()).await.unwrap().unwrap().unwrap();
        publish("before").await;
        let frame = timeout(LONG, frames.next()).await.unwrap().unwrap().unwrap();
        assert!(String::from_utf8_lossy(&frame).contains("before"));
        revoke(&world, key_id).await;
        publish("behind").await;
        let event = last_event(frames).await;
        assert!(event.contains("unauthenticated") && !event.contains("behind"), "{event}");
    }
}

#[tokio::test]
async fn grpc_ends() {
    let world = world().await;
    let mut grpc = Grpc::start(&world).await;
    for task in TASKS {
        let (key_id, bearer) = key(&world).await;
        let mut sending = Call::new(send(task));
        let mut subscribing = Call::new(subscribe(task));
        sending.metadata_mut().insert("authorization", bearer.parse().unwrap());
        subscribing.metadata_mut().insert("authorization", bearer.parse().unwrap());
        let sent = grpc.client.send_streaming_message(sending).await.unwrap().into_inner();
        let subscribed = grpc.client.subscribe_to_task(subscribing).await.unwrap().into_inner();
        let mut streams = [sent, subscribed];
        for stream in &mut streams {
            assert!(timeout(LONG, stream.message()).await.unwrap().unwrap().is_some(), "{task}");
        }
        revoke(&world, key_id).await;
        for stream in streams {
            let status = last(stream).await.expect("a status").unwrap_err();
            assert_eq!(status.code(), tonic::Code::Unauthenticated, "{task}");
        }
    }
}

#[tokio::test]
async fn subscriptions_over_grpc_end() {
    use crate::grpc::proto::SubscribeRequest;
    use crate::grpc::proto::runtime_client::RuntimeClient;
    let world = world().await;
    let grpc = Grpc::start(&world).await;
    let mut runtime = RuntimeClient::connect(grpc.url.clone()).await.unwrap();
    let (key_id, bearer) = key(&world).await;
    let mut feed = Call::new(SubscribeRequest::default());
    feed.metadata_mut().insert("authorization", bearer.parse().unwrap());
    let stream = runtime.subscribe(feed).await.unwrap().into_inner();
    revoke(&world, key_id).await;
    assert_eq!(last(stream).await.expect("a status").unwrap_err().code(), tonic::Code::Unauthenticated);
}
