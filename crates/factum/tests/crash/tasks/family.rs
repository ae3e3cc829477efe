//! A parent: spawns child agents, speaks to them, waits for them and closes them with all that is below them.

use std::collections::VecDeque;
use std::sync::Arc;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::World;
use super::hand::Hand;

/// How many families a parent leaves alone at once: with the child of each, fewer than a session may have.
const LEFT_ALONE_MAX: usize = 30;

/// The session of a parent.
pub(super) fn session(parent: usize) -> String {
    format!("family-{parent}")
}

pub(super) async fn bring_up(world: Arc<World>, number: usize, mut rng: StdRng) {
    let mut hand = Hand::new(world, format!("agent://p{number}"), number + 2);
    let mut left_alone = VecDeque::new();
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
            // On a busy machine it is still at work: then there is nothing to resume.
            if let Err(refusal) = hand.write("resume_subagent", params).await {
                assert_eq!(refusal["details"]["status"], "running", "{refusal}");
            }
        }
        if !close(&mut hand, &child, &mut rng).await {
            left_alone.push_back(child);
        }
        if left_alone.len() > LEFT_ALONE_MAX
            && let Some(oldest) = left_alone.pop_front()
        {
            close_now(&mut hand, &oldest).await;
        }
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

/// At once, after a while, or first the one and then the other. Some are left alone.
async fn close(hand: &mut Hand, id: &str, rng: &mut StdRng) -> bool {
    let (gently, now) = (rng.random_bool(0.5), rng.random_bool(0.5));
    if gently {
        let key = format!("close {id} gently");
        let params = json!({ "subagent_id": id, "grace_ms": rng.random_range(1..500), "idempotency_key": key });
        hand.write("close_subagent", params).await.unwrap();
    }
    if now {
        close_now(hand, id).await;
    }
    gently || now
}

async fn close_now(hand: &mut Hand, id: &str) {
    let params = json!({ "subagent_id": id, "idempotency_key": format!("close {id} now") });
    hand.write("close_subagent", params).await.unwrap();
}
