//! A parent: spawns child agents, speaks to them, waits for them and closes them with all that is below them.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::World;
use super::hand::Hand;

/// The session of a parent.
pub(super) fn session(parent: usize) -> String {
    format!("family-{parent}")
}

pub(super) async fn bring_up(world: Arc<World>, number: usize, mut rng: StdRng) {
    let mut hand = Hand::new(world, format!("agent://p{number}"), number + 2);
    for made in 0.. {
        if hand.is_over() {
            return;
        }
        let id = |name: &str| format!("f{number}-{made}-{name}");
        let [child, below] = [id("child"), id("below")];
        spawn(&mut hand, number, &child, json!({ "input": hello(&child) })).await;
        // One that never answers, and one that nothing was said to yet.
        let (agent, input) = if rng.random_bool(0.5) { ("waiting", hello(&below)) } else { ("demo", json!([])) };
        let more = json!({ "parent_subagent_id": child, "agent": agent, "input": input });
        spawn(&mut hand, number, &below, more).await;
        for said in 0..rng.random_range(0..4) {
            let to = if rng.random_bool(0.7) { &child } else { &below };
            let key = format!("say {to} {said}");
            let params = json!({ "subagent_id": to, "input": hello(&key), "idempotency_key": key });
            hand.write("send_subagent_input", params).await.unwrap();
        }
        let wait = json!({ "subagent_ids": [child], "timeout_ms": rng.random_range(0..200) });
        hand.ask("wait_subagents", &wait).await.unwrap();
        if rng.random_bool(0.3) {
            let params = json!({ "subagent_id": child, "idempotency_key": format!("resume {child}") });
            hand.write("resume_subagent", params).await.unwrap();
        }
        close(&mut hand, &child, &mut rng).await;
    }
}

fn hello(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

async fn spawn(hand: &mut Hand, parent: usize, id: &str, more: Value) {
    let mut params =
        json!({ "session_id": session(parent), "subagent_id": id, "idempotency_key": format!("spawn {id}") });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    hand.write("spawn_subagent", params).await.unwrap();
}

/// At once, after a while, or first the one and then the other.
async fn close(hand: &mut Hand, id: &str, rng: &mut StdRng) {
    let key = |how: &str| format!("close {id} {how}");
    if rng.random_bool(0.5) {
        let params =
            json!({ "subagent_id": id, "grace_ms": rng.random_range(1..500), "idempotency_key": key("gently") });
        hand.write("close_subagent", params).await.unwrap();
    }
    if rng.random_bool(0.5) {
        let params = json!({ "subagent_id": id, "idempotency_key": key("now") });
        hand.write("close_subagent", params).await.unwrap();
    }
}
