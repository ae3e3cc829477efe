//! Remote channels on a runtime: what they are sent, what survives a crash, who they belong to, what they decide.

mod acks;
mod bridge;
mod cut;
mod dropped;
mod ingress;
mod presence;
mod random;
mod returns;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use factum_agent::script::Script;
use factum_model::Refusal;
use factum_model::registry::Scopes;
use factum_runtime::{Agents, CallError, Caller, Limits, Options, PeerStream, Runtime, Secret, Sources};
use factum_store::{Blobs, MemoryStore};
use serde_json::{Value, json};

use crate::world::TestClock;
use cut::Cut;

/// Longer than anything takes that works.
const PATIENCE: Duration = Duration::from_secs(20);

/// A runtime and a principal with channels.
struct Port {
    store: Arc<MemoryStore>,
    /// The store as the runtime has it.
    handle: Arc<Cut>,
    runtime: Runtime,
    clock: Arc<TestClock>,
    alice: Caller,
    limits: Limits,
    dir: tempfile::TempDir,
}

impl Port {
    async fn new() -> Port {
        Self::with(Limits::default()).await
    }

    async fn with(limits: Limits) -> Port {
        let limits = Limits { channel_sessions_max: 4, ..limits };
        let store = Arc::new(MemoryStore::new());
        let clock = TestClock::at(1_800_000_000_000);
        let dir = tempfile::tempdir().unwrap();
        let handle = Cut::new(&store);
        let runtime = start(handle.clone(), &clock, &limits, &dir).await;
        Port { store, handle, runtime, clock, alice: member("agent://alice"), limits, dir }
    }

    /// As after a crash: what was under way stops where it is, and nothing of it arrives any more.
    async fn restart(&mut self) {
        self.handle.cut().await;
        self.runtime.begin_close();
        self.handle = Cut::new(&self.store);
        self.runtime = start(self.handle.clone(), &self.clock, &self.limits, &self.dir).await;
    }

    async fn call_as(&self, caller: &Caller, method: &str, params: Value) -> Result<Value, Refusal> {
        match self.runtime.call_by_name(caller, method, &params.to_string()).await {
            Ok(result) => Ok(serde_json::from_str(result.get()).unwrap()),
            Err(CallError::Refused(refusal)) => Err(refusal),
            Err(CallError::UnknownMethod) => panic!("there is no {method}"),
        }
    }

    async fn call(&self, method: &str, params: Value) -> Value {
        self.call_as(&self.alice, method, params).await.unwrap_or_else(|refusal| panic!("{method}: {refusal:?}"))
    }

    /// A command that comes through a channel of Alice's.
    async fn through(&self, channel: &str, method: &str, params: Value) -> Result<Value, Refusal> {
        self.call_as(&self.alice.coming_through(channel.parse().unwrap()), method, params).await
    }

    async fn enroll(&self, channel: &str, more: Value) -> Value {
        self.call("enroll_channel", merged(json!({ "channel_id": channel, "peer_role": "client" }), more)).await
    }

    async fn submit_through(&self, channel: &str, text: &str, session: Option<&str>) -> String {
        let params = json!({ "session_id": session, "input": [{ "type": "text", "text": text }] });
        let answer = self.through(channel, "submit_turn", params).await.unwrap();
        answer["session_id"].as_str().unwrap().to_owned()
    }

    async fn summary(&self, channel: &str) -> Value {
        self.call("get_channel_summary", json!({ "channel_id": channel })).await
    }

    async fn stream(&self, channel: &str, cursors: &[(&str, u64)]) -> Result<PeerStream, Refusal> {
        let cursors: BTreeMap<String, u64> = cursors.iter().map(|(stream, at)| ((*stream).to_owned(), *at)).collect();
        self.runtime.stream_peer(&self.alice, &channel.parse().unwrap(), &cursors).await
    }

    async fn events(&self, session: &str) -> Vec<Value> {
        let page = self.call("read_events", json!({ "session_id": session, "limit": 1000 })).await;
        page["events"].as_array().unwrap().clone()
    }

    /// The types of a channel's own events, in order, read from the log.
    async fn own(&self, channel: &str) -> Vec<Value> {
        use factum_store::{ReadLimit, Store};
        let stream = format!("peer/acme/{channel}");
        let records = self.store.read(&stream, 1, ReadLimit::records(10_000)).await.unwrap();
        records.iter().map(|record| serde_json::from_slice(&record.bytes).unwrap()).collect()
    }

    async fn own_types(&self, channel: &str) -> Vec<String> {
        self.own(channel).await.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }
}

/// An agent whose questions run out.
const TIMEOUT: &str = r#"
name = "timeout"

[[on]]
any = true
steps = [{ tool = { name = "deploy", approval = true, timeout_ms = 60000, on_timeout = "deny", result = "done" } }]
"#;

async fn start(store: Arc<Cut>, clock: &Arc<TestClock>, limits: &Limits, dir: &tempfile::TempDir) -> Runtime {
    let scripts = vec![Script::demo(), Script::parse("timeout.toml", TIMEOUT).unwrap()];
    let mut options = Options::new(Agents::from_scripts(scripts).unwrap(), Secret::new([7; 32]));
    options.sources = Sources { clock: clock.clone(), ..Sources::default() };
    options.limits = limits.clone();
    let blobs = Blobs::open(dir.path().join("blobs")).unwrap();
    Runtime::start(store, blobs, options).await.unwrap()
}

fn member(principal: &str) -> Caller {
    Caller::new(principal, "acme", Scopes::member())
}

fn merged(mut value: Value, more: Value) -> Value {
    value.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    value
}

/// An event that arrived, with its stream.
type Arrived = (String, Value);

/// Reads until an event of a type has come; gives everything up to it, and checks that each stream is in order.
async fn read_until(stream: &mut PeerStream, kind: &str) -> Vec<Arrived> {
    let mut arrived = Vec::new();
    loop {
        arrived.extend(read(stream).await.unwrap());
        if arrived.iter().any(|(_, event)| event["type"] == kind) {
            return arrived;
        }
    }
}

async fn read(stream: &mut PeerStream) -> Result<Vec<Arrived>, Refusal> {
    let batch = tokio::time::timeout(PATIENCE, stream.next()).await.expect("something arrives")?;
    let event = |event: &Arc<factum_runtime::Published>| {
        let json: Value = serde_json::from_slice(&event.json).unwrap();
        assert_eq!(json["sequence"], event.sequence);
        (batch.stream.to_string(), json)
    };
    Ok(batch.events.iter().map(event).collect())
}

/// Everything until the stream ends, and why it does.
async fn read_to_the_end(stream: &mut PeerStream) -> (Vec<Arrived>, Refusal) {
    let mut all = Vec::new();
    loop {
        match read(stream).await {
            Ok(arrived) => all.extend(arrived),
            Err(refusal) => return (all, refusal),
        }
    }
}

/// The events of one stream among those that arrived.
fn of<'a>(arrived: &'a [Arrived], stream: &str) -> Vec<&'a Value> {
    arrived.iter().filter(|(name, _)| name == stream).map(|(_, event)| event).collect()
}

fn sequences(events: &[&Value]) -> Vec<u64> {
    events.iter().map(|event| event["sequence"].as_u64().unwrap()).collect()
}
