//! What publishing costs by the length of a channel and by how many channels there are. The reference is the shortest
//! channel and the fewest of them, and the promise is that neither shows.
//!
//! Long channels are written without a runtime in between: messages decided by the engine, many to a commit. What
//! results is what a runtime would have written, down to the index entries and the snapshot.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use factum_engine::messaging::{
    ChannelState, Threads, apply, apply_commit, create_channel, partition_name, publish_message, stream_name,
};
use factum_engine::{Context, Decision, Limits, no_opening};
use factum_model::commands::{CreateChannel, PublishMessage};
use factum_model::id::{EventId, MessagingChannelId, RuntimeId};
use factum_model::{Event, Refusal, SCHEMA_VERSION, Trace};
use factum_runtime::{Agents, Caller, Options as RuntimeOptions, Runtime, Secret, Sources};
use factum_store::{Blobs, Commit, EmbeddedStore, IndexChange, Options, Snapshot, Store, append_and_wait};
use serde_json::json;
use tokio::time::Instant;

use super::Place;
use super::commits::caller;
use super::load::{Ask, ask_for};
use super::measure::Latencies;
use super::report::{Cell, Report};

/// How many messages one commit of a long channel has.
const COMMIT_MESSAGES: u64 = 1_000;
/// How many publish at once.
const PUBLISHERS: usize = 64;
const TURN: Duration = Duration::from_millis(500);
/// How many turns each side has in a round.
const TURNS: usize = 4;

#[derive(Clone, Debug, Args)]
pub(crate) struct Channels {
    /// How many messages the channel has.
    #[arg(long, value_delimiter = ',', default_value = "100,10000000", value_name = "MESSAGES,…")]
    pub(crate) messages: Vec<u64>,
    /// How many channels there are.
    #[arg(long, value_delimiter = ',', default_value = "10,100000", value_name = "CHANNELS,…")]
    pub(crate) channels: Vec<u64>,
}

pub(crate) async fn run(channels: &Channels, place: &Place) -> Result<Report> {
    let mut report = Report::new("channels", "publishing, beside the shortest channel and the fewest channels");
    let mut lengths = Vec::new();
    for &messages in &channels.messages {
        lengths.push(Subject::start(place, "messages in the channel", 1, messages).await?);
    }
    measure(&mut lengths, place, &mut report).await?;
    let mut numbers = Vec::new();
    for &count in &channels.channels {
        numbers.push(Subject::start(place, "channels", count, 1).await?);
    }
    measure(&mut numbers, place, &mut report).await?;
    Ok(report)
}

async fn measure(subjects: &mut [Subject], place: &Place, report: &mut Report) -> Result<()> {
    place.note("channels: measuring");
    for _ in 0..place.rounds * TURNS {
        for subject in &mut *subjects {
            subject.turn().await?;
        }
    }
    let Some((first, _)) = subjects.split_first() else { return Ok(()) };
    let reference = (first.alone.middle_micros(), first.rates());
    for subject in &*subjects {
        report.row([
            ("by", Cell::Word(subject.what)),
            ("size", Cell::Count(subject.size)),
            ("alone_us", Cell::Micros(subject.alone.middle_micros())),
            ("times", Cell::Ratio(subject.alone.middle_micros() / reference.0)),
            ("per_s_at_64", Cell::PerSecond(subject.rates())),
            ("part", Cell::Ratio(subject.rates() / reference.1)),
        ]);
    }
    Ok(())
}

/// A store with channels of one size, and what publishing into them took.
struct Subject {
    what: &'static str,
    size: u64,
    publishers: Vec<Publisher>,
    /// One at a time.
    alone: Latencies,
    /// All at once.
    together: Vec<f64>,
    _runtime: Runtime,
    _dir: tempfile::TempDir,
}

impl Subject {
    async fn start(place: &Place, what: &'static str, channels: u64, messages: u64) -> Result<Self> {
        let size = channels.max(messages);
        place.note(&format!("channels: writing {channels} with {messages} messages each"));
        let dir = place.scratch()?;
        let path = dir.path().join("store");
        let store = Arc::new(EmbeddedStore::open(&path, Options::default())?.0);
        let author = Author::new(store.clone());
        let mut written = Vec::new();
        for at in 0..channels {
            let channel_id = author.write(messages).await?;
            if at < PUBLISHERS as u64 {
                written.push(channel_id);
            }
        }
        store.close().await;
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(&path, Options::default())?.0);
        let options = RuntimeOptions::new(Agents::demo(), Secret::new([7; 32]));
        let runtime = Runtime::start(store, Blobs::open(dir.path().join("blobs"))?, options).await?;
        let publisher = |at: usize| Publisher {
            runtime: runtime.clone(),
            caller: caller(),
            command: message(&written[at % written.len()]),
        };
        let mut publishers: Vec<_> = (0..PUBLISHERS).map(publisher).collect();
        for publisher in &mut publishers {
            publisher.ask().await?;
        }
        let alone = Latencies::new()?;
        Ok(Self { what, size, publishers, alone, together: Vec::new(), _runtime: runtime, _dir: dir })
    }

    async fn turn(&mut self) -> Result<()> {
        let until = Instant::now() + TURN;
        let first = self.publishers.first_mut().context("nobody publishes")?;
        while Instant::now() < until {
            let started = Instant::now();
            first.ask().await?;
            self.alone.record(started.elapsed());
        }
        let (load, publishers) = ask_for(std::mem::take(&mut self.publishers), TURN).await?;
        self.publishers = publishers;
        self.together.push(load.per_second);
        Ok(())
    }

    fn rates(&self) -> f64 {
        super::measure::middle(&self.together)
    }
}

struct Publisher {
    runtime: Runtime,
    caller: Caller,
    command: PublishMessage,
}

impl Ask for Publisher {
    async fn ask(&mut self) -> Result<()> {
        let published = self.runtime.call(&self.caller, self.command.clone()).await;
        published.map(drop).map_err(|refusal| anyhow!("a message was refused: {refusal}"))
    }
}

fn message(channel_id: &MessagingChannelId) -> PublishMessage {
    let command = json!({
        "channelId": channel_id,
        "parts": [{ "type": "text", "text": "Look through the open incidents and say which one needs a person first." }],
    });
    // The params of a command, spelled as a client would.
    serde_json::from_value(command).unwrap_or_else(|error| unreachable!("a message of ours does not parse: {error}"))
}

/// Writes channels into a store.
struct Author {
    store: Arc<EmbeddedStore>,
    caller: Caller,
    sources: Sources,
    limits: Limits,
    runtime_id: RuntimeId,
}

impl Author {
    fn new(store: Arc<EmbeddedStore>) -> Self {
        let sources = Sources::default();
        let runtime_id = RuntimeId::from_uuid(sources.ids.source(sources.clock.now()).next_uuid());
        Self { store, caller: caller(), sources, limits: Limits::default(), runtime_id }
    }

    /// A channel with so many messages. Durable when this returns.
    async fn write(&self, messages: u64) -> Result<MessagingChannelId> {
        let uuid = self.sources.ids.source(self.sources.clock.now()).next_uuid();
        let channel_id = MessagingChannelId::from_uuid(uuid);
        let create: CreateChannel = serde_json::from_value(json!({}))?;
        let command = message(&channel_id);
        let mut state = ChannelState::default();
        let created = self.decide(&state, |state, context| create_channel(state, &channel_id, &create, context))?;
        self.commit(&channel_id, &mut state, created).await?;
        while state.message_count < messages {
            let (mut ahead, mut events) = (state.clone(), Vec::new());
            for _ in 0..COMMIT_MESSAGES.min(messages - state.message_count) {
                let decide = |state: &ChannelState, context: &mut Context<'_>| {
                    publish_message(state, command.clone(), Threads::default(), context)
                };
                let published = self.decide(&ahead, decide)?;
                published.iter().for_each(|event| apply(&mut ahead, event));
                events.extend(published);
            }
            self.commit(&channel_id, &mut state, events).await?;
        }
        let (sequence, bytes) = (state.sequence, serde_json::to_vec(&state)?.into());
        let stream = stream_name(&self.caller.account, &channel_id);
        self.store.put_snapshot(stream.into(), Snapshot { sequence, bytes });
        Ok(channel_id)
    }

    fn decide<T>(
        &self,
        state: &ChannelState,
        decide: impl FnOnce(&ChannelState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<Vec<Event>> {
        let now = self.sources.clock.now();
        let mut ids = self.sources.ids.source(now);
        let mut context = Context {
            now,
            ids: &mut *ids,
            caller: &self.caller.principal,
            account: &self.caller.account,
            through: None,
            limits: &self.limits,
            prelude: 0,
            opening: &no_opening,
        };
        let decision = decide(state, &mut context).map_err(|refusal| anyhow!("{refusal}"))?;
        let number = |(event, sequence): (factum_model::NewEvent, u64)| Event {
            event_id: EventId::from_uuid(ids.next_uuid()),
            timestamp: now,
            sequence,
            schema_version: SCHEMA_VERSION.into(),
            runtime_id: self.runtime_id.clone(),
            scope: event.scope,
            trace: Trace::default(),
            fact: event.fact,
            refs: event.refs,
        };
        Ok(decision.events.into_iter().zip(state.sequence + 1..).map(number).collect())
    }

    async fn commit(
        &self,
        channel_id: &MessagingChannelId,
        state: &mut ChannelState,
        events: Vec<Event>,
    ) -> Result<()> {
        let expected = state.sequence;
        let index = apply_commit(state, &events).into_iter().map(|change| match change {
            factum_engine::IndexChange::Put { key, value } => IndexChange::Put { key: key.into(), value: value.into() },
            factum_engine::IndexChange::Delete { key } => IndexChange::Delete { key: key.into() },
        });
        let mut records = Vec::with_capacity(events.len());
        for event in &events {
            records.push(event.encode()?.into());
        }
        let commit = Commit {
            stream: stream_name(&self.caller.account, channel_id).into(),
            partition: partition_name(&self.caller.account).into(),
            expected,
            records,
            index: index.collect(),
        };
        append_and_wait(&*self.store, commit).await?;
        Ok(())
    }
}
