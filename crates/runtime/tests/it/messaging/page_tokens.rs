//! Page tokens are good for one caller, one channel, one set of filters and a day. Everything else is one refusal.

use std::sync::Arc;

use factum_runtime::{Agents, Options, Secret, Sources};
use factum_store::Blobs;
use serde_json::json;

use super::*;
use crate::world::World;

/// Two messages in a direct channel of an account, and a token behind the first of them.
async fn token(world: &World, caller: &Caller, params: &Value) -> Value {
    let page = call(&world.runtime, caller, "channels/history", params.clone()).await.unwrap();
    page["nextPageToken"].clone()
}

async fn refused(world: &World, caller: &Caller, method: &str, mut params: Value, token: &Value) -> Refusal {
    params["pageToken"] = token.clone();
    call(&world.runtime, caller, method, params.clone()).await.expect_err(&params.to_string())
}

async fn two_messages(world: &World, caller: &Caller, peer: &str) {
    for text in ["one", "two"] {
        let params = json!({ "peer": peer, "parts": parts(text) });
        call(&world.runtime, caller, "channels/publish", params).await.unwrap();
    }
}

#[tokio::test]
async fn whatever_is_wrong_with_a_token_the_answer_is_the_same() {
    let world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    // The same two principals have a direct channel of the same id in another account.
    let other_ann = Caller::new("agent://ann", "elsewhere", Scopes::member());
    two_messages(&world, &ann, "agent://bob").await;
    two_messages(&world, &ann, "agent://cat").await;
    two_messages(&world, &other_ann, "agent://bob").await;
    let params = json!({ "peer": "agent://bob", "pageSize": 1 });
    let good = token(&world, &ann, &params).await;
    let mut again = params.clone();
    again["pageToken"] = good.clone();
    let page = call(&world.runtime, &ann, "channels/history", again).await.unwrap();
    assert_eq!(sequences(page["events"].as_array().unwrap()), [2]);

    let uniform = refused(&world, &ann, "channels/history", params.clone(), &json!("forged")).await;
    assert_eq!(uniform.code, ErrorCode::InvalidParams);
    let text = good.as_str().unwrap();
    let flipped = |at: usize| {
        let mut bytes = text.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        json!(String::from_utf8(bytes).unwrap())
    };
    let mut forged =
        vec![json!("ü"), json!(text[..text.len() - 1]), json!(format!("{text}A")), json!("A".repeat(10_000))];
    forged.extend((0..text.len()).map(flipped).filter(|token| *token != good));
    for token in forged {
        let mut params = params.clone();
        params["pageToken"] = token.clone();
        let refusal = call(&world.runtime, &ann, "channels/history", params).await.expect_err(&token.to_string());
        assert_eq!(refusal, uniform, "{token}");
    }
    let with = |field: &str, value: Value| {
        let mut params = params.clone();
        params[field] = value;
        params
    };
    let by_id = json!({ "channelId": call(&world.runtime, &ann, "channels/get", json!({ "peer": "agent://cat" })).await.unwrap()["channel"]["id"] });
    let cases = [
        ("foreign principal", &bob, "channels/history", json!({ "peer": "agent://ann", "pageSize": 1 })),
        ("foreign account", &other_ann, "channels/history", params.clone()),
        ("other channel", &ann, "channels/history", json!({ "peer": "agent://cat", "pageSize": 1 })),
        ("other channel by id", &ann, "channels/history", by_id),
        ("other sequence", &ann, "channels/history", with("sinceSequence", json!(0))),
        ("other time", &ann, "channels/history", with("sinceTimestamp", json!(0))),
        ("other authors", &ann, "channels/history", with("authorIds", json!(["agent://ann"]))),
        ("other direction", &ann, "channels/history", with("direction", json!("backward"))),
        ("other thread", &ann, "channels/history", with("threadId", json!("msg_x"))),
        ("other method", &ann, "channels/list", json!({})),
    ];
    for (what, caller, method, params) in cases {
        assert_eq!(refused(&world, caller, method, params, &good).await, uniform, "{what}");
    }
    // The page's size and how the channel is named are no filters.
    for same in [with("pageSize", json!(9)), with("direction", json!("forward"))] {
        let mut same = same;
        same["pageToken"] = good.clone();
        call(&world.runtime, &ann, "channels/history", same).await.unwrap();
    }
    world.clock.advance(Duration::from_secs(24 * 60 * 60));
    let mut last = params.clone();
    last["pageToken"] = good.clone();
    call(&world.runtime, &ann, "channels/history", last).await.unwrap();
    world.clock.advance(Duration::from_millis(1));
    assert_eq!(refused(&world, &ann, "channels/history", params, &good).await, uniform, "too old");
}

/// What clients send who cannot leave a field out.
#[tokio::test]
async fn an_empty_token_is_none() {
    let world = World::new().await;
    let ann = member("ann");
    two_messages(&world, &ann, "agent://bob").await;
    for (caller, method, params) in [
        (&ann, "channels/history", json!({ "peer": "agent://bob" })),
        (&ann, "channels/list", json!({})),
        (&world.caller, "channels/audit", json!({})),
    ] {
        let first = call(&world.runtime, caller, method, params.clone()).await.unwrap();
        let mut with_empty = params;
        with_empty["pageToken"] = json!("");
        assert_eq!(call(&world.runtime, caller, method, with_empty).await.unwrap(), first, "{method}");
    }
}

#[tokio::test]
async fn tokens_outlive_a_restart_and_not_their_secret() {
    let mut world = World::new().await;
    let ann = member("ann");
    two_messages(&world, &ann, "agent://bob").await;
    let mut params = json!({ "peer": "agent://bob", "pageSize": 1 });
    params["pageToken"] = token(&world, &ann, &params).await;
    world.restart(Agents::demo()).await;
    call(&world.runtime, &ann, "channels/history", params.clone()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::new(Agents::demo(), Secret::new([8; 32]));
    options.sources = Sources { clock: world.clock.clone(), ..Sources::default() };
    let store: Arc<dyn factum_store::Store> = world.store.clone();
    let other = Runtime::start(store, Blobs::open(dir.path()).unwrap(), options).await.unwrap();
    assert_eq!(code(call(&other, &ann, "channels/history", params).await), ErrorCode::InvalidParams);
}

#[tokio::test]
async fn lists_and_audits_have_tokens_of_their_own() {
    let world = World::new().await;
    let ann = member("ann");
    for _ in 0..3 {
        channel(&world.runtime, &ann, &[]).await;
    }
    let page = call(&world.runtime, &ann, "channels/list", json!({ "pageSize": 1 })).await.unwrap();
    let list = page["nextPageToken"].clone();
    let page = call(&world.runtime, &world.caller, "channels/audit", json!({ "pageSize": 1 })).await.unwrap();
    let audit = page["nextPageToken"].clone();
    let uniform = refused(&world, &ann, "channels/list", json!({}), &json!("forged")).await;
    assert_eq!(refused(&world, &ann, "channels/list", json!({ "visibility": "public" }), &list).await, uniform);
    assert_eq!(refused(&world, &member("bob"), "channels/list", json!({}), &list).await, uniform);
    assert_eq!(refused(&world, &world.caller, "channels/audit", json!({}), &list).await, uniform);
    assert_eq!(refused(&world, &world.caller, "channels/list", json!({}), &audit).await, uniform);
    let one = json!({ "channelId": channel(&world.runtime, &ann, &[]).await });
    assert_eq!(refused(&world, &world.caller, "channels/audit", one, &audit).await, uniform);
}
