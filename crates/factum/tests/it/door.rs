//! At the door: what is refused there comes back under its own id, every call of a batch counts, and how deep params may be
//! does not depend on the way they came. Nor does it matter whether HTTP/1.1 or HTTP/2 says whom a request is for.

use base64::Engine;
use factum_testkit::{Client, Server, within};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::Message;

use crate::access::serve;
use crate::support::*;

/// A server that takes five requests of a principal, and then hardly any.
async fn hurried() -> (TempDir, Server) {
    let dir = tempfile::tempdir().unwrap();
    let server =
        launch(&dir).env("FACTUM_LIMITS_REQUESTS_PER_SECOND", 1).env("FACTUM_LIMITS_REQUESTS_BURST", 5).start().await;
    (dir, server)
}

fn call(id: &Value, method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} })
}

async fn post(server: &Server, path: &str, who: &str, body: &Value) -> (u16, Value) {
    let request = reqwest::Client::new().post(server.url(path)).bearer_auth(who).body(body.to_string());
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() })
}

#[tokio::test]
async fn a_request_over_the_rate_is_refused_under_its_own_id() {
    let (_dir, server) = hurried().await;
    let (mut ws, _) = tokio_tungstenite::connect_async(format!("ws://{}/rpc", server.address())).await.unwrap();
    for id in 100..110 {
        ws.send(Message::text(call(&json!(id), "list_sessions").to_string())).await.unwrap();
    }
    // One that wants no answer gets none, refused or not.
    ws.send(Message::text(r#"{"jsonrpc":"2.0","method":"list_sessions"}"#)).await.unwrap();
    ws.send(Message::text(call(&json!("last"), "list_sessions").to_string())).await.unwrap();
    let (mut ids, mut limited) = (Vec::new(), 0);
    for _ in 0..11 {
        let message = within("an answer", ws.next()).await.unwrap().unwrap();
        let answer: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
        limited += usize::from(answer["error"]["data"]["code"] == "rate_limited");
        ids.push(answer["id"].to_string());
    }
    ids.sort();
    let mut expected: Vec<String> = (100..110).map(|id| id.to_string()).chain(["\"last\"".to_owned()]).collect();
    expected.sort();
    assert_eq!(ids, expected);
    assert!(limited > 0, "nobody was too fast");

    for path in ["/rpc", "/a2a"] {
        let who = format!("dev:agent://hasty{}", path.len());
        let mut refused = None;
        for id in 0..20 {
            let (status, answer) = post(&server, path, &who, &call(&json!(id), "list_sessions")).await;
            assert_eq!(answer["id"], id, "{path}: {answer}");
            refused = refused.or((status == 429).then_some(answer));
        }
        assert!(refused.is_some(), "{path}");
        // On a slow machine the first of them may be let through again.
        let mut refused = false;
        for _ in 0..20 {
            let said = json!({ "jsonrpc": "2.0", "method": "list_sessions" });
            let (status, body) = post(&server, path, &who, &said).await;
            assert_eq!(body, Value::Null, "{path}: a notification has no answer");
            refused |= status == 429;
        }
        assert!(refused, "{path}");
    }
}

#[tokio::test]
async fn a_request_without_a_credential_that_counts_is_refused_under_its_own_id() {
    let (_dir, server) = dev().await;
    for path in ["/rpc", "/a2a"] {
        let (status, answer) = post(&server, path, "nonsense", &call(&json!("mine"), "list_sessions")).await;
        assert_eq!((status, &answer["id"]), (401, &json!("mine")), "{path}: {answer}");
        let both = json!([call(&json!(1), "list_sessions"), call(&json!(2), "list_sessions")]);
        let (status, answers) = post(&server, path, "nonsense", &both).await;
        assert_eq!((status, &answers[0]["id"], &answers[1]["id"]), (401, &json!(1), &json!(2)), "{path}: {answers}");
    }
    // The error is A2A's, and for the methods of the messaging extension the extension's.
    let (_, answer) = post(&server, "/a2a", "nonsense", &call(&json!(1), "GetTask")).await;
    assert_eq!(answer["error"]["data"][0]["reason"], "UNAUTHENTICATED", "{answer}");
    assert_eq!(answer["error"]["data"][0]["domain"], "a2a-protocol.org", "{answer}");
    let (_, answer) = post(&server, "/a2a", "nonsense", &call(&json!(1), "channels/list")).await;
    assert_eq!(answer["error"]["data"]["error"], "UnauthenticatedError", "{answer}");
}

#[tokio::test]
async fn every_call_of_a_batch_counts() {
    let (_dir, server) = hurried().await;
    let batch = |method: &str| Value::from_iter((0..20).map(|id| call(&json!(id), method)));
    let check = |answers: &Value, over: &str| {
        let ids: Vec<Value> = answers.as_array().unwrap().iter().map(|answer| answer["id"].clone()).collect();
        assert_eq!(ids, (0..20).map(|id| json!(id)).collect::<Vec<_>>(), "{over}");
        let limited = |answer: &Value| {
            let data = &answer["error"]["data"];
            data["code"] == "rate_limited" || data[0]["reason"] == "RATE_LIMITED"
        };
        assert!(!limited(&answers[0]) && limited(&answers[19]), "{over}: {answers}");
    };
    let (status, answers) = post(&server, "/rpc", "dev:agent://one", &batch("list_sessions")).await;
    assert_eq!(status, 200);
    check(&answers, "/rpc");
    let (_, answers) = post(&server, "/a2a", "dev:agent://two", &batch("GetTask")).await;
    check(&answers, "/a2a");
    let (mut ws, _) = tokio_tungstenite::connect_async(format!("ws://{}/rpc", server.address())).await.unwrap();
    ws.send(Message::text(batch("list_sessions").to_string())).await.unwrap();
    let message = within("the answers", ws.next()).await.unwrap().unwrap();
    check(&serde_json::from_str(message.to_text().unwrap()).unwrap(), "WebSocket");
}

#[tokio::test]
async fn params_may_be_equally_deep_on_every_transport() {
    let (_dir, server) = dev().await;
    let (rpc, ws) = (server.rpc(None), server.ws(None).await);
    let (http, grpc) = (server.http(None), server.grpc(None));
    let clients: [&dyn Client; 4] = [&http, &rpc, &ws, &grpc];
    // The params themselves are one level, so that is how many there may be inside of them.
    let nested = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
    for client in clients {
        client.call("create_session", json!({ "metadata": nested(63) })).await.unwrap();
        let refused = client.call("create_session", json!({ "metadata": nested(64) })).await.unwrap_err();
        assert_eq!(refused["details"]["limit"]["name"], "json_depth", "{}: {refused}", client.name());
    }
    let batch = |levels| {
        let create =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "create_session", "params": { "metadata": nested(levels) } });
        json!([create]).to_string()
    };
    let answers = [rpc.raw(batch(63)).await.1, rpc.raw(batch(64)).await.1];
    let [fine, refused] = answers.map(|text| serde_json::from_str::<Value>(&text).unwrap());
    assert!(fine[0].get("result").is_some(), "{fine}");
    assert_eq!((&refused[0]["id"], &refused[0]["error"]["data"]["code"]), (&json!(1), &json!("limit_exceeded")));
}

/// Over HTTP/2 the host is in `:authority`; the cards, their signatures and the guard of `factum dev` have to know it there.
#[tokio::test]
async fn whom_a_request_is_for_is_known_over_http_2() {
    let (_dir, server) = dev().await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let here = format!("http://{}", server.address());
    let get = async |path: &str, version: &str| {
        let request = client.get(server.url(path)).header("a2a-version", version);
        request.send().await.unwrap().json::<Value>().await.unwrap()
    };
    let card = get("/.well-known/agent-card.json", "1.0").await;
    assert_eq!(card["supportedInterfaces"][0]["url"], format!("{here}/a2a"), "{card}");
    let protected = card["signatures"][0]["protected"].as_str().unwrap();
    let protected = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(protected).unwrap();
    let protected: Value = serde_json::from_slice(&protected).unwrap();
    assert_eq!(protected["jku"], format!("{here}/.well-known/jwks.json"));
    let old = get("/.well-known/agent.json", "").await;
    assert_eq!(old["url"], format!("{here}/a2a"), "{old}");

    // An empty message of gRPC: not compressed, no bytes. Only who brings a credential gets this card.
    let (_keyed_dir, keyed, admin) = serve().await;
    let path = "/lf.a2a.v1.A2AService/GetExtendedAgentCard";
    let call = client.post(keyed.url(path)).header("content-type", "application/grpc").header("te", "trailers");
    let answer = call.bearer_auth(admin).body(vec![0_u8; 5]).send().await.unwrap().bytes().await.unwrap();
    let text = String::from_utf8_lossy(&answer);
    let there = format!("http://{}/a2a", keyed.address());
    assert!(text.contains(&there) && !text.contains("localhost:80"), "{text}");

    // Another name for this address, as a page of another site would have its visitor's browser use.
    let client =
        reqwest::Client::builder().http2_prior_knowledge().resolve("evil.example", server.address().parse().unwrap());
    let client = client.build().unwrap();
    let ask = async |authority: &str, host: Option<&str>| {
        let (_, port) = server.address().rsplit_once(':').unwrap();
        let url = format!("http://{authority}:{port}/v1/list_tasks");
        let mut request = client.post(url).body("{}");
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.version(), reqwest::Version::HTTP_2);
        answer.status().as_u16()
    };
    assert_eq!(ask("127.0.0.1", None).await, 200);
    assert_eq!(ask("127.0.0.1", Some("localhost")).await, 200);
    assert_eq!(ask("evil.example", None).await, 403);
    assert_eq!(ask("evil.example", Some("localhost")).await, 403);
    assert_eq!(ask("127.0.0.1", Some("evil.example")).await, 403);
}
