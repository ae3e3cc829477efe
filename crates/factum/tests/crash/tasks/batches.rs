//! One who has batches done: by agents, by workers and by nobody; cancels some, retries what failed, and keeps a schedule.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::World;
use super::book::text;
use super::hand::Hand;

/// How many batches are open at once.
const OPEN_MAX: usize = 3;
/// The shortest there is.
pub(super) const EVERY_MS: u64 = 1_000;

/// The session of one who has batches done.
pub(super) fn session(number: usize) -> String {
    format!("batches-{number}")
}

pub(super) async fn ask_for_batches(world: Arc<World>, number: usize, mut rng: StdRng) {
    let mut hand = Hand::new(world, format!("agent://b{number}"), number + 1);
    schedule(&mut hand, number).await;
    let (mut open, mut retried) = (Vec::new(), HashSet::new());
    let mut pause = tokio::time::interval(Duration::from_millis(50));
    for made in 0.. {
        if hand.is_over() {
            return;
        }
        open.push(make(&mut hand, number, made, &mut rng).await);
        while open.len() >= OPEN_MAX && !hand.is_over() {
            pause.tick().await;
            let mut still = Vec::new();
            for job_id in open {
                if !tend(&mut hand, &job_id, &mut retried, &mut rng).await {
                    still.push(job_id);
                }
            }
            open = still;
        }
    }
}

/// Each with another policy for times that passed while the server was down.
async fn schedule(hand: &mut Hand, number: usize) {
    let missed = ["once", "all", "skip"][number % 3];
    let overlap = ["allow", "skip"][number % 2];
    let id = format!("schedule-{number}");
    let params = json!({
        "session_id": session(number), "schedule_id": id, "every_ms": EVERY_MS, "missed": missed, "overlap": overlap,
        "job": { "instruction": "hello", "items": [{ "arguments": "a" }, { "arguments": "b" }] }, "idempotency_key": id,
    });
    hand.write("create_schedule", params).await.unwrap();
}

async fn make(hand: &mut Hand, owner: usize, number: usize, rng: &mut StdRng) -> String {
    let job_id = format!("b{owner}-{number}");
    let items: Vec<Value> = (0..rng.random_range(1..=5))
        .map(|item| json!({ "job_item_id": format!("{job_id}-{item}"), "arguments": format!("{job_id} {item}") }))
        .collect();
    let mut params = json!({
        "session_id": session(owner), "job_id": job_id, "items": items, "max_concurrency": rng.random_range(1..=3),
        "max_item_attempts": rng.random_range(1..=3), "instruction": "hello", "idempotency_key": format!("create {job_id}"),
    });
    match rng.random_range(0..10) {
        0..5 => params["queue"] = json!(if rng.random_bool(0.5) { "left" } else { "right" }),
        5..7 => {}
        7 => params["instruction"] = json!("fail: on purpose"),
        _ => {
            // Nobody comes; the time ends it, and nothing else.
            params["queue"] = json!("nobody");
            params["max_runtime_ms"] = json!(rng.random_range(50..800));
        }
    }
    hand.write("create_job", params).await.unwrap();
    job_id
}

/// Does what there is to do about a batch. Whether it has ended for good.
async fn tend(hand: &mut Hand, job_id: &str, retried: &mut HashSet<String>, rng: &mut StdRng) -> bool {
    let seen = hand.look_at_job(job_id).await;
    let status = text(&seen["job"], "status");
    if !is_over(status) {
        if rng.random_bool(0.02) {
            let params = json!({ "job_id": job_id, "reason": "enough", "idempotency_key": format!("cancel {job_id}") });
            drop(hand.write("cancel_job", params).await);
        }
        return false;
    }
    let is_over = |item: &&Value| item["status"] == "failed" || item["status"] == "reported";
    let failed = seen["items"].as_array().unwrap().iter().find(is_over);
    if let Some(item) = failed.filter(|_| rng.random_bool(0.5) && retried.insert(job_id.to_owned())) {
        let item_id = text(item, "job_item_id");
        let params = json!({ "job_id": job_id, "job_item_id": item_id, "idempotency_key": format!("retry {item_id}") });
        return hand.write("retry_job_item", params).await.is_err();
    }
    true
}

/// Whether nothing more happens to a batch by itself.
pub(super) fn is_over(status: &str) -> bool {
    ["completed", "failed", "cancelled", "timed_out"].contains(&status)
}
