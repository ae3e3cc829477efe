//! Seed 002 §10: for who may not know of a channel, it and one that never was give the same bytes: every method, every
//! transport, every reason.

use factum_api::grpc::proto::SubscribeRequest;
use factum_model::commands::COMMANDS;
use factum_testkit::clients::{Grpc, Http, Stdio, WebSocket};
use factum_testkit::{Client, Server, within};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tonic::Status;

use super::*;
use crate::support::{BINARY, dev};

/// What is asked about a channel, valid and not. The id is put in later.
fn asks() -> Vec<(&'static str, Value)> {
    let key = "the same key for both";
    vec![
        ("channels/get", json!({})),
        ("channels/update", json!({ "expectedVersion": 1, "name": "mine" })),
        ("channels/update", json!({ "expectedVersion": 99, "idempotencyKey": key })),
        ("channels/update", json!({ "expectedVersion": 1, "name": "x".repeat(200) })),
        ("channels/delete", json!({})),
        ("channels/delete", json!({ "idempotencyKey": key })),
        ("channels/addMember", json!({ "principalId": "agent://eve" })),
        ("channels/addMember", json!({ "principalId": "agent://eve", "role": "owner", "idempotencyKey": key })),
        ("channels/removeMember", json!({ "principalId": "agent://ann" })),
        ("channels/removeMember", json!({ "principalId": "agent://nobody" })),
        ("channels/removeMember", json!({ "principalId": "agent://bob", "idempotencyKey": key })),
        ("channels/publish", json!({ "parts": text("x") })),
        ("channels/publish", json!({ "parts": text("x"), "idempotencyKey": "hers" })),
        ("channels/publish", json!({ "parts": [] })),
        ("channels/publish", json!({ "parts": vec![json!({ "text": "x" }); 40] })),
        ("channels/publish", json!({ "parts": text("x"), "replyToId": "msg_0198c0de-0000-7000-8000-000000000000" })),
        ("channels/history", json!({})),
        ("channels/history", json!({ "pageToken": "forged", "direction": "backward" })),
        ("channels/history", json!({ "sinceSequence": 1, "sinceTimestamp": 1 })),
        ("channels/history", json!({ "sinceTimestamp": 0, "authorIds": ["agent://ann"] })),
        ("channels/markRead", json!({ "sequence": 1 })),
        ("channels/presence", json!({})),
        ("channels/audit", json!({})),
        ("channels/stream", json!({})),
        ("channels/stream", json!({ "sinceSequence": 0, "controlEvents": true, "presence": true })),
        ("channels/stream", json!({ "sinceSequence": 999, "heartbeatIntervalMs": 100 })),
    ]
}

/// Every way to ask, as one caller. Each gives everything of the answer that a client can see, but the date.
struct Ways {
    http: Http,
    ws: WebSocket,
    stdio: Stdio,
    grpc: Grpc,
}

impl Ways {
    async fn open(server: &Server, token: &str) -> Self {
        Self {
            http: server.http(Some(token)),
            ws: server.ws(Some(token)).await,
            stdio: Stdio::spawn(BINARY, &["--url", &server.url("")], &[("FACTUM_TOKEN", token)]),
            grpc: server.grpc(Some(token)),
        }
    }

    async fn answers(&self, method: &str, params: &Value) -> Vec<(&'static str, String)> {
        let id = params["channelId"].as_str().unwrap();
        let body = json!({ "jsonrpc": "2.0", "id": "fixed", "method": method, "params": params }).to_string();
        let post = |path: &str, body: String| self.http.request(Method::POST, path).body(body);
        let mut answers = vec![
            ("a2a", whole(post("/a2a", body.clone())).await),
            ("a2a 1.0", whole(post("/a2a", body.clone()).header("a2a-version", "1.0")).await),
            ("a2a batch", whole(post("/a2a", format!("[{body}]"))).await),
            ("http", whole(post(&format!("/v1/{method}"), params.to_string())).await),
            ("rpc", whole(post("/rpc", body.clone())).await),
        ];
        self.ws.send(body.clone());
        answers.push(("websocket", within("an answer", self.ws.next()).await.unwrap().to_string()));
        self.stdio.send(body);
        answers.push(("stdio", within("an answer", self.stdio.next()).await.unwrap().to_string()));
        if method == "channels/stream" {
            let events = self.http.get(&format!("/v1/channels/{id}/events")).header("accept", "text/event-stream");
            answers.push(("events", whole(events).await));
            let request = SubscribeRequest { channel: params.to_string(), ..Default::default() };
            answers.push(("grpc", seen(&self.grpc.subscribe(request).await.expect_err("no stream"))));
        } else {
            answers.push(("grpc", seen(&self.grpc.raw(method, &params.to_string()).await.expect_err(method))));
        }
        answers
    }
}

/// Status, headers but the date, and body.
async fn whole(request: RequestBuilder) -> String {
    let response = within("an answer", request.send()).await.unwrap();
    let media_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    assert_ne!(media_type, "text/event-stream", "a stream was opened");
    let headers: Vec<String> =
        response.headers().iter().filter(|(name, _)| *name != "date").map(|line| format!("{line:?}")).collect();
    format!("{} {headers:?} {}", response.status(), response.text().await.unwrap())
}

fn seen(status: &Status) -> String {
    let mut metadata = status.metadata().clone().into_headers();
    metadata.remove("date");
    format!("{:?} {} {:?} {metadata:?}", status.code(), status.message(), status.details())
}

const ABSENT: &str = "chan_0198c0de-0000-7000-8000-000000000000";
const ABSENT_DIRECT: &str = "chan:direct:000000000000000000000000";

/// Asks everything about both, and compares.
async fn check(server: &Server, token: &str, there: &str, absent: &str) {
    assert_eq!(there.len(), absent.len());
    let ways = Ways::open(server, token).await;
    for (method, params) in asks() {
        let about = |id: &str| {
            let mut params = params.clone();
            params["channelId"] = json!(id);
            params
        };
        let (of_there, of_absent) =
            (ways.answers(method, &about(there)).await, ways.answers(method, &about(absent)).await);
        for ((way, found), (_, expected)) in of_there.iter().zip(&of_absent) {
            assert_eq!(found, expected, "{method} {params} over {way} as {token} about {there}");
            let said = if method == "channels/audit" { "permission_denied" } else { "not_found" };
            let not_a_stream = method == "channels/stream" && matches!(*way, "rpc" | "a2a batch");
            let mutually_exclusive = params.get("sinceSequence").is_some() && params.get("sinceTimestamp").is_some();
            let told = found.contains(said) || found.contains("NotFound") || found.contains("PermissionDenied");
            assert!(told || not_a_stream || mutually_exclusive, "{method} {params} over {way}: {found}");
        }
    }
}

/// A server, and Ann's channels: private with Bob, public, direct with Bob, and a deleted one.
async fn server_with_channels() -> (tempfile::TempDir, Server, [String; 4]) {
    let (dir, server) = dev().await;
    let ann = server.http(Some(ANN));
    let private = channel_with_bob(&ann).await;
    let public = create(&ann, json!({ "visibility": "public" })).await;
    let deleted = channel_with_bob(&ann).await;
    for channel in [&private, &deleted] {
        publish(&ann, channel, "a secret").await;
    }
    publish(&ann, &public, "for all").await;
    let params = json!({ "peer": "agent://bob", "parts": text("a secret") });
    let direct = ann.call("channels/publish", params).await.unwrap();
    ann.call("channels/delete", json!({ "channelId": deleted })).await.unwrap();
    (dir, server, [private, public, field(&direct["event"], "channelId"), deleted])
}

#[test]
fn every_command_about_a_channel_is_asked() {
    let asked: Vec<&str> = asks().iter().map(|(method, _)| *method).collect();
    for info in COMMANDS.iter().filter(|info| info.name.starts_with("channels/")) {
        let of_no_channel = matches!(info.name, "channels/create" | "channels/list");
        assert!(of_no_channel || asked.contains(&info.name), "say in asks() what {} is asked", info.name);
    }
}

#[tokio::test]
async fn a_private_channel_does_not_exist_for_outsiders() {
    let (_dir, server, [private, _, direct, _]) = server_with_channels().await;
    let ann = server.http(Some(ANN));
    let look = async |id: &str| ann.call("channels/get", json!({ "channelId": id })).await.unwrap();
    let before = (look(&private).await, look(&direct).await);
    check(&server, EVE, &private, ABSENT).await;
    check(&server, EVE, &direct, ABSENT_DIRECT).await;
    assert_eq!((look(&private).await, look(&direct).await), before, "Eve changed nothing");
}

#[tokio::test]
async fn another_account_has_none_of_them() {
    let (_dir, server, [private, public, direct, _]) = server_with_channels().await;
    for token in ["dev:agent://eve@other", "dev:agent://ann@other"] {
        check(&server, token, &private, ABSENT).await;
        check(&server, token, &public, ABSENT).await;
    }
    check(&server, "dev:agent://ann@other", &direct, ABSENT_DIRECT).await;
}

#[tokio::test]
async fn a_deleted_channel_never_was() {
    let (_dir, server, [_, public, _, deleted]) = server_with_channels().await;
    check(&server, EVE, &deleted, ABSENT).await;
    check(&server, ANN, &deleted, ABSENT).await;
    // Readers of a public channel knew of it.
    let eve = server.http(Some(EVE));
    eve.call("channels/get", json!({ "channelId": public })).await.unwrap();
    server.http(Some(ANN)).call("channels/delete", json!({ "channelId": public })).await.unwrap();
    check(&server, EVE, &public, ABSENT).await;
}

#[tokio::test]
async fn who_was_taken_out_is_an_outsider() {
    let (_dir, server, [private, ..]) = server_with_channels().await;
    let bob = server.http(Some(BOB));
    publish(&bob, &private, "still here").await;
    // A key that was his says no more than one that never was anybody's, whatever is asked with it now.
    let read = json!({ "channelId": private, "sequence": 1, "idempotencyKey": "the same key for both" });
    bob.call("channels/markRead", read).await.unwrap();
    let params = json!({ "channelId": private, "principalId": "agent://bob" });
    server.http(Some(ANN)).call("channels/removeMember", params).await.unwrap();
    check(&server, BOB, &private, ABSENT).await;
}

/// What Eve can list and be told of is nothing, before and after a channel is made.
#[tokio::test]
async fn lists_show_nothing_of_private_channels() {
    let (_dir, server, [_, public, ..]) = server_with_channels().await;
    let ids = async |token: &str| {
        let list = server.http(Some(token)).call("channels/list", json!({})).await.unwrap();
        list["channels"].as_array().unwrap().iter().map(|channel| field(channel, "id")).collect::<Vec<_>>()
    };
    assert_eq!(ids(EVE).await, [public]);
    assert_eq!(ids("dev:agent://ann@other").await, Vec::<String>::new());
    for outsider in [EVE, "dev:agent://ann@other"] {
        let feed = server.http(Some(outsider)).json("/v1/feed").await;
        assert!(!feed.to_string().contains("a secret"), "{feed}");
        assert_eq!(feed.to_string().contains("for all"), outsider == EVE, "{feed}");
    }
    let feed = server.http(Some(ANN)).json("/v1/feed").await;
    assert!(feed.to_string().contains("a secret"), "{feed}");
}
