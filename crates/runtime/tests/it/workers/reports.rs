//! What a worker says about its run: while it holds it, and after.

use factum_model::id::SessionId;
use factum_model::task::AttemptStatus;
use factum_model::{ErrorCode, Fact};
use serde_json::json;

use super::yard::{Yard, caller};

async fn late_reports(yard: &Yard, session_id: &SessionId) -> usize {
    let late = |fact: &Fact| matches!(fact, Fact::RuntimeWarning(warning) if warning.code == "late_report");
    yard.count(session_id, late).await
}

#[tokio::test]
async fn progress_and_the_end_are_facts_of_the_run() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    let session_id = yard.task("q", json!({ "auto_complete": true })).await;
    let run = worker.one(json!({})).await;
    worker.report(&run, 50).await.unwrap();
    let first = worker.complete(&run, Some("end")).await.unwrap();
    assert_eq!(first.status, AttemptStatus::Completed);
    assert_eq!(worker.complete(&run, Some("end")).await.unwrap(), first, "a repeat is answered, not refused");
    assert_eq!(yard.count(&session_id, |fact| matches!(fact, Fact::TaskProgress(_))).await, 1);
    assert_eq!(yard.count(&session_id, |fact| matches!(fact, Fact::TaskCompleted(_))).await, 1);
    assert_eq!(late_reports(&yard, &session_id).await, 0);
}

#[tokio::test]
async fn a_failure_is_followed_by_what_the_policy_says() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    let policy = json!({ "max_attempts": 2, "backoff": { "initial_ms": 1, "jitter_percent": 0 } });
    yard.task("q", json!({ "retry_policy": policy })).await;
    let first = worker.one(json!({})).await;
    worker.fail(&first).await.unwrap();
    let second = worker.one(json!({ "wait_ms": 60_000 })).await;
    assert_eq!((&second.task_id, second.attempt_count), (&first.task_id, 2));
}

#[tokio::test]
async fn a_late_report_is_refused_and_recorded_but_not_without_end() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    let session_id = yard.task("q", json!({})).await;
    let run = worker.one(json!({ "lease_ms": 50 })).await;
    yard.until(&session_id, |fact| matches!(fact, Fact::TaskLost(_))).await;
    let refused = worker.complete(&run, None).await.unwrap_err();
    assert_eq!((refused.code, refused.details["cause"].as_str()), (ErrorCode::PreconditionFailed, Some("late_report")));
    assert_eq!(late_reports(&yard, &session_id).await, 1);
    for _ in 0..10 {
        worker.report(&run, 10).await.unwrap_err();
        worker.fail(&run).await.unwrap_err();
        worker.release(&run).await.unwrap_err();
    }
    assert_eq!(late_reports(&yard, &session_id).await, 5);
}

#[tokio::test]
async fn a_run_of_another_worker_cannot_be_reported_on() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    let session_id = yard.task("q", json!({})).await;
    let run = worker.one(json!({})).await;
    let mut other = worker.clone();
    other.caller = caller("agent://other");
    assert_eq!(other.complete(&run, None).await.unwrap_err().code, ErrorCode::PreconditionFailed);
    assert_eq!(late_reports(&yard, &session_id).await, 1);
    let mut unknown = run.clone();
    unknown.run_id = "run_unknown".parse().unwrap();
    assert_eq!(worker.complete(&unknown, None).await.unwrap_err().code, ErrorCode::NotFound);
    worker.complete(&run, None).await.unwrap();
}
