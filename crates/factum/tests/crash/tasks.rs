//! The same for tasks, batches and child agents: owners make graphs and tend them, others ask for batches, keep schedules and
//! bring up families, workers claim runs and end them in every way there is, over every transport, while the server is killed.
//! What each of them was told is held against the log and the records in the end.

mod batches;
mod book;
mod check;
mod check_family;
mod check_jobs;
mod family;
mod found;
mod hand;
mod owner;
mod worker;

use std::sync::{Arc, Mutex};

use factum_testkit::{Client, Launch, within};
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::kills::*;
use book::Book;

const OWNERS: usize = 6;
const BATCHERS: usize = 3;
const PARENTS: usize = 2;
const WORKERS: usize = 10;
/// The shortest there is: whoever goes silent is missed soon.
const LEASE_MS: u64 = 1_000;

/// What everybody shares.
struct World {
    address: String,
    generation: watch::Sender<u64>,
    acknowledged: watch::Sender<usize>,
    book: Mutex<Book>,
}

impl World {
    fn book<T>(&self, write: impl FnOnce(&mut Book) -> T) -> T {
        write(&mut self.book.lock().unwrap())
    }
}

/// The session of an owner.
fn session(owner: usize) -> String {
    format!("tasks-{owner}")
}

/// The sessions of everybody who has one.
fn sessions() -> impl Iterator<Item = String> {
    let batches = (0..BATCHERS).map(batches::session);
    (0..OWNERS).map(session).chain(batches).chain((0..PARENTS).map(family::session))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_keep_their_promises_under_kill_nine() {
    let (seed, kills) = plan();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut server = Launch::dev(BINARY, &data).start().await;
    for session_id in sessions() {
        server.http(None).call("create_session", json!({ "session_id": session_id })).await.unwrap();
    }
    let world = Arc::new(World {
        address: server.address().to_owned(),
        generation: watch::Sender::new(0),
        acknowledged: watch::Sender::new(0),
        book: Mutex::default(),
    });
    let mut everybody = JoinSet::new();
    let rng = |number: usize| StdRng::seed_from_u64(seed ^ (number as u64 + 1));
    for number in 0..OWNERS {
        everybody.spawn(owner::own(world.clone(), number, rng(number)));
    }
    for number in 0..WORKERS {
        everybody.spawn(worker::work(world.clone(), number, rng(OWNERS + number)));
    }
    for number in 0..BATCHERS {
        everybody.spawn(batches::ask_for_batches(world.clone(), number, rng(100 + number)));
    }
    for number in 0..PARENTS {
        everybody.spawn(family::bring_up(world.clone(), number, rng(200 + number)));
    }
    kill_in_a_loop(&world.generation, &world.acknowledged, &mut server, kills, StdRng::seed_from_u64(seed)).await;
    world.generation.send_replace(END);
    within("owners and workers", async {
        while let Some(ended) = everybody.join_next().await {
            ended.unwrap();
        }
    })
    .await;

    let found = found::come_to_rest(&server).await;
    let book = world.book(std::mem::take);
    check::check(&book, &found, seed);
    check::ask_again(&book, &server, seed).await;
    server.term().await;
    verify(&data, seed).await;
}
