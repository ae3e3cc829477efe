//! A channel with a log, an index, a clock that is set by hand and ids that are counted: the shell in miniature.

use std::collections::BTreeMap;

use factum_model::commands::*;
use factum_model::events::CommandAccepted;
use factum_model::id::{EventId, IdSource, MessageId, MessagingChannelId};
use factum_model::messaging::MessageEvent;
use factum_model::{Command, Event, Fact, NewEvent, Refusal, SCHEMA_VERSION, Scope, Timestamp, Trace};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::messaging::*;
use crate::{Context, Decision, IndexChange, Limits, no_opening};

pub(super) const ACCOUNT: &str = "acme";
pub(super) const ALICE: &str = "agent://alice";
pub(super) const BOB: &str = "agent://bob";
pub(super) const CAROL: &str = "agent://carol";
pub(super) const DAVE: &str = "agent://dave";

/// Counts 1, 2, 3, …
#[derive(Clone, Default)]
pub(super) struct Counted(u128);

impl IdSource for Counted {
    fn next_uuid(&mut self) -> Uuid {
        self.0 += 1;
        Uuid::from_u128(self.0)
    }
}

/// What one commit did.
pub(super) struct Done<T> {
    pub output: T,
    pub events: Vec<Event>,
    pub changes: Vec<IndexChange>,
}

pub(super) struct World {
    pub state: ChannelState,
    /// Encoded, as they would be stored, commit by commit.
    pub log: Vec<Vec<Vec<u8>>>,
    pub index: BTreeMap<Vec<u8>, Vec<u8>>,
    pub now: Timestamp,
    pub limits: Limits,
    /// Whether the commands that follow have a key of the general kind, whose fact stands in front of their own.
    pub keyed: bool,
    ids: Counted,
    /// The state as a second fold sees it, from the encoded bytes alone.
    pub shadow: ChannelState,
}

impl World {
    /// Nothing has happened.
    pub(super) fn new() -> Self {
        Self {
            state: ChannelState::default(),
            log: Vec::new(),
            index: BTreeMap::new(),
            now: Timestamp::from_millisecond(1_800_000_000_000).expect("a sane time"),
            limits: Limits::default(),
            keyed: false,
            ids: Counted::default(),
            shadow: ChannelState::default(),
        }
    }

    /// Alice's channel, with Bob as a member and Carol as a moderator.
    pub(super) fn with_channel(visibility: &str) -> Self {
        let mut world = Self::new();
        let members = json!([{ "principalId": BOB }, { "principalId": CAROL, "role": "moderator" }]);
        world.create(ALICE, json!({ "visibility": visibility, "members": members })).expect("a channel");
        world
    }

    /// Alice's and Bob's.
    pub(super) fn direct() -> Self {
        let mut world = Self::new();
        world.open(ALICE, BOB).expect("a channel");
        world
    }

    /// Decides and commits. A refusal writes nothing.
    pub(super) fn decide<T>(
        &mut self,
        caller: &str,
        decide: impl FnOnce(&ChannelState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<Done<T>, Refusal> {
        let mut context = Context {
            now: self.now,
            ids: &mut self.ids,
            caller,
            account: ACCOUNT,
            through: None,
            limits: &self.limits,
            prelude: u64::from(self.keyed),
            opening: &no_opening,
        };
        let Decision { mut events, output } = decide(&self.state, &mut context)?;
        if self.keyed {
            let creates = matches!(&events[..], [NewEvent { fact: Fact::MessagingChannelCreated(created), .. }] if !created.direct);
            events.insert(0, accepted(caller, creates));
        }
        let (events, changes) = self.commit(events);
        Ok(Done { output, events, changes })
    }

    /// Numbers, encodes, applies and indexes the events of one commit, then looks whether everything still holds.
    fn commit(&mut self, new: Vec<NewEvent>) -> (Vec<Event>, Vec<IndexChange>) {
        let first = self.state.sequence + 1;
        let events: Vec<Event> = (first..).zip(new).map(|(sequence, new)| self.event(sequence, new)).collect();
        let changes = apply_commit(&mut self.state, &events);
        change(&mut self.index, &changes);
        let stored: Vec<_> = events.iter().map(|event| event.encode().expect("events encode")).collect();
        for (event, bytes) in events.iter().zip(&stored) {
            let decoded = Event::decode(bytes).expect("events decode");
            assert_eq!(decoded, *event, "an event survives its encoding");
            apply(&mut self.shadow, &decoded);
        }
        self.log.push(stored);
        assert_eq!(self.shadow, self.state, "fold(decoded events) == state");
        assert_eq!(
            self.state.message_count + self.state.other_count,
            self.state.sequence,
            "every fact is counted once"
        );
        (events, changes)
    }

    fn event(&mut self, sequence: u64, new: NewEvent) -> Event {
        Event {
            event_id: EventId::from_uuid(self.ids.next_uuid()),
            timestamp: self.now,
            sequence,
            schema_version: SCHEMA_VERSION.into(),
            runtime_id: "rt_test".parse().expect("an id"),
            scope: new.scope,
            trace: Trace::default(),
            fact: new.fact,
            refs: new.refs,
        }
    }

    // Commands.

    pub(super) fn create(&mut self, caller: &str, params: Value) -> Result<Done<ChannelResult>, Refusal> {
        let command: CreateChannel = parse(params);
        self.decide(caller, |state, context| create_channel(state, &channel_id(), &command, context))
    }

    pub(super) fn open(&mut self, caller: &str, peer: &str) -> Result<Done<ChannelResult>, Refusal> {
        self.decide(caller, |state, context| open_direct(state, peer, context))
    }

    pub(super) fn update(&mut self, caller: &str, params: Value) -> Result<Done<ChannelResult>, Refusal> {
        let command: UpdateChannel = parse(in_channel(params));
        self.decide(caller, |state, context| update_channel(state, &command, context))
    }

    pub(super) fn delete(&mut self, caller: &str) -> Result<Done<DeleteChannelResult>, Refusal> {
        let command: DeleteChannel = parse(in_channel(json!({})));
        self.decide(caller, |state, context| delete_channel(state, &command, context))
    }

    pub(super) fn add(&mut self, caller: &str, who: &str, role: &str) -> Result<Done<ChannelResult>, Refusal> {
        let command: AddChannelMember = parse(in_channel(json!({ "principalId": who, "role": role })));
        self.decide(caller, |state, context| add_member(state, &command, context))
    }

    pub(super) fn remove(&mut self, caller: &str, who: &str) -> Result<Done<ChannelResult>, Refusal> {
        let command: RemoveChannelMember = parse(in_channel(json!({ "principalId": who })));
        self.decide(caller, |state, context| remove_member(state, &command, context))
    }

    pub(super) fn mark(&mut self, caller: &str, sequence: u64) -> Result<Done<MarkChannelReadResult>, Refusal> {
        let command: MarkChannelRead = parse(in_channel(json!({ "sequence": sequence })));
        self.decide(caller, |state, context| mark_read(state, &command, context))
    }

    pub(super) fn say(&mut self, caller: &str, text: &str) -> MessageEvent {
        let event = self.publish(caller, json!({ "parts": [{ "text": text }] }));
        event.unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
    }

    /// As the shell does it: a known key is answered from the message there is, a reply's target is looked up.
    pub(super) fn publish(&mut self, caller: &str, params: Value) -> Result<MessageEvent, Refusal> {
        let params = if params.get("peer").is_some() { params } else { in_channel(params) };
        let command: PublishMessage = parse(params);
        if let Some(row) = self.key_row(caller, command.idempotency_key.as_deref()) {
            allow(&self.state, caller, Operation::Publish)?;
            let sequence = repeated(&row, &command, self.threads_named(&command), &self.limits)?;
            return Ok(self.message(sequence));
        }
        let threads = self.threads_named(&command);
        // Publishing has keys of its own and never a fact in front.
        let keyed = std::mem::take(&mut self.keyed);
        let done = self.decide(caller, |state, context| publish_message(state, command, threads, context));
        self.keyed = keyed;
        let Done { output, events, .. } = done?;
        let last = events.last().and_then(message_view);
        assert_eq!(last.as_ref(), Some(&output.event), "the answer is the fact");
        Ok(output.event)
    }

    fn key_row(&self, author: &str, key: Option<&str>) -> Option<MessageKeyRow> {
        let shell = self.state.shell.as_ref()?;
        let row = self.index.get(&keys::message_key(ACCOUNT, &shell.channel_id, author, key?))?;
        Some(serde_json::from_slice(row).expect("a row"))
    }

    fn threads_named(&self, command: &PublishMessage) -> Threads {
        let thread_of = |id: &Option<MessageId>| id.as_ref().and_then(|id| self.thread_of(id));
        Threads { of_reply_to_id: thread_of(&command.reply_to_id), of_thread_id: thread_of(&command.thread_id) }
    }

    fn thread_of(&self, id: &MessageId) -> Option<MessageId> {
        let found = self.events().iter().filter_map(message_view).find(|message| message.id == *id)?;
        Some(found.thread_id.unwrap_or(found.id))
    }

    // Looking.

    /// A message by its number, found through the index.
    pub(super) fn message(&self, sequence: u64) -> MessageEvent {
        let at = self.stream_sequence(sequence);
        let bytes =
            self.log.iter().flatten().nth(at as usize - 1).unwrap_or_else(|| panic!("{sequence} leads to {at}"));
        let event = Event::decode(bytes).expect("events decode");
        message_view(&event).unwrap_or_else(|| panic!("{sequence} leads to {:?}", event.fact))
    }

    /// Where the index says that a message is.
    pub(super) fn stream_sequence(&self, message: u64) -> u64 {
        let channel_id = &self.state.shell.as_ref().expect("a channel").channel_id;
        let range = keys::offsets_of(ACCOUNT, channel_id)..keys::offset(ACCOUNT, channel_id, message);
        let (key, value) = self.index.range(range).next_back().expect("every channel begins with another fact");
        assert!(keys::read_offset(key).expect("an offset") < message);
        message + keys::read_offset_value(value).expect("an offset")
    }

    pub(super) fn events(&self) -> Vec<Event> {
        self.log.iter().flatten().map(|bytes| Event::decode(bytes).expect("events decode")).collect()
    }

    /// The state and the index that the stored bytes alone give.
    pub(super) fn rebuilt(&self) -> (ChannelState, BTreeMap<Vec<u8>, Vec<u8>>) {
        let (mut state, mut index) = (ChannelState::default(), BTreeMap::new());
        for commit in &self.log {
            let events: Vec<Event> = commit.iter().map(|bytes| Event::decode(bytes).expect("events decode")).collect();
            change(&mut index, &apply_commit(&mut state, &events));
        }
        (state, index)
    }

    /// From here on the second fold stands on a snapshot that was written and read back.
    pub(super) fn restore_from_snapshot(&mut self) {
        let bytes = serde_json::to_vec(&self.state).expect("a state serializes");
        self.shadow = serde_json::from_slice(&bytes).expect("a snapshot parses");
        assert_eq!(self.shadow, self.state, "a snapshot is the state it was taken of");
    }

    pub(super) fn later(&mut self, ms: i64) {
        self.now = Timestamp::from_millisecond(self.now.as_millisecond() + ms).expect("a sane time");
    }
}

fn change(index: &mut BTreeMap<Vec<u8>, Vec<u8>>, changes: &[IndexChange]) {
    for change in changes {
        match change.clone() {
            IndexChange::Put { key, value } => index.insert(key, value),
            IndexChange::Delete { key } => index.remove(&key),
        };
    }
}

/// What creates a channel says so; the others need no name here.
fn accepted(caller: &str, creates: bool) -> NewEvent {
    let fact = CommandAccepted {
        command: if creates { CreateChannel::NAME } else { "test" }.into(),
        principal: caller.into(),
        idempotency_key: "k".into(),
        params_digest: "sha256:00".into(),
        result: json!({ "ok": true }),
    };
    NewEvent::new(Scope::default(), fact)
}

pub(super) fn channel_id() -> MessagingChannelId {
    "chan_1".parse().expect("an id")
}

fn in_channel(mut params: Value) -> Value {
    params["channelId"] = json!("chan_1");
    params
}

pub(super) fn parse<T: serde::de::DeserializeOwned>(params: Value) -> T {
    serde_json::from_value(params).expect("params of the command")
}

/// What was written, a line for each fact, or how it was refused.
pub(super) fn told<T>(done: Result<Done<T>, Refusal>) -> Vec<String> {
    match done {
        Ok(done) => done.events.iter().map(line).collect(),
        Err(refusal) => vec![refused(&refusal)],
    }
}

pub(super) fn refused(refusal: &Refusal) -> String {
    format!("refused {}: {}", refusal.code.as_str(), refusal.message)
}

fn line(event: &Event) -> String {
    let name = |principal: &str| principal.trim_start_matches("agent://").to_owned();
    let role = |role: factum_model::messaging::ChannelRole| format!("{role:?}").to_lowercase();
    match &event.fact {
        Fact::CommandAccepted(_) => "accepted".to_owned(),
        Fact::MessagingChannelCreated(fact) => {
            let members: Vec<_> = fact
                .members
                .iter()
                .map(|member| format!("{} {}", role(member.role), name(&member.principal)))
                .collect();
            format!("created {:?} with {}", fact.visibility, members.join(", ")).to_lowercase()
        }
        Fact::MessagingChannelUpdated(fact) => format!(
            "updated to v{}: name {:?}, set {}, removed {:?}",
            fact.version,
            fact.name,
            json!(fact.metadata_set),
            fact.metadata_removed
        ),
        Fact::MessagingChannelDeleted(fact) => format!("deleted at v{}", fact.version),
        Fact::MessagingMemberAdded(fact) => {
            format!("added {} {} to v{}", role(fact.role), name(&fact.principal), fact.version)
        }
        Fact::MessagingMemberChanged(fact) => {
            let (before, now) = (role(fact.previous_role), role(fact.role));
            format!("changed {} from {before} to {now} to v{}", name(&fact.principal), fact.version)
        }
        Fact::MessagingMemberRemoved(fact) => {
            format!("removed {} {} to v{}", role(fact.role), name(&fact.principal), fact.version)
        }
        Fact::MessagePublished(fact) => format!("message {} by {}", fact.sequence, name(&fact.author)),
        Fact::MessagingReadMarked(fact) => format!("{} read {}", name(&fact.principal), fact.sequence),
        other => panic!("{} does not belong here", other.type_name()),
    }
}
