//! Streams of a task whose credential is revoked while they are open: they end over every binding, idle or busy.

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

/// Short, so that a credential is looked at again soon.
const HEARTBEAT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(20);

/// One task says nothing after its first updates, the other does not stop.
const TASKS: [&str; 2] = ["hangs", "busy"];

/// A server that lets in who has a key.
async fn world() -> World {
    World::with(A2aOptions::default(), HEARTBEAT, false).await
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

/// Whether a stream ends. Gives way between two items: a stream that never stops must not keep the clock from being seen.
async fn ends(mut items: impl futures::Stream + Unpin) -> bool {
    let rest = async {
        while items.next().await.is_some() {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, rest).await.is_ok()
}

#[tokio::test]
async fn server_sent_events_end() {
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
            // More than the updates there are: a stream whose credential is good goes on.
            for _ in 0..8 {
                assert!(timeout(LONG, frames.next()).await.unwrap().is_some(), "{shown}");
            }
            revoke(&world, key_id).await;
            assert!(ends(frames).await, "{shown} goes on with a key that was revoked");
        }
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
            for _ in 0..4 {
                assert!(timeout(LONG, stream.message()).await.unwrap().unwrap().is_some(), "{task}");
            }
        }
        revoke(&world, key_id).await;
        for stream in streams {
            assert!(ends(stream).await, "{task} goes on with a key that was revoked");
        }
    }
}
