//! The same calls about channels over every transport, and the transcripts compared whole with a runtime in this process.

use factum_runtime::Agents;
use factum_testkit::clients::{Local, Stdio};
use factum_testkit::{Server, normalise};

use super::*;
use crate::support::{BINARY, dev};

/// Calls, and writes down what came of it.
async fn note(client: &dyn Client, transcript: &mut Vec<Value>, method: &str, params: Value) -> Value {
    let (word, value) = match client.call(method, params.clone()).await {
        Ok(value) => ("ok", value),
        Err(value) => ("refused", value),
    };
    transcript.push(json!({ "method": method, "params": params, word: value }));
    value
}

async fn transcript(client: &dyn Client) -> Value {
    let mut transcript = Vec::new();
    let mut call = async |method: &str, params: Value| note(client, &mut transcript, method, params).await;
    let create = json!({ "name": "all", "metadata": { "b": 1, "a": [null] }, "members": [{ "principalId": "agent://bob", "role": "moderator" }], "idempotencyKey": "c" });
    let id = call("channels/create", create.clone()).await["channel"]["id"].clone();
    call("channels/create", create).await;
    call("channels/create", json!({ "name": "other", "idempotencyKey": "c" })).await;
    call(
        "channels/create",
        json!({ "visibility": "public", "members": [{ "principalId": "agent://local", "role": "member" }] }),
    )
    .await;
    for number in 0..5 {
        let key = (number % 2 == 0).then(|| number.to_string());
        let parts = json!([{ "type": "text", "text": "a" }, { "data": { "n": number } }]);
        call(
            "channels/publish",
            json!({ "channelId": id, "parts": parts, "idempotencyKey": key, "metadata": { "n": number } }),
        )
        .await;
    }
    let first = call("channels/publish", json!({ "channelId": id, "parts": text("root"), "taskRefs": ["t"] })).await["event"]["id"].clone();
    call("channels/publish", json!({ "channelId": id, "parts": text("reply"), "replyToId": first })).await;
    call("channels/publish", json!({ "channelId": id, "parts": text("other"), "idempotencyKey": "0" })).await;
    for params in [
        json!({}),
        json!({ "pageSize": 2 }),
        json!({ "sinceSequence": 4 }),
        json!({ "direction": "backward", "pageSize": 3 }),
        json!({ "threadId": first }),
        json!({ "authorIds": [] }),
        json!({ "sinceSequence": 1, "sinceTimestamp": 2 }),
    ] {
        let mut params = params;
        params["channelId"] = id.clone();
        call("channels/history", params).await;
    }
    call("channels/addMember", json!({ "channelId": id, "principalId": "agent://cat" })).await;
    call("channels/addMember", json!({ "channelId": id, "principalId": "agent://cat", "role": "owner" })).await;
    call("channels/removeMember", json!({ "channelId": id, "principalId": "agent://bob" })).await;
    call("channels/removeMember", json!({ "channelId": id, "principalId": "agent://bob" })).await;
    call("channels/update", json!({ "channelId": id, "expectedVersion": 1, "name": "late" })).await;
    call("channels/update", json!({ "channelId": id, "expectedVersion": 4, "name": "new", "metadataPatch": { "set": { "c": {} }, "remove": ["a"] } })).await;
    call("channels/markRead", json!({ "channelId": id, "sequence": 3 })).await;
    call("channels/markRead", json!({ "peer": "agent://bob", "sequence": 3 })).await;
    call("channels/publish", json!({ "peer": "agent://bob", "parts": text("hi") })).await;
    call("channels/get", json!({ "peer": "agent://bob" })).await;
    call("channels/delete", json!({ "channelId": "chan:direct:5cce2b5d5a1c4e1a0f0f5f0e" })).await;
    call("channels/get", json!({ "channelId": id })).await;
    call("channels/presence", json!({ "channelId": id })).await;
    call("channels/list", json!({})).await;
    call("channels/list", json!({ "visibility": "public", "pageSize": -1 })).await;
    call("channels/audit", json!({ "channelId": id })).await;
    for bad in [
        json!({}),
        json!({ "channelId": id, "peer": "x" }),
        json!({ "channelId": 7 }),
        json!({ "channelId": "a b" }),
        json!({ "peer": "agent://local" }),
        json!({ "channelId": "chan_nobody" }),
    ] {
        for method in [
            "channels/get",
            "channels/history",
            "channels/publish",
            "channels/markRead",
            "channels/presence",
            "channels/update",
            "channels/delete",
            "channels/addMember",
            "channels/removeMember",
        ] {
            call(method, bad.clone()).await;
        }
    }
    call("channels/delete", json!({ "channelId": id })).await;
    call("channels/get", json!({ "channelId": id })).await;
    call("channels/audit", json!({})).await;
    normalise(&Value::Array(transcript))
}

async fn check(client: &dyn Client) {
    let dir = tempfile::tempdir().unwrap();
    let reference = Local::in_memory(Agents::demo(), dir.path()).await;
    let (expected, found) = tokio::join!(transcript(&reference), transcript(client));
    for (expected, found) in expected.as_array().unwrap().iter().zip(found.as_array().unwrap()) {
        assert_eq!(found, expected, "over {}", client.name());
    }
}

async fn over<C: Client>(open: impl AsyncFnOnce(&Server) -> C) {
    let (_dir, server) = dev().await;
    check(&open(&server).await).await;
}

#[tokio::test]
async fn a2a() {
    over(async |server| server.a2a(None)).await;
}

#[tokio::test]
async fn plain_http() {
    over(async |server| server.http(None)).await;
}

#[tokio::test]
async fn json_rpc_over_http() {
    over(async |server| server.rpc(None)).await;
}

#[tokio::test]
async fn json_rpc_over_websocket() {
    over(async |server| server.ws(None).await).await;
}

#[tokio::test]
async fn grpc() {
    over(async |server| server.grpc(None)).await;
}

#[tokio::test]
async fn stdio_of_a_server() {
    over(async |server| Stdio::spawn(BINARY, &["--url", &server.url("")], &[])).await;
}

#[tokio::test]
async fn stdio_of_a_runtime_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    check(&Stdio::spawn(BINARY, &["--data-dir", dir.path().join("data").to_str().unwrap()], &[])).await;
}
