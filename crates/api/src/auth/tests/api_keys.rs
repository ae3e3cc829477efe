//! API keys: the runtime knows them; here only that they get through, and stop getting through.

use factum_model::commands::{CreateApiKey, RevokeApiKey};

use super::*;

async fn create(world: &World, expires_at: Option<Timestamp>) -> (factum_model::id::KeyId, String) {
    let admin = Caller::new("agent://admin", "acme", Scopes::admin());
    let command = CreateApiKey {
        principal: "agent://worker".to_owned(),
        scopes: Some(scopes([Scope::TasksRead])),
        name: None,
        expires_at,
        idempotency_key: None,
    };
    let created = world.runtime.call(&admin, command).await.unwrap();
    (created.key_id, created.key.unwrap())
}

#[tokio::test]
async fn a_key_is_its_principal_until_it_is_revoked() {
    let world = World::new().await;
    let authenticator = world.authenticator(Vec::new()).await;
    let (key_id, key) = create(&world, None).await;
    let header = format!("Bearer {key}");
    let caller = authenticator.authenticate(Some(&header), ELSEWHERE).await.unwrap();
    assert_eq!(who(&caller), ("agent://worker", "acme", scopes([Scope::TasksRead])));
    let revoke = RevokeApiKey { key_id, reason: None, idempotency_key: None };
    world.runtime.call(&Caller::new("agent://admin", "acme", Scopes::admin()), revoke).await.unwrap();
    assert!(!accepts(&authenticator, &header).await);
}

#[tokio::test]
async fn a_key_expires() {
    let world = World::new().await;
    let authenticator = world.authenticator(Vec::new()).await;
    let (_, key) = create(&world, Some(Timestamp::from_second(NOW + 60).unwrap())).await;
    assert!(accepts_token(&authenticator, &key).await);
    world.pass(59);
    assert!(accepts_token(&authenticator, &key).await);
    world.pass(1);
    assert!(!accepts_token(&authenticator, &key).await);
}

#[tokio::test]
async fn what_is_almost_a_key_is_none() {
    let world = World::new().await;
    let authenticator = world.authenticator(Vec::new()).await;
    let (_, key) = create(&world, None).await;
    let shorter = &key[..key.len() - 1];
    let longer = format!("{key}A");
    let upper = key.to_uppercase();
    for token in
        ["fct_", shorter, &longer, &upper, key.trim_start_matches("fct_"), "fct_../../x", &"fct_".repeat(1_000)]
    {
        assert!(!accepts_token(&authenticator, token).await, "{token}");
    }
}
