//! Who may be named in a credential.

use factum_model::ErrorCode;
use factum_model::commands::CreateApiKey;
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
