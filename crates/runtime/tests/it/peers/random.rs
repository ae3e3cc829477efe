//! A client that follows the protocol, cut off and brought down at random, and the runtime with it: it gets every event of
//! every session it follows once and in order, whatever happens in between.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

#[derive(Clone, Debug)]
enum Step {
    /// A turn, in a new session or the last one.
    Submit(bool),
    /// The client takes in what there is, up to so many batches.
    Read(u8),
    Acknowledge,
    /// The connection is lost; what the client has, it keeps.
    Cut,
    /// The client is lost with everything it has not acknowledged.
    Forget,
    /// The runtime crashes.
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<bool>().prop_map(Step::Submit),
        4 => (1_u8..6).prop_map(Step::Read),
        2 => Just(Step::Acknowledge),
        2 => Just(Step::Cut),
        1 => Just(Step::Forget),
        1 => Just(Step::Crash),
    ]
}

/// What a client knows: how far it has taken in each stream, and what it said it has.
struct Peer {
    stream: Option<PeerStream>,
    have: BTreeMap<String, u64>,
    said: BTreeMap<String, u64>,
    token: Value,
}

impl Peer {
    async fn connected(&mut self, port: &Port) {
        if self.stream.is_some() {
            return;
        }
        let back = json!({ "channel_id": "c", "cursors": self.have, "resume_token": self.token });
        let back = port.call("reconnect_channel", back).await;
        assert_eq!(back["gap"], Value::Null);
        // Where it says it goes on is what it says it has.
        self.said = self.have.clone();
        self.token = back["resume_token"].clone();
        self.stream = Some(port.stream("c", &[]).await.unwrap());
    }

    async fn read(&mut self, port: &Port) {
        self.connected(port).await;
        let stream = self.stream.as_mut().unwrap();
        for (name, event) in read(stream).await.unwrap() {
            let sequence = event["sequence"].as_u64().unwrap();
            let before = self.have.entry(name.clone()).or_default();
            if name == "@channel" {
                // Its own acknowledgements are not sent back to it.
                assert!(sequence > *before, "{name} {sequence} after {before}");
            } else {
                assert_eq!(sequence, *before + 1, "{name}: lost, repeated or out of order");
            }
            *before = sequence;
        }
    }

    /// How far each session has come.
    async fn behind(&self, port: &Port) -> bool {
        let summary = port.summary("c").await;
        let sessions = summary["sessions"].as_array().unwrap();
        sessions.iter().any(|session| {
            let have = self.have.get(session["session_id"].as_str().unwrap()).copied().unwrap_or(0);
            session["head_sequence"].as_u64().unwrap() > have
        })
    }
}

async fn run(steps: Vec<Step>) {
    let mut port = Port::new().await;
    let token = port.enroll("c", json!({})).await["resume_token"].clone();
    let mut peer = Peer { stream: None, have: BTreeMap::new(), said: BTreeMap::new(), token };
    let mut sessions: Vec<String> = Vec::new();
    for step in steps {
        match step {
            Step::Submit(new) => {
                let last = sessions.last().filter(|_| !new || sessions.len() == 4).cloned();
                let session = port.submit_through("c", "one two three", last.as_deref()).await;
                if !sessions.contains(&session) {
                    sessions.push(session);
                }
            }
            Step::Read(count) => {
                for _ in 0..count {
                    if peer.behind(&port).await {
                        peer.read(&port).await;
                    }
                }
            }
            Step::Acknowledge if peer.have.is_empty() => {}
            Step::Acknowledge => {
                port.call("ack_events", json!({ "channel_id": "c", "cursors": peer.have })).await;
                peer.said = peer.have.clone();
            }
            Step::Cut => peer.stream = None,
            Step::Forget => {
                peer.stream = None;
                peer.have = peer.said.clone();
            }
            Step::Crash => {
                port.restart().await;
                peer.stream = None;
            }
        }
    }
    for session in &sessions {
        let id = session.parse().unwrap();
        let mut subscription = port.runtime.subscribe(&port.alice, &id, 0).await.unwrap();
        loop {
            let thread = port.call("get_thread_read", json!({ "session_id": session })).await;
            if thread["status"] == "completed" && thread["queued_turns"].as_array().is_none_or(Vec::is_empty) {
                break;
            }
            tokio::time::timeout(PATIENCE, subscription.next()).await.expect("turns end").unwrap();
        }
    }
    while peer.behind(&port).await {
        peer.read(&port).await;
    }
    for session in &sessions {
        let events = port.events(session).await;
        assert_eq!(peer.have[session], events.len() as u64, "all of {session}");
    }
}

#[test]
fn nothing_is_lost_repeated_or_reordered() {
    let mut runner = TestRunner::new(Config { cases: 48, failure_persistence: None, ..Config::default() });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let steps = proptest::collection::vec(step(), 1..40);
    runner
        .run(&steps, |steps| {
            runtime.block_on(run(steps));
            Ok(())
        })
        .unwrap();
}
