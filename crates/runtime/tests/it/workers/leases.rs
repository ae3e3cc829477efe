//! Keeping a run, and losing it.

use factum_model::{ErrorCode, Fact};
use serde_json::json;

use super::yard::{Yard, caller};

fn is_lost(fact: &Fact) -> bool {
    matches!(fact, Fact::TaskLost(_))
}

#[tokio::test]
async fn a_worker_that_vanishes_makes_its_task_lost() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    let session_id = yard.task("q", json!({})).await;
    let run = worker.one(json!({ "lease_ms": 50 })).await;
    yard.until(&session_id, is_lost).await;
    assert_eq!(worker.heartbeat(&run).await.unwrap_err().code, ErrorCode::PreconditionFailed);
    assert_eq!(worker.claim(json!({})).await, [], "what it did may not bear repeating: somebody decides");
}

#[tokio::test]
async fn a_lease_whose_end_cannot_be_recorded_is_not_forgotten() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    let session_id = yard.task("q", json!({})).await;
    worker.one(json!({ "lease_ms": 1_000 })).await;
    let stream = format!("session/{}/{session_id}", worker.caller.account);
    yard.store.refuse(&stream);
    while yard.store.refusals() == 0 {
        tokio::task::yield_now().await;
    }
    yard.store.accept(&stream);
    yard.until(&session_id, is_lost).await;
}

#[tokio::test]
async fn a_lost_run_may_be_tried_again_by_policy() {
    let yard = Yard::new().await;
    let (first, second) = (yard.worker("first", &["q"], &[]).await, yard.worker("second", &["q"], &[]).await);
    let policy = json!({ "max_attempts": 2, "on_lost": "retry", "backoff": { "initial_ms": 1, "jitter_percent": 0 } });
    yard.task("q", json!({ "retry_policy": policy })).await;
    let lost = first.one(json!({ "lease_ms": 50 })).await;
    let again = second.one(json!({ "wait_ms": 60_000 })).await;
    assert_eq!((&again.task_id, again.attempt_count), (&lost.task_id, 2));
    assert_ne!(again.run_id, lost.run_id, "an attempt is never used twice");
    assert_eq!(first.complete(&lost, None).await.unwrap_err().code, ErrorCode::PreconditionFailed);
    second.complete(&again, None).await.unwrap();
}

#[tokio::test]
async fn heartbeats_write_nothing() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    let session_id = yard.task("q", json!({})).await;
    let run = worker.one(json!({})).await;
    let before = yard.facts(&session_id).await.len();
    let mut expires = run.lease_expires_at;
    for _ in 0..10 {
        let kept = worker.heartbeat(&run).await.unwrap();
        assert!(kept.lease_expires_at >= expires);
        expires = kept.lease_expires_at;
    }
    assert_eq!(yard.facts(&session_id).await.len(), before);
}

#[tokio::test]
async fn only_the_holder_keeps_a_run() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    yard.task("q", json!({})).await;
    let run = worker.one(json!({})).await;
    let mut older = run.clone();
    older.lease_token -= 1;
    assert_eq!(worker.heartbeat(&older).await.unwrap_err().code, ErrorCode::PreconditionFailed);
    let mut other = worker.clone();
    other.caller = caller("agent://other");
    assert_eq!(other.heartbeat(&run).await.unwrap_err().code, ErrorCode::PreconditionFailed);
    let mut unknown = run.clone();
    unknown.run_id = "run_unknown".parse().unwrap();
    assert_eq!(worker.heartbeat(&unknown).await.unwrap_err().code, ErrorCode::NotFound);
    let mut elsewhere = worker.clone();
    elsewhere.caller.account = "umbrella".into();
    assert_eq!(elsewhere.heartbeat(&run).await.unwrap_err().code, ErrorCode::NotFound);
    let kept = worker.heartbeat(&run).await.unwrap();
    assert!(!kept.cancel_requested && !kept.paused);
}

#[tokio::test]
async fn a_restart_costs_no_worker_its_run_and_forgets_no_lease() {
    let mut yard = Yard::new().await;
    let worker = yard.worker("w", &["q", "p"], &[]).await;
    yard.task("q", json!({})).await;
    let gone = yard.task("p", json!({})).await;
    let kept = worker.one(json!({ "queues": ["q"] })).await;
    worker.one(json!({ "queues": ["p"], "lease_ms": 200 })).await;
    // The first runtime lives on in this test; its keeper must not be what ends the lease.
    yard.runtime.begin_close();
    yard.restart().await;
    let worker = yard.worker("w", &["q", "p"], &[]).await;
    worker.heartbeat(&kept).await.unwrap();
    yard.until(&gone, is_lost).await;
    worker.complete(&kept, None).await.unwrap();
}
