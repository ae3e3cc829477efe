//! Seed 002 §10: the time of an answer must not tell an outsider that a private channel exists.
//!
//! How two kinds of calls are compared is in `coins`.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use factum_runtime::Agents;
use factum_store::EmbeddedStore;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

use self::coins::{DEVIATIONS_MAX, Deviations};
use super::*;
use crate::world::{TestClock, start};

// The crate of the file is built on this one.
#[path = "../../../../testkit/src/coins.rs"]
#[allow(unreachable_pub, reason = "a file of the testkit, which depends on this crate and cannot be depended on")]
mod coins;

const PAIRS: usize = 6_000;
/// Channels of each kind, so that no single key is always the warm one.
const CHANNELS: usize = 64;

async fn open(dir: &Path) -> Runtime {
    let (store, _) = EmbeddedStore::open(dir.join("data"), factum_store::Options::default()).unwrap();
    start(Arc::new(store), &TestClock::at(1_800_000_000_000), Agents::demo(), dir).await
}

/// Private channels of somebody else, with something said in each.
async fn channels(runtime: &Runtime) -> Vec<String> {
    let (owner, other) = (member("owner"), member("other"));
    let mut ids = Vec::new();
    for _ in 0..CHANNELS {
        let id = channel(runtime, &owner, &[&other]).await;
        publish(runtime, &owner, &id, "a secret").await;
        ids.push(id);
    }
    ids
}

fn params(method: &str, id: &str) -> Value {
    let mut params = match method {
        "channels/publish" => json!({ "parts": parts("x") }),
        "channels/update" => json!({ "expectedVersion": 1, "name": "mine" }),
        "channels/addMember" | "channels/removeMember" => json!({ "principalId": "agent://eve" }),
        "channels/markRead" => json!({ "sequence": 1 }),
        _ => json!({}),
    };
    params["channelId"] = json!(id);
    params
}

/// How long a refusal took.
async fn refusal_nanos(runtime: &Runtime, caller: &Caller, method: &str, params: &str) -> u128 {
    if method == "channels/stream" {
        let params = serde_json::from_str(params).unwrap();
        let started = Instant::now();
        let refused = runtime.stream_channel(caller, &params).await.err();
        let took = started.elapsed();
        assert_eq!(refused, Some(Refusal::not_found()));
        return took.as_nanos();
    }
    let started = Instant::now();
    let outcome = runtime.call_by_name(caller, method, params).await;
    let took = started.elapsed();
    assert!(matches!(outcome, Err(CallError::Refused(refusal)) if refusal == Refusal::not_found()), "{method}");
    took.as_nanos()
}

const METHODS: [&str; 10] = [
    "channels/get",
    "channels/publish",
    "channels/history",
    "channels/stream",
    "channels/presence",
    "channels/markRead",
    "channels/update",
    "channels/delete",
    "channels/addMember",
    "channels/removeMember",
];

/// How far the times of each method are apart, in a store of its own with channels of its own.
async fn measured(methods: &[&'static str], seed: u64) -> Vec<(&'static str, Deviations)> {
    let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let runtime = open(dir.path()).await;
    let there = channels(&runtime).await;
    // Ids made the same way that are not of this store.
    let absent = channels(&open(elsewhere.path()).await).await;
    let outsider = member("eve");
    // An outsider who is a member of something has rows of their own beside the ones that are missed.
    channel(&runtime, &outsider, &[]).await;
    let mut rng = StdRng::seed_from_u64(seed);
    let mut seen = Vec::new();
    for &method in methods {
        let mut pairs = Vec::with_capacity(PAIRS);
        for number in 0..PAIRS + CHANNELS {
            let at = rng.random_range(0..CHANNELS);
            let [of_there, of_absent] = [&there[at], &absent[at]].map(|id| params(method, id).to_string());
            let pair = if rng.random_bool(0.5) {
                let first = refusal_nanos(&runtime, &outsider, method, &of_there).await;
                (first, refusal_nanos(&runtime, &outsider, method, &of_absent).await)
            } else {
                let first = refusal_nanos(&runtime, &outsider, method, &of_absent).await;
                (refusal_nanos(&runtime, &outsider, method, &of_there).await, first)
            };
            // The first ones only warm up.
            if number >= CHANNELS {
                pairs.push(pair);
            }
        }
        seen.push((method, Deviations::of(&pairs)));
    }
    seen
}

/// Some ids take longer than others by where they happen to lie in memory, and which do is a coin of its own that is tossed once
/// for each store. What the code does differently is there in every store, and goes the same way.
#[tokio::test]
async fn absent_and_forbidden_take_the_same_time() {
    let told = |seen: Vec<(&'static str, Deviations)>| seen.into_iter().filter(|(_, seen)| seen.tell());
    let mut suspected: Vec<_> = told(measured(&METHODS, 2).await).collect();
    for seed in [3, 4] {
        let methods: Vec<_> = suspected.iter().map(|(method, _)| *method).collect();
        let again: Vec<_> = told(measured(&methods, seed).await).collect();
        suspected.retain(|(method, before)| {
            again.iter().any(|(other, now)| other == method && before.middle.signum() == now.middle.signum())
        });
    }
    assert!(suspected.is_empty(), "the time tells, {suspected:.1?}");
}

/// The test can fail: a difference of a twentieth of an answer's time is seen, none is not.
#[test]
fn a_small_difference_is_seen() {
    let mut rng = StdRng::seed_from_u64(1);
    let mut sample = |extra: u128| {
        let noise: u128 = (0..4).map(|_| rng.random_range(0..500_u128)).sum();
        10_000 + noise + extra
    };
    let same: Vec<_> = (0..PAIRS).map(|_| (sample(0), sample(0))).collect();
    assert!(!Deviations::of(&same).tell());
    let shifted: Vec<_> = (0..PAIRS).map(|_| (sample(500), sample(0))).collect();
    assert!(Deviations::of(&shifted).middle > DEVIATIONS_MAX);
    let rarely: Vec<_> = (0..PAIRS).map(|at| (sample(if at % 20 == 0 { 5_000 } else { 0 }), sample(0))).collect();
    assert!(Deviations::of(&rarely).tail > DEVIATIONS_MAX);
}
