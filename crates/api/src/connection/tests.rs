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
    store: Arc<MemoryStore>,
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
        let store = Arc::new(MemoryStore::new());
        let runtime = Runtime::start(store.clone(), blobs, runtime).await.unwrap();
        let auth = Authenticator::new(runtime.clone(), AuthOptions::default()).await.unwrap();
        let metrics = Arc::new(Metrics::new(Vec::new()));
        let heartbeat = Duration::from_secs(3_600);
        let state = State::new(runtime, auth, true, TransportLimits::default(), heartbeat, metrics);
        let mut world = Self { store, state: Arc::new(state), channel_id: String::new(), _dir: dir };
        let created =
            world.call("channels/create", json!({ "name": "lab", "members": [{ "principalId": MEMBER }] })).await;
        created["channel"]["id"].as_str().expect("an id").clone_into(&mut world.channel_id);
        world
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
    tokio::time::timeout(Duration::from_secs(20), over).await.expect("it is followed no longer");
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
