//! Who may be named in a credential.

use std::time::Duration;

use factum_model::ErrorCode;
use factum_model::commands::{CreateApiKey, ListApiKeys, RevokeApiKey};
use factum_runtime::Clock;
use serde_json::json;

use crate::world::World;

/// Facts name the runtime's own parts and the peers it speaks to by these: nobody may act under them.
#[tokio::test]
async fn a_key_is_for_nobody_the_runtime_speaks_as() {
    let world = World::new().await;
    for (principal, code) in [
        ("agent://ada", None),
        ("peering", None),
        ("runtime://timer", Some(ErrorCode::InvalidParams)),
        ("peer:north", Some(ErrorCode::InvalidParams)),
    ] {
        let command: CreateApiKey = serde_json::from_value(json!({ "principal": principal })).unwrap();
        let refused = world.runtime.call(&world.caller, command).await.err();
        assert_eq!(refused.map(|refusal| refusal.code), code, "{principal}");
    }
}

#[tokio::test]
async fn a_list_says_when_a_key_was_made_and_taken_back() {
    let world = World::new().await;
    let command: CreateApiKey = serde_json::from_value(json!({ "principal": "agent://ada" })).unwrap();
    let key_id = world.runtime.call(&world.caller, command).await.unwrap().key_id;
    let made_at = world.clock.now();
    world.clock.advance(Duration::from_secs(60));
    let revoke: RevokeApiKey = serde_json::from_value(json!({ "key_id": key_id })).unwrap();
    world.runtime.call(&world.caller, revoke).await.unwrap();
    let list: ListApiKeys = serde_json::from_value(json!({})).unwrap();
    let keys = world.runtime.call(&world.caller, list).await.unwrap().keys;
    let times: Vec<_> = keys.iter().map(|key| (key.created_at, key.revoked_at)).collect();
    assert_eq!(times, [(Some(made_at), Some(world.clock.now()))]);
}
