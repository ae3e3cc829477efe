//! What a client that keeps its connection gets, in which order, and what it does not get any more. Nobody writes to a wire here: the
//! queue is what a client would read.

use std::time::Duration;

use factum_model::registry::Scopes;
use factum_runtime::{Agents, Options, Runtime, Secret};
use factum_store::{Blobs, MemoryStore};
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::auth::{AuthOptions, Authenticator};
use crate::limits::TransportLimits;
use crate::metrics::Metrics;

struct World {
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
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(dir.path().join("blobs")).unwrap();
        let runtime = Options::new(Agents::demo(), Secret::new([7; 32]));
        let runtime = Runtime::start(Arc::new(MemoryStore::new()), blobs, runtime).await.unwrap();
        let auth = Authenticator::new(runtime.clone(), AuthOptions::default()).await.unwrap();
        let metrics = Arc::new(Metrics::new(Vec::new()));
        let heartbeat = Duration::from_secs(3_600);
        let state = State::new(runtime, auth, true, TransportLimits::default(), heartbeat, metrics);
        let mut world = Self { state: Arc::new(state), channel_id: String::new(), _dir: dir };
        let created =
            world.call("channels/create", json!({ "name": "lab", "members": [{ "principalId": MEMBER }] })).await;
        created["channel"]["id"].as_str().expect("an id").clone_into(&mut world.channel_id);
        world
    }

    async fn call(&self, method: &str, params: Value) -> Value {
        let answer = self.state.call(&of(OWNER), method, &params.to_string()).await;
        serde_json::from_str(answer.unwrap().get()).unwrap()
    }

    async fn publish(&self, count: u64) {
        for at in 0..count {
            let params = json!({ "channelId": self.channel_id, "parts": [{ "text": at.to_string() }] });
            self.call("channels/publish", params).await;
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
    tokio::time::timeout(Duration::from_secs(20), all).await.expect("they are queued");
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
