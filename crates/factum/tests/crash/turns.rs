//! `kill -9` in a loop under 64 writers and readers that resume. Nothing acknowledged is lost, nothing is doubled, skipped or
//! reordered for anybody, and a repeated key gets its first answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use factum_testkit::clients::{Grpc, Http, Rpc, WebSocket};
use factum_testkit::history::Acknowledged;
use factum_testkit::{Client, History, Launch, Reader, Server, within};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::kills::*;

const WRITERS: usize = 64;
const SESSIONS: usize = 32;
const READERS: usize = 8;
/// How many acknowledged turns are asked for again in the end.
const REPEATS: usize = 300;
/// How many turns may wait in a thread before its writers let it catch up.
const QUEUE_MAX: u64 = 20;

/// What everybody shares.
struct World {
    address: String,
    /// Counts the starts; even while the server is up, odd while it is down. `u64::MAX` ends the writers.
    generation: watch::Sender<u64>,
    acknowledged: watch::Sender<usize>,
    history: Mutex<History>,
    answers: Mutex<Vec<(Value, Value)>>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_under_kill_nine() {
    let (seed, kills) = plan();

    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut server = Launch::dev(BINARY, &data).start().await;
    for number in 0..SESSIONS {
        server.http(None).call("create_session", json!({ "session_id": session(number) })).await.unwrap();
    }
    let world = Arc::new(World {
        address: server.address().to_owned(),
        generation: watch::Sender::new(0),
        acknowledged: watch::Sender::new(0),
        history: Mutex::default(),
        answers: Mutex::default(),
    });
    let mut writers = JoinSet::new();
    for number in 0..WRITERS {
        writers.spawn(write(world.clone(), number, StdRng::seed_from_u64(seed ^ (number as u64 + 1))));
    }
    let mut readers = JoinSet::new();
    let (finish, finished) = watch::channel(None);
    for number in 0..READERS {
        readers.spawn(read(world.clone(), number, finished.clone()));
    }
    kill_in_a_loop(&world.generation, &world.acknowledged, &mut server, kills, StdRng::seed_from_u64(seed)).await;
    world.generation.send_replace(END);
    within("the writers", async {
        while let Some(ended) = writers.join_next().await {
            ended.unwrap()
        }
    })
    .await;

    let stored = come_to_rest(&server).await;
    let lengths: BTreeMap<String, u64> = stored.iter().map(|(id, events)| (id.clone(), events.len() as u64)).collect();
    finish.send_replace(Some(lengths));
    within("the readers", async {
        while let Some(ended) = readers.join_next().await {
            ended.unwrap()
        }
    })
    .await;

    check(&world, &server, &stored, seed).await;
    server.term().await;
    verify(&data, seed).await;
}

fn session(number: usize) -> String {
    format!("session-{}", number % SESSIONS)
}

/// Every transport takes its share of the writers.
async fn connect(world: &World, writer: usize) -> Option<Box<dyn Client>> {
    Some(match writer % 4 {
        0 => Box::new(Http::new(&world.address, None)),
        1 => Box::new(Rpc::new(&world.address, None)),
        2 => Box::new(Grpc::open(&world.address, None)),
        _ => Box::new(WebSocket::open(&world.address, None).await.ok()?),
    })
}

/// Submits turn after turn, each with its own id and key, and repeats one until it is answered.
async fn write(world: Arc<World>, writer: usize, mut rng: StdRng) {
    let mut generation = world.generation.subscribe();
    let session_id = session(writer);
    // Turns that run, turns that only wait and are interrupted, turns that queue up.
    let (agent, on_busy) = [("demo", "interrupt"), ("waiting", "interrupt"), ("demo", "queue")][writer % SESSIONS % 3];
    let mut client = None;
    for number in 0.. {
        if *generation.borrow() == END {
            return;
        }
        let turn_id = format!("w{writer}-{number}");
        let params = json!({
            "session_id": session_id, "turn_id": turn_id, "idempotency_key": turn_id, "agent": agent, "on_busy": on_busy,
            "input": [{ "type": "text", "text": format!("words of {turn_id}") }],
        });
        let answer = insist(&world, &mut generation, &mut client, writer, "submit_turn", &params).await;
        let sequence = answer["sequence"].as_u64().unwrap();
        let ack = Acknowledged { writer: format!("w{writer}"), session_id: session_id.clone(), turn_id, sequence };
        world.history.lock().unwrap().acknowledged(ack);
        world.acknowledged.send_modify(|count| *count += 1);
        if rng.random_bool(0.1) {
            let again = insist(&world, &mut generation, &mut client, writer, "submit_turn", &params).await;
            assert_eq!(again, answer, "the same key gets the same answer");
        }
        world.answers.lock().unwrap().push((params, answer.clone()));
        if answer["queue_position"].as_u64() > Some(QUEUE_MAX) {
            catch_up(&world, &mut generation, &mut client, writer, &session_id).await;
        }
    }
}

/// Waits until a thread has worked off its queue.
async fn catch_up(
    world: &World,
    generation: &mut watch::Receiver<u64>,
    client: &mut Option<Box<dyn Client>>,
    writer: usize,
    session_id: &str,
) {
    let mut look = tokio::time::interval(Duration::from_millis(20));
    loop {
        look.tick().await;
        let queue = insist(world, generation, client, writer, "get_queue", &json!({ "session_id": session_id })).await;
        if (queue["queued_turns"].as_array().unwrap().len() as u64) < QUEUE_MAX / 2 {
            return;
        }
    }
}

/// Asks until there is an answer: through lost connections, restarts and servers that are closing.
async fn insist(
    world: &World,
    generation: &mut watch::Receiver<u64>,
    client: &mut Option<Box<dyn Client>>,
    writer: usize,
    method: &str,
    params: &Value,
) -> Value {
    loop {
        let seen = *within("a server", generation.wait_for(is_up)).await.unwrap();
        if client.is_none() {
            *client = connect(world, writer).await;
        }
        let outcome = match client.as_deref() {
            Some(client) => client.call(method, params.clone()).await,
            None => Err(json!({ "code": "transport" })),
        };
        let error = match outcome {
            Ok(answer) => return answer,
            Err(error) => error,
        };
        assert!(error["code"] == "transport" || error["code"] == "unavailable", "{method} {params}: {error}");
        *client = None;
        // It died under us: there is no point in asking before it is back. A generation that is over needs no waiting.
        if seen != END {
            let changed = generation.wait_for(|generation| *generation != seen);
            drop(tokio::time::timeout(Duration::from_secs(1), changed).await);
        }
    }
}

/// Follows a session from its beginning across all restarts, until it has seen everything there is.
async fn read(world: Arc<World>, number: usize, mut finished: watch::Receiver<Option<BTreeMap<String, u64>>>) {
    let mut generation = world.generation.subscribe();
    let (name, session_id) = (format!("r{number}"), session(number * (SESSIONS / READERS) + number % 3));
    let http = Http::new(&world.address, None);
    let path = format!("/v1/sessions/{session_id}/events");
    let mut last = 0;
    loop {
        within("a server", generation.wait_for(is_up)).await.unwrap();
        let id = last.to_string();
        let request = http.get(&path).header("accept", "text/event-stream").header("last-event-id", &id).send().await;
        let Ok(response) = request else {
            tokio::task::yield_now().await;
            continue;
        };
        assert_eq!(response.status(), 200, "{name}");
        let mut reader = Reader::new(response);
        loop {
            let done = |finished: &Option<BTreeMap<String, u64>>| {
                finished.as_ref().is_some_and(|all| all[&session_id] <= last)
            };
            let event = tokio::select! {
                biased;
                event = reader.next() => event,
                _ = finished.wait_for(done) => return,
            };
            let Some(event) = event else { break };
            last = event.sequence();
            world.history.lock().unwrap().seen(&name, &session_id, &event.data);
        }
    }
}

/// Stops what would run for ever, waits for what runs, and reads everything.
async fn come_to_rest(server: &Server) -> BTreeMap<String, Vec<Value>> {
    let http = server.http(None);
    let mut stored = BTreeMap::new();
    for number in 0..SESSIONS {
        let session_id = session(number);
        factum_testkit::eventually("an idle session", async || {
            let thread = http.call("get_thread_read", json!({ "session_id": session_id })).await.unwrap();
            if thread["active_turn"]["agent"] == "waiting" {
                http.call("interrupt_turn", json!({ "session_id": session_id })).await.unwrap();
            }
            (thread["active_turn_id"].is_null() && thread["queued_turns"] == json!([])).then_some(())
        })
        .await;
        let (mut events, mut after, mut more) = (Vec::new(), 0, true);
        while more {
            let params = json!({ "session_id": session_id, "after": after, "limit": 1000 });
            let page = http.call("read_events", params).await.unwrap();
            events.extend(page["events"].as_array().unwrap().iter().cloned());
            after = page["next_after"].as_u64().unwrap();
            more = page["has_more"] == true;
        }
        stored.insert(session_id, events);
    }
    stored
}

async fn check(world: &World, server: &Server, stored: &BTreeMap<String, Vec<Value>>, seed: u64) {
    let history = world.history.lock().unwrap().clone();
    let faults = history.faults(stored);
    assert!(
        faults.is_empty(),
        "seed {seed}: {} faults, the first: {:#?}",
        faults.len(),
        &faults[..faults.len().min(10)]
    );
    let answers = world.answers.lock().unwrap().clone();
    let mut rng = StdRng::seed_from_u64(seed);
    for _ in 0..REPEATS {
        let (params, answer) = &answers[rng.random_range(0..answers.len())];
        assert_eq!(server.http(None).call("submit_turn", params.clone()).await.as_ref(), Ok(answer), "seed {seed}");
    }
    let events: usize = stored.values().map(Vec::len).sum();
    let (acks, seen) = (history.acknowledgements().len(), history.observations());
    eprintln!("{acks} acknowledgements, {events} events stored, {seen} shown");
    assert!(seen > 0 && acks > WRITERS);
}
