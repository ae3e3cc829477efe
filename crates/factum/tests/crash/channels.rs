//! The same for messaging channels: publishers with and without keys and readers that resume, over every transport, while
//! the server is killed. What all of them were told is held against what channels promise.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use factum_api::grpc::proto::SubscribeRequest;
use factum_testkit::channel_history::{ChannelHistory, Outcome, Publish, Read, ReadKind, Seen};
use factum_testkit::clients::{A2a, Grpc, Http, Rpc, WebSocket};
use factum_testkit::{Client, Launch, Reader, within};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::kills::*;

const CHANNELS: usize = 4;
const WRITERS: usize = 30;
const READERS: usize = 8;

/// What everybody shares.
struct World {
    address: String,
    channels: Vec<String>,
    began: Instant,
    generation: watch::Sender<u64>,
    acknowledged: watch::Sender<usize>,
    history: Mutex<ChannelHistory>,
}

impl World {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn channel(&self, number: usize) -> &str {
        &self.channels[number % CHANNELS]
    }

    fn published(&self, publish: Publish) {
        self.history.lock().unwrap().published(publish);
    }

    fn read(&self, read: Read) {
        self.history.lock().unwrap().read(read);
    }
}

fn token(writer: usize) -> String {
    format!("dev:agent://w{writer}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn channels_keep_their_promises_under_kill_nine() {
    let (seed, kills) = plan();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut server = Launch::dev(BINARY, &data).start().await;
    let mut channels = Vec::new();
    let members: Vec<Value> =
        (0..WRITERS).map(|writer| json!({ "principalId": format!("agent://w{writer}") })).collect();
    for _ in 0..CHANNELS {
        let made = server.http(None).call("channels/create", json!({ "members": members })).await.unwrap();
        channels.push(made["channel"]["id"].as_str().unwrap().to_owned());
    }
    let world = Arc::new(World {
        address: server.address().to_owned(),
        channels,
        began: Instant::now(),
        generation: watch::Sender::new(0),
        acknowledged: watch::Sender::new(0),
        history: Mutex::default(),
    });
    let (mut writers, mut readers) = (JoinSet::new(), JoinSet::new());
    for number in 0..WRITERS {
        writers.spawn(write(world.clone(), number, StdRng::seed_from_u64(seed ^ (number as u64 + 1))));
    }
    let (finish, finished) = watch::channel(None);
    for number in 0..READERS {
        readers.spawn(follow(world.clone(), number, finished.clone()));
    }
    writers.spawn(look(world.clone(), StdRng::seed_from_u64(!seed)));
    kill_in_a_loop(&world.generation, &world.acknowledged, &mut server, kills, StdRng::seed_from_u64(seed)).await;
    world.generation.send_replace(END);
    join_all("the writers", &mut writers).await;

    let settled_at = world.now();
    let http = server.http(None);
    let mut counts = Vec::new();
    for channel in &world.channels {
        let read = pages(&world, &http, channel, 0).await.unwrap();
        counts.push(read.seen.len() as u64);
        world.read(read);
    }
    finish.send_replace(Some((settled_at, counts)));
    join_all("the readers", &mut readers).await;
    check(&world, seed);
    server.term().await;
    let said = verify(&data, seed).await;
    assert!(said.contains(&format!("{CHANNELS} channels")), "{said}");
}

async fn join_all(what: &str, tasks: &mut JoinSet<()>) {
    within(what, async {
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
    })
    .await;
}

fn check(world: &World, seed: u64) {
    let history = world.history.lock().unwrap();
    let violations = history.violations();
    let first: Vec<String> = violations.iter().take(10).map(ToString::to_string).collect();
    assert!(violations.is_empty(), "seed {seed}: {} violations, the first: {first:#?}", violations.len());
    let (mut acknowledged, mut unknown, mut refused) = (0, 0, 0);
    for publish in history.publishes() {
        match publish.outcome {
            Outcome::Acknowledged { .. } => acknowledged += 1,
            Outcome::Unknown => unknown += 1,
            Outcome::Refused { .. } => refused += 1,
        }
    }
    let seen: usize = history.reads().iter().map(|read| read.seen.len()).sum();
    eprintln!("{acknowledged} acknowledged, {unknown} of unknown outcome, {refused} refused, {seen} shown");
    assert!(acknowledged > WRITERS && unknown > 0 && seen > 0, "nothing was tried");
    assert_eq!(refused, 0);
}

/// Every transport takes its share of the writers.
async fn connect(world: &World, writer: usize) -> Option<Box<dyn Client>> {
    let (address, token) = (&world.address, Some(token(writer)));
    let token = token.as_deref();
    Some(match writer % 5 {
        0 => Box::new(Http::new(address, token)),
        1 => Box::new(Rpc::new(address, token)),
        2 => Box::new(Grpc::open(address, token)),
        3 => Box::new(A2a::new(address, token)),
        _ => Box::new(WebSocket::open(address, token).await.ok()?),
    })
}

/// Publishes message after message. One with a key is sent until it is answered; one without is sent once, whatever comes
/// of it.
async fn write(world: Arc<World>, writer: usize, mut rng: StdRng) {
    let mut generation = world.generation.subscribe();
    let mut client = None;
    for number in 0.. {
        let content = format!("w{writer}-{number}");
        let key = rng.random_bool(0.6).then(|| content.clone());
        loop {
            let seen = *within("a server", generation.wait_for(is_up)).await.unwrap();
            if client.is_none() {
                client = connect(&world, writer).await;
            }
            let answered = match client.as_deref() {
                Some(client) => attempt(&world, client, writer, &content, key.as_deref()).await,
                None => false,
            };
            if answered && !(key.is_some() && rng.random_bool(0.1)) {
                break;
            }
            if !answered {
                client = None;
                // It died under us: there is no point in asking before it is back.
                if seen != END {
                    let changed = generation.wait_for(|generation| *generation != seen);
                    drop(tokio::time::timeout(Duration::from_secs(1), changed).await);
                }
                if key.is_none() {
                    break;
                }
            }
        }
        if *generation.borrow() == END {
            return;
        }
        // Other facts stand between the messages.
        if rng.random_bool(0.05)
            && let Some(client) = client.as_deref()
        {
            drop(
                client
                    .call("channels/markRead", json!({ "channelId": world.channel(writer), "sequence": number }))
                    .await,
            );
        }
    }
}

/// One attempt, written down. Whether it was answered.
async fn attempt(world: &World, client: &dyn Client, writer: usize, content: &str, key: Option<&str>) -> bool {
    let channel = world.channel(writer);
    let params = json!({ "channelId": channel, "parts": [{ "type": "text", "text": content }], "idempotencyKey": key });
    let started_at = world.now();
    let answer = client.call("channels/publish", params).await;
    let outcome = match &answer {
        Ok(answer) => Outcome::Acknowledged {
            at: world.now(),
            sequence: answer["event"]["sequence"].as_u64().unwrap(),
            message_id: answer["event"]["id"].as_str().unwrap().to_owned(),
        },
        // A server that closes may have written what it does not answer.
        Err(error) if error["code"] == "transport" || error["code"] == "unavailable" => Outcome::Unknown,
        Err(error) => panic!("{content}: {error}"),
    };
    world.published(Publish {
        channel: channel.to_owned(),
        client: format!("w{writer}"),
        author: format!("agent://w{writer}"),
        started_at,
        key: key.map(str::to_owned),
        content: content.to_owned(),
        outcome,
    });
    if answer.is_ok() {
        world.acknowledged.send_modify(|count| *count += 1);
    }
    answer.is_ok()
}

fn seen(event: &Value) -> Seen {
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{event}")).to_owned();
    Seen {
        sequence: event["sequence"].as_u64().unwrap_or_else(|| panic!("{event}")),
        message_id: text(&event["id"]),
        content: text(&event["parts"][0]["text"]),
    }
}

/// Follows a channel from its beginning across all restarts, until it has seen everything there is.
async fn follow(world: Arc<World>, number: usize, mut finished: watch::Receiver<Option<(Duration, Vec<u64>)>>) {
    let mut generation = world.generation.subscribe();
    let (at, channel) = (number % CHANNELS, world.channel(number).to_owned());
    let started_at = world.now();
    let mut seen_all: Vec<Seen> = Vec::new();
    loop {
        within("a server", generation.wait_for(is_up)).await.unwrap();
        let last = seen_all.last().map_or(0, |seen| seen.sequence);
        let Some(mut events) = open(&world, number / CHANNELS + number, &channel, last).await else {
            tokio::task::yield_now().await;
            continue;
        };
        loop {
            let last = seen_all.last().map_or(0, |seen| seen.sequence);
            let done = |finished: &Option<(Duration, Vec<u64>)>| {
                finished.as_ref().is_some_and(|(_, counts)| counts[at] <= last)
            };
            let event = tokio::select! {
                biased;
                event = events.recv() => event,
                settled = finished.wait_for(done) => {
                    let settled_at = settled.unwrap().as_ref().unwrap().0;
                    let kind = ReadKind::SettledStream { settled_at };
                    let reader = format!("r{number}");
                    let ended_at = world.now();
                    return world.read(Read { channel, reader, started_at, ended_at, after: 0, kind, seen: seen_all });
                }
            };
            let Some(event) = event else { break };
            seen_all.push(seen(&event));
        }
    }
}

/// A stream behind a sequence over one of the transports, as its messages. Ends when the stream does.
async fn open(world: &World, over: usize, channel: &str, last: u64) -> Option<mpsc::Receiver<Value>> {
    let (sender, events) = mpsc::channel(64);
    let params = json!({ "channelId": channel, "sinceSequence": last });
    match over % 4 {
        0 => {
            let id = last.to_string();
            let response =
                A2a::new(&world.address, None).stream(&json!({ "channelId": channel }), Some(&id)).await.ok()?;
            let mut reader = Reader::of_channel(response);
            tokio::spawn(async move {
                while let Some(event) = reader.next().await {
                    if sender.send(event.data["result"]["event"].clone()).await.is_err() {
                        return;
                    }
                }
            });
        }
        1 => {
            let path = format!("/v1/channels/{channel}/events");
            let request = Http::new(&world.address, None).get(&path).header("last-event-id", last.to_string());
            let response = request.send().await.ok()?;
            assert_eq!(response.status(), 200);
            let mut reader = Reader::of_channel(response);
            tokio::spawn(async move {
                while let Some(event) = reader.next().await {
                    if sender.send(event.data["event"].clone()).await.is_err() {
                        return;
                    }
                }
            });
        }
        2 => {
            let ws = WebSocket::open(&world.address, None).await.ok()?;
            ws.call("channels/stream", params).await.ok()?;
            tokio::spawn(async move {
                while let Some(message) = ws.next().await {
                    if sender.send(message["params"]["event"]["event"].clone()).await.is_err() {
                        return;
                    }
                }
            });
        }
        _ => {
            let request = SubscribeRequest { channel: params.to_string(), ..Default::default() };
            let mut stream = Grpc::open(&world.address, None).subscribe(request).await.ok()?;
            tokio::spawn(async move {
                while let Ok(Some(message)) = stream.message().await {
                    let envelope: Value = serde_json::from_str(&message.event).unwrap();
                    if sender.send(envelope["event"].clone()).await.is_err() {
                        return;
                    }
                }
            });
        }
    }
    Some(events)
}

/// Reads histories from anywhere to their end, again and again.
async fn look(world: Arc<World>, mut rng: StdRng) {
    let mut generation = world.generation.subscribe();
    let http = Http::new(&world.address, None);
    let mut highest = [0; CHANNELS];
    while *within("a server", generation.wait_for(is_up)).await.unwrap() != END {
        let at = rng.random_range(0..CHANNELS);
        let after = rng.random_range(0..=highest[at]);
        let Some(read) = pages(&world, &http, &world.channels[at], after).await else { continue };
        highest[at] = read.seen.last().map_or(highest[at], |seen| seen.sequence);
        world.read(read);
    }
}

/// All pages behind a sequence, as one read. `None` where the server died meanwhile.
async fn pages(world: &World, http: &Http, channel: &str, after: u64) -> Option<Read> {
    let started_at = world.now();
    let mut params = json!({ "channelId": channel, "sinceSequence": after, "pageSize": 200 });
    let mut all = Vec::new();
    loop {
        let page = http.call("channels/history", params.clone()).await.ok()?;
        all.extend(page["events"].as_array().unwrap().iter().map(seen));
        match page.get("nextPageToken") {
            Some(token) => params["pageToken"] = token.clone(),
            None => break,
        }
    }
    let (reader, ended_at) = ("pages".to_owned(), world.now());
    Some(Read { channel: channel.to_owned(), reader, started_at, ended_at, after, kind: ReadKind::LastPage, seen: all })
}
