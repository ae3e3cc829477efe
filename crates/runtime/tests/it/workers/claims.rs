//! Claiming what is ready: the right one, once, in turn.

use std::collections::BTreeSet;
use std::time::Duration;

use factum_model::{ErrorCode, Fact};
use factum_runtime::Sources;
use futures::future::join_all;
use serde_json::json;

use super::yard::Yard;
use crate::world::TestClock;

#[tokio::test]
async fn nothing_ready_is_an_empty_answer() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    yard.task("other", json!({})).await;
    assert_eq!(worker.claim(json!({})).await, []);
}

#[tokio::test]
async fn a_claim_says_what_there_is_to_do() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    let session_id = yard.task("q", json!({ "objective": "count the stars", "metadata": { "sky": "north" } })).await;
    let run = worker.one(json!({ "lease_ms": 5_000 })).await;
    assert_eq!((run.objective.as_str(), run.queue.as_str(), run.attempt_count), ("count the stars", "q", 1));
    assert_eq!((&run.session_id, &run.metadata["sky"]), (&session_id, &json!("north")));
    assert_eq!(worker.claim(json!({})).await, [], "it is held now");
}

#[tokio::test]
async fn the_most_urgent_goes_first_then_the_oldest_whatever_it_asks_for() {
    let clock = TestClock::at(1_800_000_000_000);
    let yard = Yard::at(Sources { clock: clock.clone(), ..Sources::default() }).await;
    for (objective, priority, capabilities) in [
        ("low", "low", json!([])),
        ("first normal", "normal", json!(["cpu"])),
        ("second normal", "normal", json!([])),
        ("urgent", "urgent", json!(["cpu", "gpu"])),
        ("high", "high", json!(["gpu"])),
        ("not for me", "urgent", json!(["tpu"])),
        ("nor this", "urgent", json!(["cpu", "tpu"])),
    ] {
        let more = json!({ "objective": objective, "priority": priority, "required_capabilities": capabilities });
        clock.advance(Duration::from_millis(1));
        yard.task("q", more).await;
    }
    let worker = yard.worker("w", &["q"], &["gpu", "cpu"]).await;
    let mut order = Vec::new();
    while let [run] = worker.claim(json!({})).await.as_slice() {
        order.push(run.objective.clone());
    }
    assert_eq!(order, ["urgent", "high", "first normal", "second normal", "low"]);
}

#[tokio::test]
async fn a_worker_is_served_from_its_queues_in_turn() {
    let yard = Yard::new().await;
    for _ in 0..6 {
        yard.task("a", json!({ "priority": "urgent" })).await;
    }
    for _ in 0..3 {
        yard.task("b", json!({})).await;
        yard.task("c", json!({ "priority": "low" })).await;
    }
    let worker = yard.worker("w", &["a", "b", "c"], &[]).await;
    let mut order = Vec::new();
    while let [run] = worker.claim(json!({})).await.as_slice() {
        order.push(run.queue.clone());
    }
    assert_eq!(order.len(), 12);
    for round in order[..9].chunks(3) {
        let queues: BTreeSet<&str> = round.iter().map(String::as_str).collect();
        assert_eq!(queues, BTreeSet::from(["a", "b", "c"]), "no queue waits for another: {order:?}");
    }
    assert_eq!(order[9..], ["a", "a", "a"]);
}

#[tokio::test]
async fn a_claim_of_many_goes_in_turn_too_and_may_be_narrowed() {
    let yard = Yard::new().await;
    let session_id = yard.task("a", json!({})).await;
    for queue in ["a", "a", "b", "b", "b"] {
        yard.task_in(Some(&session_id), queue, json!({})).await.unwrap();
    }
    let worker = yard.worker("w", &["a", "b"], &[]).await;
    let mut queues: Vec<String> = worker.claim(json!({ "max": 4 })).await.into_iter().map(|run| run.queue).collect();
    queues.sort();
    assert_eq!(queues, ["a", "a", "b", "b"]);
    let rest = worker.claim(json!({ "max": 4, "queues": ["b"] })).await;
    assert_eq!(rest.iter().map(|run| run.queue.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_run_is_claimed_once_however_many_want_it() {
    let yard = Yard::new().await;
    let session_id = yard.task("q", json!({})).await;
    for number in 1..60 {
        let session_id = (number % 3 == 0).then_some(&session_id);
        yard.task_in(session_id, "q", json!({})).await.unwrap();
    }
    let mut workers = Vec::new();
    for number in 0..20 {
        workers.push(yard.worker(&format!("w{number}"), &["q"], &[]).await);
    }
    let claims = workers.iter().map(|worker| async {
        let mut runs = Vec::new();
        loop {
            let claimed = worker.claim(json!({ "max": 2 })).await;
            if claimed.is_empty() {
                return runs;
            }
            runs.extend(claimed.into_iter().map(|run| run.run_id));
        }
    });
    let claimed: Vec<_> = join_all(claims).await.into_iter().flatten().collect();
    assert_eq!((claimed.len(), claimed.iter().collect::<BTreeSet<_>>().len()), (60, 60));
    let mut delegated = 0;
    for session_id in yard.sessions().await {
        delegated += yard.count(&session_id, |fact| matches!(fact, Fact::TaskDelegated(_))).await;
    }
    assert_eq!(delegated, 60, "the log says the same");
}

#[tokio::test]
async fn a_repeat_with_the_same_key_gives_the_same_runs_again() {
    let mut yard = Yard::new().await;
    for _ in 0..5 {
        yard.task("q", json!({})).await;
    }
    let worker = yard.worker("w", &["q"], &[]).await;
    let command = json!({ "max": 3, "idempotency_key": "once" });
    let first = worker.claim(command.clone()).await;
    assert_eq!(first.len(), 3);
    assert_eq!(worker.claim(command.clone()).await, first);
    let other = worker.try_claim(json!({ "max": 2, "idempotency_key": "once" })).await;
    assert_eq!(other.unwrap_err().code, ErrorCode::Conflict);
    yard.restart().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    assert_eq!(worker.claim(command).await, first, "also after a restart");
    assert_eq!(worker.claim(json!({ "max": 10 })).await.len(), 2, "and no more than those were taken");
}

#[tokio::test]
async fn a_run_that_is_given_back_goes_to_the_next() {
    let yard = Yard::new().await;
    yard.task("q", json!({})).await;
    let (first, second) = (yard.worker("first", &["q"], &[]).await, yard.worker("second", &["q"], &[]).await);
    let run = first.one(json!({})).await;
    first.release(&run).await.unwrap();
    let again = second.one(json!({})).await;
    assert_eq!((&again.run_id, again.attempt_count), (&run.run_id, 1), "nothing was done, so it is the same attempt");
    assert!(again.lease_token > run.lease_token);
    assert_eq!(first.heartbeat(&run).await.unwrap_err().code, ErrorCode::PreconditionFailed);
    second.heartbeat(&again).await.unwrap();
}

#[tokio::test]
async fn a_claim_of_nothing_is_refused_for_what_it_is() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    assert_eq!(worker.try_claim(json!({ "max": 0 })).await.unwrap_err().code, ErrorCode::InvalidParams);
    assert_eq!(worker.try_claim(json!({ "max": 1_000_000 })).await.unwrap_err().code, ErrorCode::LimitExceeded);
}
