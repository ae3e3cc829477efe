//! A worker: claims runs, keeps them, reports on them and ends them in every way there is, or goes silent.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::book::{attempts, is_open, text};
use super::hand::Hand;
use super::{LEASE_MS, World};

/// How long a claim waits for a run.
const WAIT_MS: u64 = 200;

pub(super) async fn work(world: Arc<World>, number: usize, mut rng: StdRng) {
    let name = format!("w{number}");
    let mut hand = Hand::new(world, format!("agent://{name}"), number);
    let queues = [["left", "right"], ["right", "spare"]][number % 2];
    let enroll = json!({ "channel_id": name, "peer_role": "worker", "queues": queues, "idempotency_key": name });
    hand.write("enroll_channel", enroll).await.unwrap();
    for claim in 0.. {
        if hand.is_over() {
            return;
        }
        let params = json!({
            "channel_id": name, "max": rng.random_range(1..=2), "lease_ms": LEASE_MS, "wait_ms": WAIT_MS,
            "idempotency_key": format!("{name}-{claim}"),
        });
        let answer = hand.ask("claim_runs", &params).await.unwrap();
        // One that got nothing leaves nothing.
        if answer["runs"] == json!([]) {
            continue;
        }
        hand.world.acknowledged.send_modify(|count| *count += 1);
        let principal = hand.principal.clone();
        hand.world.book(|book| book.answered(principal, "claim_runs", params, answer.clone()));
        for run in answer["runs"].as_array().unwrap() {
            do_run(&mut hand, run, &mut rng).await;
        }
    }
}

async fn do_run(hand: &mut Hand, run: &Value, rng: &mut StdRng) {
    let (run_id, token) = (text(run, "run_id"), &run["lease_token"]);
    // A claim and its run make what is said of it the only one of its kind.
    let mark = format!("{run_id} {token}");
    let said = |more: Value| {
        let mut params = json!({ "run_id": run_id, "lease_token": token });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    if rng.random_bool(0.3) {
        // It may come too late on a busy machine.
        match hand.ask("heartbeat_run", &said(json!({}))).await {
            Ok(kept) => assert_eq!(kept["run_id"], run_id),
            Err(refusal) => assert_eq!(refusal["details"]["cause"], "late_report", "{mark}: {refusal}"),
        }
    }
    if rng.random_bool(0.4) {
        let progress = json!({ "percent": 50, "summary": mark });
        let report =
            json!({ "progress": progress, "checkpoint_refs": [mark], "idempotency_key": format!("report {mark}") });
        drop(hand.write("report_run", said(report)).await);
    }
    if !run["job_id"].is_null() && rng.random_bool(0.3) {
        // Not in the words of an end: where the worker goes silent now, this is what stays.
        let result = json!({ "summary": format!("reported {mark}"), "output_refs": [mark] });
        let report = json!({ "result": result, "idempotency_key": format!("result {mark}") });
        drop(hand.write("report_run", said(report)).await);
    }
    let failure = |retryable: bool| json!({ "error": { "category": "test", "message": mark, "retryable": retryable } });
    let (method, mut end) = match rng.random_range(0..100) {
        0..65 => ("complete_run", json!({ "summary": mark, "output_refs": [mark] })),
        65..80 => ("fail_run", failure(true)),
        80..84 => ("fail_run", failure(false)),
        84..91 => ("release_run", json!({ "reason": mark })),
        // Whether an item was given up is looked up by who asked for it.
        91..95 if run["job_id"].is_null() => {
            missed(hand, run).await;
            ("complete_run", json!({ "summary": mark }))
        }
        _ => return,
    };
    end["idempotency_key"] = json!(format!("end {mark}"));
    let end = said(end);
    match hand.write(method, end.clone()).await {
        Err(_) => hand.world.book(|book| book.refused.push(mark)),
        Ok(answer) if rng.random_bool(0.1) => {
            assert_eq!(hand.ask(method, &end).await, Ok(answer), "the same key gets the same answer");
        }
        Ok(_) => {}
    }
}

/// Says nothing until the run is given up.
async fn missed(hand: &mut Hand, run: &Value) {
    let given_up = |record: &Value| {
        let own = attempts(record).iter().find(|attempt| attempt["run_id"] == run["run_id"]);
        !is_open(own.unwrap_or_else(|| panic!("{run} is not in {record}")))
    };
    hand.until(text(run, "task_id"), given_up).await;
}
