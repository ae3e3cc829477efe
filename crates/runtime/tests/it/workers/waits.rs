//! Waiting for a run: asleep, in line, and never missing one.

use futures::future::join_all;
use futures::poll;
use serde_json::json;

use super::yard::{PATIENCE, Worker, Yard};

/// A wait that would be over only after the test is.
fn long() -> serde_json::Value {
    json!({ "wait_ms": 60_000 })
}

/// Lets a claim run until it sleeps in line.
async fn asleep(claim: &mut std::pin::Pin<&mut (impl Future + ?Sized)>) {
    for _ in 0..50 {
        assert!(poll!(claim.as_mut()).is_pending());
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_run_that_comes_wakes_who_waits() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["a", "b"], &[]).await;
    let (session_id, run) = tokio::join!(
        async {
            tokio::task::yield_now().await;
            yard.task("b", json!({})).await
        },
        worker.one(long()),
    );
    assert_eq!(run.session_id, session_id);
}

#[tokio::test]
async fn the_time_may_be_over_first() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    assert_eq!(worker.claim(json!({ "wait_ms": 1 })).await, []);
    yard.task("q", json!({})).await;
    worker.one(json!({})).await;
}

#[tokio::test]
async fn a_worker_that_went_away_is_passed_over() {
    let yard = Yard::new().await;
    let (gone, there) = (yard.worker("gone", &["q"], &[]).await, yard.worker("there", &["q"], &[]).await);
    let mut claim = Box::pin(gone.claim(long()));
    asleep(&mut claim.as_mut()).await;
    let mut waits = Box::pin(there.one(long()));
    asleep(&mut waits.as_mut()).await;
    // The run wakes the first in line, whose client goes before it can look.
    let session_id = yard.task("q", json!({})).await;
    drop(claim);
    let run = tokio::time::timeout(PATIENCE, waits).await.expect("the wake-up was passed on");
    assert_eq!(run.session_id, session_id);
}

#[tokio::test]
async fn a_run_that_is_given_back_wakes_the_next() {
    let yard = Yard::new().await;
    yard.task("q", json!({})).await;
    let (first, second) = (yard.worker("first", &["q"], &[]).await, yard.worker("second", &["q"], &[]).await);
    let run = first.one(json!({})).await;
    let mut waits = Box::pin(second.one(long()));
    asleep(&mut waits.as_mut()).await;
    let (again, _) = tokio::join!(waits, first.release(&run));
    assert_eq!(again.run_id, run.run_id);
}

#[tokio::test]
async fn a_closing_server_sends_those_who_wait_away() {
    let yard = Yard::new().await;
    let worker = yard.worker("w", &["q"], &[]).await;
    let mut claim = Box::pin(worker.claim(long()));
    asleep(&mut claim.as_mut()).await;
    yard.runtime.begin_close();
    assert_eq!(claim.await, []);
}

/// The promise of the whole: many who wait, many runs that come in bursts, each run to one of them, none left lying.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_run_finds_a_waiting_worker() {
    const RUNS: usize = 200;
    let yard = Yard::new().await;
    let mut workers = Vec::new();
    for number in 0..40 {
        let capabilities: &[&str] = if number % 2 == 0 { &["gpu"] } else { &[] };
        workers.push(yard.worker(&format!("w{number}"), &["a", "b"], capabilities).await);
    }
    let (sender, mut claimed) = tokio::sync::mpsc::unbounded_channel();
    let work = |worker: Worker| {
        let sender = sender.clone();
        tokio::spawn(async move {
            loop {
                for run in worker.claim(long()).await {
                    drop(sender.send(run.run_id.clone()));
                }
            }
        })
    };
    let tasks: Vec<_> = workers.into_iter().map(work).collect();
    let make = (0..RUNS).map(|number| {
        let capabilities = if number % 5 == 0 { json!(["gpu"]) } else { json!([]) };
        yard.task(if number % 3 == 0 { "a" } else { "b" }, json!({ "required_capabilities": capabilities }))
    });
    join_all(make).await;
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < RUNS {
        let run = tokio::time::timeout(PATIENCE, claimed.recv()).await.expect("no run is forgotten").unwrap();
        assert!(seen.insert(run), "a run was claimed twice");
    }
    for task in tasks {
        task.abort();
    }
    assert!(claimed.try_recv().is_err(), "and none that is not there");
}
