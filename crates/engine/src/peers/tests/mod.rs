//! Enrolling: who may, what is kept, what is refused; and that the fold and the rows come out of the bytes alone.

mod acks;
mod bridge;
mod presence;
mod properties;
mod push_ahead;
mod returns;

use std::collections::BTreeMap;

use factum_model::commands::{EnrollChannel, EnrollChannelResult};
use factum_model::events::CommandAccepted;
use factum_model::id::{ChannelId, EventId, IdSource, SessionId};
use factum_model::{ErrorCode, Event, NewEvent, Refusal, SCHEMA_VERSION, Scope, Timestamp, Trace};
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::{Context, Decision, IndexChange, Limits, no_opening};

const ALICE: &str = "agent://alice";
const BOB: &str = "agent://bob";

/// How many events the tests may miss and still get them all.
const REPLAY_MAX: u64 = 100;

struct Counted(u128);

impl IdSource for Counted {
    fn next_uuid(&mut self) -> Uuid {
        self.0 += 1;
        Uuid::from_u128(self.0)
    }
}

/// One channel, its log and its rows.
struct World {
    state: PeerState,
    log: Vec<Vec<Vec<u8>>>,
    index: BTreeMap<Vec<u8>, Vec<u8>>,
    now: Timestamp,
}

impl World {
    fn new() -> Self {
        let now = Timestamp::from_millisecond(1_800_000_000_000).expect("a sane time");
        Self { state: PeerState::default(), log: Vec::new(), index: BTreeMap::new(), now }
    }

    fn enroll(&mut self, caller: &str, command: Value) -> Result<EnrollChannelResult, Refusal> {
        let command: EnrollChannel = serde_json::from_value(command).expect("params");
        let key = command.idempotency_key.clone();
        let token = format!("rt_{}", self.state.sequence + 1);
        self.keyed(caller, key.as_deref(), |state, context| enroll_channel(state, &channel(), &command, token, context))
    }

    /// Decides and commits.
    fn decide<T>(
        &mut self,
        caller: &str,
        decide: impl FnOnce(&PeerState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<T, Refusal> {
        self.keyed(caller, None, decide)
    }

    fn keyed<T>(
        &mut self,
        caller: &str,
        key: Option<&str>,
        decide: impl FnOnce(&PeerState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<T, Refusal> {
        let mut ids = Counted(self.state.sequence.into());
        let limits = Limits { replay_events_max: REPLAY_MAX, ..Limits::default() };
        let mut context = Context {
            now: self.now,
            ids: &mut ids,
            caller,
            account: "acme",
            through: None,
            limits: &limits,
            prelude: u64::from(key.is_some()),
            opening: &no_opening,
        };
        let Decision { mut events, output } = decide(&self.state, &mut context)?;
        if let Some(key) = key {
            events.insert(0, NewEvent::new(Scope::default(), accepted(caller, key)));
        }
        if !events.is_empty() {
            self.commit(events);
        }
        Ok(output)
    }

    fn peer(&self) -> &Peer {
        self.state.peer.as_ref().expect("a peer")
    }

    /// The types of the events, oldest first.
    fn types(&self) -> Vec<String> {
        let events = self.log.iter().flatten().map(|bytes| Event::decode(bytes).expect("an event"));
        events.map(|event| event.fact.type_name().to_owned()).collect()
    }

    /// The newest event of a type, as JSON.
    fn last(&self, kind: &str) -> Value {
        let events = self.log.iter().flatten().map(|bytes| serde_json::from_slice::<Value>(bytes).expect("JSON"));
        events.rev().find(|event| event["type"] == kind).unwrap_or_else(|| panic!("no {kind}"))
    }

    fn commit(&mut self, events: Vec<NewEvent>) {
        let event = |(event, sequence): (NewEvent, u64)| Event {
            event_id: EventId::from_uuid(Uuid::from_u128(sequence.into())),
            timestamp: self.now,
            sequence,
            schema_version: SCHEMA_VERSION.into(),
            runtime_id: "rt_1".parse().expect("an id"),
            scope: event.scope,
            trace: Trace::default(),
            fact: event.fact,
            refs: event.refs,
        };
        let events: Vec<Event> = events.into_iter().zip(self.state.sequence + 1..).map(event).collect();
        self.log.push(events.iter().map(|event| event.encode().expect("an event")).collect());
        put_all(&mut self.index, apply_commit(&mut self.state, &events));
    }

    /// Folds the encoded log again and compares.
    fn check(&self) {
        let (mut state, mut index) = (PeerState::default(), BTreeMap::new());
        for commit in &self.log {
            let events: Vec<Event> = commit.iter().map(|bytes| Event::decode(bytes).expect("an event")).collect();
            put_all(&mut index, apply_commit(&mut state, &events));
        }
        assert_eq!((&state, &index), (&self.state, &self.index));
        let snapshot = serde_json::to_vec(&state).expect("a snapshot");
        assert_eq!(serde_json::from_slice::<PeerState>(&snapshot).expect("a state"), state);
    }
}

fn put_all(index: &mut BTreeMap<Vec<u8>, Vec<u8>>, changes: Vec<IndexChange>) {
    for change in changes {
        match change {
            IndexChange::Put { key, value } => drop(index.insert(key, value)),
            IndexChange::Delete { key } => drop(index.remove(&key)),
        }
    }
}

fn channel() -> ChannelId {
    "chan-1".parse().expect("an id")
}

fn accepted(principal: &str, key: &str) -> CommandAccepted {
    CommandAccepted {
        command: "enroll_channel".to_owned(),
        principal: principal.to_owned(),
        idempotency_key: key.to_owned(),
        params_digest: "digest".to_owned(),
        result: json!({}),
    }
}

fn worker() -> Value {
    json!({ "peer_role": "worker", "capabilities": ["gpu", "cpu", "gpu"], "queues": ["slow", "fast", "slow"] })
}

#[test]
fn a_worker_becomes_known_with_its_names_in_order() {
    let mut world = World::new();
    let result = world.enroll(ALICE, worker()).expect("enrolled");
    assert_eq!(result.capabilities, ["cpu", "gpu"], "sorted, so that groups can be leapt over");
    assert_eq!(result.queues, ["slow", "fast"], "in the worker's own order");
    assert_eq!(result.sequence, 1);
    let peer = world.state.of(ALICE).expect("a peer");
    assert!(peer.is_worker());
    assert_eq!((peer.account.as_str(), &peer.channel_id), ("acme", &channel()));
    let rows = [keys::peer("acme", ALICE, &channel()), keys::connected("acme", &channel())];
    assert_eq!(world.index.keys().collect::<Vec<_>>(), rows.iter().collect::<Vec<_>>());
    world.check();
}

#[test]
fn a_worker_without_queues_takes_the_default_one() {
    let mut world = World::new();
    let result = world.enroll(ALICE, json!({ "peer_role": "worker" })).expect("enrolled");
    assert_eq!(result.queues, [DEFAULT_QUEUE]);
    let mut world = World::new();
    let result = world.enroll(ALICE, json!({ "peer_role": "client" })).expect("enrolled");
    assert_eq!(result.queues, [""; 0]);
}

#[test]
fn it_comes_back_as_itself_and_may_have_changed() {
    let mut world = World::new();
    world.enroll(ALICE, worker()).expect("enrolled");
    let result = world.enroll(ALICE, json!({ "peer_role": "worker", "queues": ["new"] })).expect("enrolled again");
    assert_eq!(result.sequence, 2);
    assert_eq!(world.state.of(ALICE).expect("a peer").identity.queues, ["new"]);
    world.check();
}

#[test]
fn for_another_principal_it_does_not_exist() {
    let mut world = World::new();
    world.enroll(ALICE, worker()).expect("enrolled");
    let before = world.state.clone();
    assert_eq!(world.enroll(BOB, worker()), Err(Refusal::not_found()));
    assert_eq!(world.state, before);
    assert_eq!(world.state.of(BOB), None);
}

#[test]
fn the_token_is_named_and_changes_with_every_enrollment() {
    let mut world = World::new();
    world.enroll(ALICE, json!({ "peer_role": "client" })).expect("enrolled");
    let first = world.peer().identity.resume_token_ref.clone();
    world.enroll(ALICE, json!({ "peer_role": "client" })).expect("enrolled");
    assert_eq!(first.as_deref(), Some("rt_1"));
    assert_eq!(world.peer().identity.resume_token_ref.as_deref(), Some("rt_2"));
    world.check();
}

#[test]
fn a_key_leaves_the_row_that_answers_a_repeat() {
    let mut world = World::new();
    let mut command = worker();
    command["idempotency_key"] = json!("once");
    let result = world.enroll(ALICE, command).expect("enrolled");
    assert_eq!(result.sequence, 2, "behind the fact that the command was accepted");
    assert!(world.index.contains_key(&crate::session::keys::idempotency("acme", ALICE, "once")));
    world.check();
}

#[test]
fn names_and_numbers_have_bounds() {
    let many = |count: usize| (0..count).map(|at| format!("n{at}")).collect::<Vec<_>>();
    let table = [
        (json!({ "peer_role": "worker", "capabilities": many(65) }), ErrorCode::LimitExceeded),
        (json!({ "peer_role": "worker", "queues": many(65) }), ErrorCode::LimitExceeded),
        (json!({ "peer_role": "worker", "capabilities": ["a,b"] }), ErrorCode::InvalidParams),
        (json!({ "peer_role": "worker", "capabilities": ["a+b"] }), ErrorCode::InvalidParams),
        (json!({ "peer_role": "worker", "capabilities": [""] }), ErrorCode::InvalidParams),
        (json!({ "peer_role": "worker", "queues": ["x".repeat(65)] }), ErrorCode::InvalidParams),
        (json!({ "peer_role": "worker", "queues": ["a\u{0}"] }), ErrorCode::InvalidParams),
        (json!({ "peer_role": "client", "queues": ["a"] }), ErrorCode::InvalidParams),
        (json!({ "peer_role": "client", "session_ids": many(257) }), ErrorCode::LimitExceeded),
        (json!({ "peer_role": "client", "native_protocol": "x".repeat(65) }), ErrorCode::LimitExceeded),
        (json!({ "peer_role": "client", "agent_card_ref": "x".repeat(2_049) }), ErrorCode::LimitExceeded),
        (json!({ "peer_role": "client", "metadata": { "a": "x".repeat(20_000) } }), ErrorCode::LimitExceeded),
    ];
    for (command, code) in table {
        let mut world = World::new();
        assert_eq!(world.enroll(ALICE, command.clone()).expect_err("a refusal").code, code, "{command}");
        assert_eq!(world.state, PeerState::default());
    }
}

fn session(name: &str) -> SessionId {
    name.parse().expect("an id")
}

/// A client that follows sessions.
fn client(sessions: &[&str]) -> World {
    let mut world = World::new();
    world.enroll(ALICE, json!({ "peer_role": "client", "session_ids": sessions })).expect("enrolled");
    world
}

fn heads(heads: &[(&str, u64)]) -> Heads {
    heads.iter().map(|(name, head)| (session(name), *head)).collect()
}
