//! An owner: makes graph after graph and tends those that are open, until each has ended.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::book::attempts;
use super::hand::Hand;
use super::{World, session};

/// How many graphs an owner has open at once.
const OPEN_MAX: usize = 4;
/// After so many attempts an owner gives a task up.
const ATTEMPTS_MAX: usize = 4;

/// A task above four others: two for anybody, one behind both, and one whose end the owner decides.
struct Graph {
    root: String,
    below: [String; 4],
}

pub(super) async fn own(world: Arc<World>, number: usize, mut rng: StdRng) {
    let mut hand = Hand::new(world, format!("agent://o{number}"), number);
    let mut open: Vec<Graph> = Vec::new();
    let mut pause = tokio::time::interval(Duration::from_millis(20));
    for made in 0.. {
        if hand.is_over() {
            return;
        }
        open.push(make(&mut hand, number, made, &mut rng).await);
        while open.len() >= OPEN_MAX && !hand.is_over() {
            pause.tick().await;
            let mut still = Vec::new();
            for graph in open {
                if !tend(&mut hand, &graph, &mut rng).await {
                    still.push(graph);
                }
            }
            open = still;
        }
    }
}

async fn make(hand: &mut Hand, owner: usize, number: usize, rng: &mut StdRng) -> Graph {
    let id = |name: &str| format!("o{owner}-{number}-{name}");
    let root = id("root");
    create(hand, owner, &root, json!({})).await;
    timed(hand, owner, &id("timed"), rng).await;
    let [first, second, behind, decided] = ["first", "second", "behind", "decided"].map(id);
    let queue = if rng.random_bool(0.5) { "left" } else { "right" };
    let task = json!({ "parent_task_id": root, "queue": queue, "status": "queued" });
    let with = |more: Value| {
        let mut task = task.clone();
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        task
    };
    let backoff = json!({ "initial_ms": rng.random_range(1..50) });
    let policy = json!({ "max_attempts": 3, "backoff": backoff, "on_lost": "retry" });
    create(hand, owner, &first, with(json!({ "auto_complete": true, "retry_policy": policy }))).await;
    create(hand, owner, &second, with(json!({ "auto_complete": true, "priority": "high" }))).await;
    let blocked_by = json!({ "auto_complete": true, "blocked_by": [first, second] });
    create(hand, owner, &behind, with(blocked_by)).await;
    create(hand, owner, &decided, with(json!({ "retry_policy": { "max_attempts": 2 } }))).await;
    if rng.random_bool(0.5) {
        let edge = json!({ "from": root, "to": id("art"), "relationship": "produced_artifact" });
        write(hand, "link_tasks", edge, &id("link")).await;
    }
    Graph { root, below: [first, second, behind, decided] }
}

/// One that nobody works on: the time ends each of its attempts, and nothing else does.
async fn timed(hand: &mut Hand, owner: usize, task_id: &str, rng: &mut StdRng) {
    let limit = if rng.random_bool(0.5) { "timeout_ms" } else { "inactivity_timeout_ms" };
    let mut policy = json!({ "max_attempts": 2, "backoff": { "initial_ms": rng.random_range(1..50) } });
    policy[limit] = json!(rng.random_range(20..600));
    create(hand, owner, task_id, json!({ "status": "queued", "retry_policy": policy })).await;
}

async fn create(hand: &mut Hand, owner: usize, task_id: &str, more: Value) {
    let mut params = json!({ "session_id": session(owner), "task_id": task_id, "objective": task_id });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    assert!(write(hand, "create_task", params, &format!("create {task_id}")).await, "{task_id}");
}

/// Whether it was done. The owner is the only one who decides about its graphs, but runs end in between.
async fn write(hand: &mut Hand, method: &str, mut params: Value, key: &str) -> bool {
    params["idempotency_key"] = json!(key);
    hand.write(method, params).await.is_ok()
}

/// Does what there is to do about a graph. Whether it has ended.
async fn tend(hand: &mut Hand, graph: &Graph, rng: &mut StdRng) -> bool {
    let root = hand.look(&graph.root).await;
    if root["status"] == "completed" || root["status"] == "cancelled" {
        return true;
    }
    let (mut done, mut hopeless) = (0, rng.random_bool(0.02));
    for task_id in &graph.below {
        let task = hand.look(task_id).await;
        let count = attempts(&task).len();
        let task_params = json!({ "task_id": task_id });
        match task["status"].as_str().unwrap() {
            "completed" => done += 1,
            "waiting_input" => {
                let _answered: bool =
                    write(hand, "complete_task", task_params, &format!("complete {task_id} {count}")).await;
            }
            "lost" | "failed" if count < ATTEMPTS_MAX => {
                let params = json!({ "task_id": task_id, "reason": "again" });
                let _answered: bool = write(hand, "retry_task", params, &format!("retry {task_id} {count}")).await;
            }
            "lost" | "failed" => hopeless = true,
            _ => {}
        }
    }
    if done == graph.below.len() {
        let params = json!({ "task_id": graph.root, "summary": "all is done" });
        return write(hand, "complete_task", params, &format!("complete {}", graph.root)).await;
    }
    if hopeless {
        let params = json!({ "task_id": graph.root, "propagation": "descendants", "reason": "hopeless" });
        let _answered: bool = write(hand, "cancel_task", params, &format!("cancel {}", graph.root)).await;
    }
    false
}
