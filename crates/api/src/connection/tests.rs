//! What a client that keeps its connection gets, in which order, and what it does not get any more. Nobody writes to a wire here: the
//! queue is what a client would read.

use std::time::Duration;

use factum_model::registry::Scopes;
use factum_runtime::{Agents, Options, Runtime, Secret};
use factum_store::{Blobs, EmbeddedStore, MemoryStore, Store};
use futures::stream::BoxStream;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::auth::{AuthOptions, Authenticator};
use crate::limits::TransportLimits;
use crate::metrics::Metrics;

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(20);

struct World<S = MemoryStore> {
    store: Arc<S>,
    state: Arc<State>,
    channel_id: String,
    _dir: TempDir,
}

fn of(principal: &str) -> Caller {
    Caller::new(principal, "acme", Scopes::member())
}

const OWNER: &str = "agent://owner";
const MEMBER: &str = "agent://member";

impl World {
    /// A channel of two.
    async fn open() -> Self {
        let mut world = Self::on(Arc::new(MemoryStore::new())).await;
        let created =
            world.call("channels/create", json!({ "name": "lab", "members": [{ "principalId": MEMBER }] })).await;
        created["channel"]["id"].as_str().expect("an id").clone_into(&mut world.channel_id);
        world
    }
}

impl<S: Store + 'static> World<S> {
    async fn on(store: Arc<S>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(dir.path().join("blobs")).unwrap();
        let runtime = Options::new(Agents::demo(), Secret::new([7; 32]));
        let runtime = Runtime::start(store.clone(), blobs, runtime).await.unwrap();
        let auth = Authenticator::new(runtime.clone(), AuthOptions::default()).await.unwrap();
        let metrics = Arc::new(Metrics::new(Vec::new()));
        let heartbeat = Duration::from_secs(3_600);
        let state = State::new(runtime, auth, true, TransportLimits::default(), heartbeat, metrics);
        Self { store, state: Arc::new(state), channel_id: String::new(), _dir: dir }
    }

    async fn call(&self, method: &str, params: Value) -> Value {
        let answer = self.state.call(&of(OWNER), method, &params.to_string()).await;
        serde_json::from_str(answer.unwrap().get()).unwrap()
    }

    fn message(&self, text: &str) -> String {
        json!({ "channelId": self.channel_id, "parts": [{ "text": text }] }).to_string()
    }

    async fn publish(&self, count: u64) {
        for at in 0..count {
            self.state.call(&of(OWNER), "channels/publish", &self.message(&at.to_string())).await.unwrap();
        }
    }

    /// A member's connection that has asked for the channel from its beginning.
    async fn following(&self) -> (Connection, Queue) {
        let (mut connection, queue) = open(self.state.clone(), of(MEMBER), None, Transport::Stdio);
        let params = json!({ "channelId": self.channel_id, "sinceSequence": 0 });
        ask(&mut connection, channels::STREAM, params).await;
        (connection, queue)
    }
}

async fn ask(connection: &mut Connection, method: &str, params: Value) {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    assert!(connection.control(request.into()).await.is_none(), "only a connection understands it");
}

/// Until as many wait to be sent.
async fn waiting(queue: &Queue, count: usize) {
    let all = async {
        while queue.waiting() < count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, all).await.expect("they are queued");
}

/// Everything that is sent once the connection is over.
async fn sent(connection: Connection, mut queue: Queue) -> Vec<Value> {
    drop(connection);
    let mut sent = Vec::new();
    while let Some(text) = queue.next().await {
        sent.push(serde_json::from_slice(&text).unwrap());
    }
    sent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_that_names_a_stream_goes_before_what_it_brings() {
    let world = World::open().await;
    world.publish(1).await;
    let (mut connection, mut queue) = open(world.state.clone(), of(MEMBER), None, Transport::Stdio);
    let mut named = Vec::new();
    for _ in 0..60 {
        let params = json!({ "channelId": world.channel_id, "sinceSequence": 0 });
        ask(&mut connection, channels::STREAM, params).await;
        for _ in 0..2 {
            let text: Value = serde_json::from_slice(&queue.next().await.unwrap()).unwrap();
            match text["result"]["subscription_id"].as_str() {
                Some(id) => named.push(id.to_owned()),
                None => assert!(named.iter().any(|id| text["params"]["subscription_id"] == **id), "{text}"),
            }
        }
    }
}

#[tokio::test]
async fn who_was_taken_out_gets_nothing_of_what_still_waits() {
    let world = World::open().await;
    world.publish(10).await;
    let (connection, mut queue) = world.following().await;
    waiting(&queue, 11).await;
    world.call("channels/removeMember", json!({ "channelId": world.channel_id, "principalId": MEMBER })).await;
    let answer: Value = serde_json::from_slice(&queue.next().await.unwrap()).unwrap();
    assert!(answer["result"].is_object(), "{answer}");
    let ended: Value = serde_json::from_slice(&queue.next().await.unwrap()).unwrap();
    assert_eq!(ended["method"], "ended", "{ended}");
    assert_eq!(sent(connection, queue).await, Vec::<Value>::new());
}

#[tokio::test]
async fn nothing_of_a_stream_comes_behind_the_answer_that_it_is_left() {
    let world = World::open().await;
    world.publish(10).await;
    let (mut connection, queue) = world.following().await;
    waiting(&queue, 11).await;
    ask(&mut connection, "unsubscribe", json!({ "subscription_id": "sub-1" })).await;
    let sent = sent(connection, queue).await;
    assert_eq!(sent.len(), 2, "{sent:?}");
}

/// A stream that may have a hole in it is worth less than one that ends.
#[tokio::test]
async fn where_it_cannot_be_said_who_may_have_it_a_stream_ends_with_a_word() {
    let world = World::open().await;
    world.call("channels/addMember", json!({ "channelId": world.channel_id, "principalId": "agent://other" })).await;
    world.publish(10).await;
    let (mut connection, mut queue) = world.following().await;
    waiting(&queue, 11).await;
    queue.next().await.expect("the answer");
    // Somebody is taken out, so everybody is looked at again; and what that would show is never written.
    world.call("channels/removeMember", json!({ "channelId": world.channel_id, "principalId": "agent://other" })).await;
    world.store.pause();
    let (owner, message) = (of(OWNER), world.message("lost"));
    let mut publishing = Box::pin(world.state.call(&owner, "channels/publish", &message));
    assert!(futures::poll!(&mut publishing).is_pending());
    let mut next = Box::pin(queue.next());
    assert!(futures::poll!(&mut next).is_pending());
    world.store.fail_next_sync();
    world.store.resume();
    assert!(publishing.await.is_err());
    let ended: Value = serde_json::from_slice(&next.await.unwrap()).unwrap();
    assert_eq!((&ended["method"], &ended["params"]["subscription_id"]), (&json!("ended"), &json!("sub-1")), "{ended}");
    assert_eq!(ended["params"]["error"]["code"], "unavailable", "{ended}");
    // Nothing follows it any more, and nothing is sent of what still waits.
    let over = async {
        while connection.check_room().is_err() || !connection.subscriptions.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, over).await.expect("it is followed no longer");
    assert_eq!(sent(connection, queue).await, Vec::<Value>::new());
}

/// What nobody is told the name of could not be told apart, nor left.
#[tokio::test]
async fn who_wants_no_answer_gets_no_stream() {
    let world = World::open().await;
    world.publish(1).await;
    let (mut connection, queue) = open(world.state.clone(), of(MEMBER), None, Transport::Stdio);
    for (method, params) in [
        (channels::STREAM, json!({ "channelId": world.channel_id, "sinceSequence": 0 })),
        ("subscribe", json!({ "session_id": "sess_nobody" })),
        ("subscribe", json!({ "channel_id": "chn_nobody" })),
    ] {
        let notification = json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
        assert!(connection.control(notification.into()).await.is_none(), "{method}");
        assert!(connection.subscriptions.is_empty(), "{method}");
    }
    assert_eq!(sent(connection, queue).await, Vec::<Value>::new());
}

/// What a client sends at once, on a connection that stays open.
fn texts(texts: impl Iterator<Item = Value>) -> BoxStream<'static, Incoming> {
    let texts: Vec<Incoming> = texts.into_iter().map(|text| Incoming::Text(text.to_string().into())).collect();
    futures::stream::iter(texts).chain(futures::stream::pending()).boxed()
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A channel that is not in memory is read from the disk, and whoever asks for it meanwhile waits for that.
#[test]
fn a_request_and_a_stream_behind_it_are_answered_where_the_channel_is_not_in_memory() {
    // With one thread that reads what is not small, it can be kept from reading.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    runtime.unwrap().block_on(a_request_and_a_stream_behind_it());
}

async fn a_request_and_a_stream_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::on(stored(dir.path())).await;
    let mut channels = Vec::new();
    for _ in 0..16 {
        let created = world.call("channels/create", json!({ "members": [{ "principalId": MEMBER }] })).await;
        channels.push(created["channel"]["id"].clone());
    }
    world.state.runtime.close().await;
    drop(world);

    let world = World::on(stored(dir.path())).await;
    let sent = channels.iter().zip(0..).flat_map(|(channel, at)| {
        let params = json!({ "channelId": channel });
        [request(2 * at, "channels/history", &params), request(2 * at + 1, channels::STREAM, &params)]
    });
    let sent = texts(sent);
    let (mut connection, mut queue) = open(world.state.clone(), of(MEMBER), None, Transport::Stdio);
    let (reads, waits) = std::sync::mpsc::channel::<()>();
    drop(tokio::task::spawn_blocking(move || waits.recv()));
    let serving = tokio::spawn(async move { connection.serve(sent).await });
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    drop(reads);
    let mut answered = Vec::new();
    while answered.len() < 2 * channels.len() {
        let text = tokio::time::timeout(PATIENCE, queue.next()).await.expect("all of them are answered").unwrap();
        let answer: Value = serde_json::from_slice(&text).unwrap();
        assert!(answer["result"].is_object(), "{answer}");
        answered.push(answer["id"].as_u64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (0..2 * channels.len() as u64).collect::<Vec<_>>());
    serving.abort();
    world.state.runtime.close().await;
}

/// Who does not read is not written to. But what it asked for goes on, and lets go of what others need.
#[tokio::test]
async fn requests_go_on_where_their_client_does_not_read() {
    let world = World::open().await;
    let said = json!({ "channelId": world.channel_id, "parts": [{ "text": "once" }], "idempotencyKey": "k" });
    let asks = (1..80).map(|id| request(id, "nothing", &json!({})));
    let sent = texts(std::iter::once(request(0, "channels/publish", &said)).chain(asks));
    world.store.pause();
    let (mut connection, queue) = open(world.state.clone(), of(MEMBER), None, Transport::Stdio);
    let serving = tokio::spawn(async move { connection.serve(sent).await });
    // More than may wait to be sent is answered.
    waiting(&queue, 64).await;
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    world.store.resume();
    let (member, params) = (of(MEMBER), said.to_string());
    let again = world.state.call(&member, "channels/publish", &params);
    let again = tokio::time::timeout(PATIENCE, again).await.expect("the key is free again").unwrap();
    assert!(again.get().contains(r#""sequence":1"#), "{}", again.get());
    serving.abort();
}

fn stored(dir: &std::path::Path) -> Arc<EmbeddedStore> {
    Arc::new(EmbeddedStore::open(dir, factum_store::Options::default()).unwrap().0)
}
