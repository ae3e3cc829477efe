//! Seed 002 §8 and §9: each bound with `LimitExceededError`, and how often somebody may ask with `RateLimitError` and a hint
//! when to come back.

use reqwest::Method;

use super::*;
use crate::support::{dev, launch};

#[tokio::test]
async fn what_is_over_a_bound_is_refused_and_what_is_at_it_is_not() {
    let (_dir, server) = dev().await;
    let ann = server.a2a(Some(ANN));
    let id = channel_with_bob(&ann).await;
    let metadata = |bytes: usize| json!({ "m": "x".repeat(bytes - r#"{"m":""}"#.len()) });
    let members = |count: usize| {
        (0..count).map(|number| json!({ "principalId": format!("agent://{number}") })).collect::<Vec<_>>()
    };
    let publish = |field: &str, value: Value| {
        let mut params = json!({ "channelId": id, "parts": text("x") });
        params[field] = value;
        params
    };
    let refs = |count: usize| json!(vec!["artifact"; count]);
    let update = |version: u64, bytes: usize| {
        let patch = json!({ "set": metadata(bytes) });
        json!({ "channelId": id, "expectedVersion": version, "metadataPatch": patch })
    };
    // What fits, what does not, and the bound's name.
    let table = [
        (
            "channels/create",
            json!({ "name": "ü".repeat(128) }),
            json!({ "name": "ü".repeat(129) }),
            "channel_name_chars",
        ),
        (
            "channels/create",
            json!({ "metadata": metadata(16 << 10) }),
            json!({ "metadata": metadata((16 << 10) + 1) }),
            "metadata_bytes",
        ),
        ("channels/create", json!({ "members": members(999) }), json!({ "members": members(1000) }), "channel_members"),
        (
            "channels/create",
            json!({ "idempotencyKey": "k".repeat(128) }),
            json!({ "idempotencyKey": "k".repeat(129) }),
            "idempotency_key_chars",
        ),
        ("channels/update", update(1, 16 << 10), update(2, (16 << 10) + 1), "metadata_bytes"),
        (
            "channels/publish",
            publish("parts", json!(vec![json!({ "text": "x" }); 32])),
            publish("parts", json!(vec![json!({ "text": "x" }); 33])),
            "message_parts",
        ),
        (
            "channels/publish",
            publish("idempotencyKey", json!("k".repeat(128))),
            publish("idempotencyKey", json!("k".repeat(129))),
            "idempotency_key_chars",
        ),
        (
            "channels/publish",
            publish("metadata", metadata(16 << 10)),
            publish("metadata", metadata((16 << 10) + 1)),
            "metadata_bytes",
        ),
        ("channels/publish", publish("artifactRefs", refs(64)), publish("artifactRefs", refs(65)), "message_refs"),
        (
            "channels/publish",
            publish("parts", text(&"x".repeat(250 << 10))),
            publish("parts", text(&"x".repeat(257 << 10))),
            "message_bytes",
        ),
    ];
    for (method, fits, over, name) in table {
        ann.call(method, fits).await.unwrap_or_else(|error| panic!("{method}, {name}: {error}"));
        let error = ann.error(method, over).await;
        let data = &error["data"];
        assert_eq!((&error["code"], &data["error"]), (&json!(-32043), &json!("LimitExceededError")), "{name}: {error}");
        assert_eq!(data["details"]["limit"]["name"], name, "{error}");
    }
}

/// Merged metadata is bounded as a whole, not patch by patch.
#[tokio::test]
async fn patches_do_not_add_up_to_more_than_fits() {
    let (_dir, server) = dev().await;
    let ann = server.a2a(Some(ANN));
    let id = channel_with_bob(&ann).await;
    let patch = |version: u64, key: &str| {
        let set = json!({ key: "x".repeat(9_000) });
        json!({ "channelId": id, "expectedVersion": version, "metadataPatch": { "set": set } })
    };
    ann.call("channels/update", patch(1, "a")).await.unwrap();
    assert_eq!(ann.error("channels/update", patch(2, "b")).await["code"], -32043);
    let mut instead = patch(2, "b");
    instead["metadataPatch"]["remove"] = json!(["a"]);
    ann.call("channels/update", instead).await.unwrap();
}

#[tokio::test]
async fn publishing_and_reading_too_often_is_told_when_to_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let launch =
        launch(&dir).env("FACTUM_LIMITS_PUBLISHES_PER_SECOND", 2).env("FACTUM_LIMITS_HISTORY_PAGES_PER_SECOND", 2);
    let server = launch.start().await;
    let (ann, bob) = (server.a2a(Some(ANN)), server.a2a(Some(BOB)));
    let id = channel_with_bob(&ann).await;
    for (method, params) in [
        ("channels/publish", json!({ "channelId": id, "parts": text("x") })),
        ("channels/history", json!({ "channelId": id })),
    ] {
        let mut refused = None;
        for _ in 0..20 {
            let answer: Value = ann.request(method, &params).send().await.unwrap().json().await.unwrap();
            if let Some(error) = answer.get("error") {
                refused = Some(error.clone());
                break;
            }
        }
        let error = refused.unwrap_or_else(|| panic!("{method} was never refused"));
        assert_eq!((&error["code"], &error["data"]["error"]), (&json!(-32044), &json!("RateLimitError")), "{error}");
        assert_eq!(error["data"]["retryable"], true);
        let wait = error["data"]["retryAfterMs"].as_u64().unwrap();
        assert!((1..=1_000).contains(&wait), "{error}");
        // Over plain HTTP the hint is a header; one bound for all transports.
        let http = server.http(Some(ANN));
        let mut limited = None;
        for _ in 0..20 {
            let response =
                http.request(Method::POST, &format!("/v1/{method}")).body(params.to_string()).send().await.unwrap();
            if response.status() == 429 {
                limited = Some(response.headers()["retry-after"].to_str().unwrap().to_owned());
                break;
            }
        }
        assert_eq!(limited.as_deref(), Some("1"), "{method}");
        bob.call(method, params).await.unwrap();
    }
    ann.call("channels/get", json!({ "channelId": id })).await.unwrap();
}
