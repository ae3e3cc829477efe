//! Becoming known: as oneself, for good, and to nobody else.

use factum_model::commands::{EnrollChannel, EnrollChannelResult};
use factum_model::registry::Scopes;
use factum_model::{ErrorCode, Refusal};
use factum_runtime::Caller;
use serde_json::json;

use super::yard::{Yard, caller};

fn enroll(channel_id: Option<&str>, queues: &[&str]) -> EnrollChannel {
    serde_json::from_value(json!({ "channel_id": channel_id, "peer_role": "worker", "queues": queues })).unwrap()
}

#[tokio::test]
async fn a_peer_without_an_id_is_given_one() {
    let yard = Yard::new().await;
    let result = yard.runtime.call(&yard.boss, enroll(None, &[])).await.unwrap();
    assert_eq!((result.queues.as_slice(), result.sequence), (["default".to_owned()].as_slice(), 1));
    let again = yard.runtime.call(&yard.boss, enroll(Some(result.channel_id.as_str()), &["new"])).await.unwrap();
    assert_eq!((again.channel_id, again.sequence), (result.channel_id, 2));
}

#[tokio::test]
async fn an_id_belongs_to_whoever_enrolled_it() {
    let mut yard = Yard::new().await;
    yard.runtime.call(&yard.boss, enroll(Some("w"), &[])).await.unwrap();
    for restarted in [false, true] {
        if restarted {
            yard.restart().await;
        }
        let other = yard.runtime.call(&caller("agent://other"), enroll(Some("w"), &[])).await;
        assert_eq!(other, Err(Refusal::not_found()));
    }
    let elsewhere = Caller::new("agent://other", "umbrella", Scopes::member());
    yard.runtime.call(&elsewhere, enroll(Some("w"), &[])).await.expect("another account has ids of its own");
}

#[tokio::test]
async fn a_repeat_with_the_same_key_enrolls_once() {
    let yard = Yard::new().await;
    let command = EnrollChannel { idempotency_key: Some("once".to_owned()), ..enroll(None, &[]) };
    let first = yard.runtime.call(&yard.boss, command.clone()).await.unwrap();
    let again = yard.runtime.call(&yard.boss, command).await.unwrap();
    assert_eq!(again, EnrollChannelResult { resume_token: None, ..first }, "the token is shown once");
}

#[tokio::test]
async fn only_a_worker_that_enrolled_claims() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    yard.task("q", json!({})).await;

    let mut other = worker.clone();
    other.caller = caller("agent://other");
    assert_eq!(other.try_claim(json!({})).await, Err(Refusal::not_found()), "somebody else's channel");
    let mut unknown = worker.clone();
    unknown.channel_id = "unknown".parse().unwrap();
    assert_eq!(unknown.try_claim(json!({})).await, Err(Refusal::not_found()));

    let client = serde_json::from_value::<EnrollChannel>(json!({ "channel_id": "c", "peer_role": "client" })).unwrap();
    yard.runtime.call(&worker.caller, client).await.unwrap();
    let mut client = worker.clone();
    client.channel_id = "c".parse().unwrap();
    assert_eq!(client.try_claim(json!({})).await.unwrap_err().code, ErrorCode::PreconditionFailed);

    let foreign = worker.try_claim(json!({ "queues": ["other"] })).await;
    assert_eq!(foreign.unwrap_err().code, ErrorCode::InvalidParams);
    for (params, code) in [
        (json!({ "max": 0 }), ErrorCode::InvalidParams),
        (json!({ "max": 101 }), ErrorCode::LimitExceeded),
        (json!({ "lease_ms": 0 }), ErrorCode::InvalidParams),
        (json!({ "lease_ms": 3_600_001 }), ErrorCode::InvalidParams),
    ] {
        assert_eq!(worker.try_claim(params.clone()).await.unwrap_err().code, code, "{params}");
    }
    worker.one(json!({})).await;
}
