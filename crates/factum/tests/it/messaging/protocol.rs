//! What A2A itself asks for: the version of a request, extensions that are activated, and the agent card in its forms.

use reqwest::Method;

use super::*;
use crate::support::dev;

const URI: &str = "https://factum.dev/a2a/extensions/messaging-channels/v0.1";

#[tokio::test]
async fn a_request_says_its_version_or_speaks_0_3() {
    let (_dir, server) = dev().await;
    let ann = server.a2a(Some(ANN));
    let list = || ann.request("channels/list", &json!({}));
    for request in [
        list(),
        list().header("a2a-version", "0.3"),
        list().header("a2a-version", "1.0"),
        list().header("A2A-Version", ""),
    ] {
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["result"], json!({ "channels": [] }), "{answer}");
    }
    for version in ["0.2", "0.5", "2.0", "1", "junk"] {
        let answer: Value = list().header("a2a-version", version).send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["error"]["code"], -32009, "{answer}");
        assert_eq!(answer["error"]["data"][0]["reason"], "VERSION_NOT_SUPPORTED");
        assert!(answer["id"].is_u64(), "it is the answer to the request: {answer}");
    }
    let http = server.http(Some(ANN));
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "channels/list" }).to_string();
    for (query, refused) in [("?A2A-Version=1.0", false), ("?a2a-version=9.9", true)] {
        let request = http.request(Method::POST, &format!("/a2a{query}")).body(body.clone());
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(answer.get("error").is_some(), refused, "{query}: {answer}");
    }
}

#[tokio::test]
async fn what_is_activated_is_echoed() {
    let (_dir, server) = dev().await;
    let ann = server.a2a(Some(ANN));
    let id = channel_with_bob(&ann).await;
    let echo = async |headers: &[(&str, &str)], method: &str, params: Value| {
        let mut request = ann.request(method, &params);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        // Under the name it was asked for by.
        let name = headers.first().map_or("a2a-extensions", |(name, _)| *name);
        response.headers().get(name).map(|value| value.to_str().unwrap().to_owned())
    };
    let list = format!("https://example.com/other, {URI}");
    for (headers, expected) in [
        (&[][..], None),
        (&[("a2a-extensions", URI)], Some(URI)),
        (&[("x-a2a-extensions", URI)], Some(URI)),
        (&[("a2a-extensions", list.as_str())], Some(URI)),
        (&[("a2a-extensions", "https://example.com/other")], None),
    ] {
        assert_eq!(echo(headers, "channels/list", json!({})).await.as_deref(), expected, "{headers:?}");
    }
    let activated = [("a2a-extensions", URI)];
    let refused = json!({ "channelId": "chan_x" });
    assert_eq!(echo(&activated, "channels/get", refused).await.as_deref(), Some(URI), "a refusal is an answer");
    assert_eq!(echo(&activated, "channels/stream", json!({ "channelId": id })).await.as_deref(), Some(URI));
}

#[tokio::test]
async fn the_card_advertises_the_extension_in_every_form() {
    let (_dir, server) = dev().await;
    let http = server.http(None);
    let seed = json!(["create", "publish", "history", "stream", "membership"]);
    let offers = |channels: &Value| {
        assert_eq!(channels["version"], "0.1");
        let features = channels["features"].as_array().unwrap();
        assert!(seed.as_array().unwrap().iter().all(|feature| features.contains(feature)), "{features:?}");
        for further in ["controlEvent", "threading", "presence", "readCursors", "direct", "historyBackward"] {
            assert!(features.contains(&json!(further)), "{further}");
        }
    };
    let usual = http.json("/.well-known/agent-card.json").await;
    offers(&usual["capabilities"]["messaging"]["channels"]);
    let extension = &usual["capabilities"]["extensions"][0];
    assert_eq!(extension["uri"], URI);
    offers(&extension["params"]["messaging"]["channels"]);
    assert_eq!(usual["protocolVersion"], "0.3.0");
    assert_eq!((&usual["url"], &usual["preferredTransport"]), (&json!(server.url("/a2a")), &json!("JSONRPC")));
    assert_eq!(usual["supportedInterfaces"][0]["url"], server.url("/a2a"));

    let get = |path: &str| http.get(path);
    let strict: Value =
        get("/.well-known/agent-card.json").header("a2a-version", "1.0").send().await.unwrap().json().await.unwrap();
    assert_eq!((strict.get("protocolVersion"), strict["capabilities"].get("messaging")), (None, None));
    offers(&strict["capabilities"]["extensions"][0]["params"]["messaging"]["channels"]);
    let first = http.json("/.well-known/agent.json").await;
    offers(&first["capabilities"]["messaging"]["channels"]);
    assert_eq!((&first["url"], first.get("supportedInterfaces")), (&json!(server.url("/a2a")), None));

    let response = get("/.well-known/agent-card.json").send().await.unwrap();
    let etag = response.headers()["etag"].clone();
    assert!(response.headers()["vary"].to_str().unwrap().contains("A2A-Version"));
    let again = get("/.well-known/agent-card.json").header("if-none-match", &etag).send().await.unwrap();
    assert_eq!((again.status().as_u16(), again.text().await.unwrap()), (304, String::new()));
    let other = get("/.well-known/agent-card.json").header("a2a-version", "1.0").header("if-none-match", etag);
    assert_eq!(other.send().await.unwrap().status(), 200, "another form is another card");
}

/// As a header, for clients that repeat requests by themselves and know nothing of our params.
#[tokio::test]
async fn a_key_may_come_as_a_header() {
    let (_dir, server) = dev().await;
    let http = server.http(None);
    let post = async |path: &str, body: Value| -> Value {
        let request =
            http.request(reqwest::Method::POST, path).header("Idempotency-Key", "once").body(body.to_string());
        request.send().await.unwrap().json().await.unwrap()
    };
    let created = post("/v1/channels/create", json!({})).await;
    assert_eq!(post("/v1/channels/create", json!({})).await, created);
    let publish = json!({ "channelId": created["channel"]["id"], "parts": [{ "text": "hi" }] });
    let first = post("/v1/channels/publish", publish.clone()).await;
    assert_eq!(first["event"]["idempotencyKey"], "once");
    assert_eq!(post("/v1/channels/publish", publish.clone()).await, first);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "channels/publish", "params": publish });
    assert_eq!(post("/a2a", call).await["result"], first, "as over A2A");
    let mut own = publish;
    own["idempotencyKey"] = json!("another");
    assert_eq!(post("/v1/channels/publish", own).await["event"]["sequence"], 2, "the params' key counts more");
    let session = post("/v1/create_session", json!({})).await;
    assert_eq!(post("/v1/create_session", json!({})).await, session);
}
