//! The runtime: one store, the sessions in memory, and the background work around them.
//!
//! A [`Runtime`] is a handle; clones share everything. What a command does is in `handlers/`; how a decision becomes
//! durable is in `commit`; how a session comes into memory and leaves it is in `load` and `sweep`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use factum_agent::Agents;
use factum_engine::access::{RUNTIME_PARTITION, RUNTIME_STREAM};
use factum_engine::messaging::ChannelState;
use factum_engine::peers::PeerState;
use factum_engine::session::SessionState;
use factum_engine::{Key, Limits};
use factum_model::events::RuntimeStarted;
use factum_model::id::RuntimeId;
use factum_model::{Event, NewEvent, SCHEMA_VERSION, Scope, Timestamp, Trace};
use factum_store::{Blobs, Commit, Direction, IndexChange, Scan, Store, append_and_wait};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::at_rest::AtRest;
use crate::cells::Cells;
use crate::clock::Sources;
use crate::cursor::Secret;
use crate::delegations::Delegate;
use crate::idempotency::KeyedLocks;
use crate::messaging::{Gate, Principals};
use crate::options::{Options, ShellLimits};
use crate::peers::PeerPresence;
use crate::workers::Workers;

/// A handle to a running runtime.
#[derive(Clone)]
pub struct Runtime(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) blobs: Blobs,
    pub(crate) agents: Agents,
    pub(crate) limits: Limits,
    pub(crate) shell: ShellLimits,
    pub(crate) sources: Sources,
    pub(crate) secret: Secret,
    pub(crate) delegate: Option<Arc<dyn Delegate>>,
    pub(crate) runtime_id: RuntimeId,
    pub(crate) schema_version: Arc<str>,
    pub(crate) sessions: Cells<SessionState>,
    pub(crate) sessions_at_rest: AtRest<SessionState>,
    pub(crate) channels: Cells<ChannelState>,
    pub(crate) peers: Cells<PeerState>,
    pub(crate) presence: PeerPresence,
    pub(crate) workers: Workers,
    pub(crate) derived_channels: crate::peers::DerivedChannels,
    /// What the peers that we speak to are at.
    pub(crate) open_delegations: crate::delegations::OpenDelegations,
    pub(crate) gate: Gate,
    /// Who may be meant by the id of a direct channel.
    pub(crate) principals: Principals,
    /// How many keys were revoked since the start.
    pub(crate) keys_revoked: watch::Sender<u64>,
    pub(crate) keyed: Arc<KeyedLocks>,
    /// Serialises writes to the runtime's own stream, which are rare.
    pub(crate) own_stream: Arc<tokio::sync::Mutex<u64>>,
    pub(crate) timers_changed: Notify,
    pub(crate) tokio: tokio::runtime::Handle,
    pub(crate) closing: AtomicBool,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
    pub(crate) started: Started,
}

/// What the start found.
#[derive(Clone, Debug)]
pub struct Started {
    pub runtime_id: RuntimeId,
    /// Counts the starts on this store.
    pub epoch: u64,
    pub started_at: Timestamp,
}

/// The row that outlives restarts.
#[derive(Serialize, Deserialize)]
struct RuntimeRow {
    runtime_id: RuntimeId,
    epoch: u64,
}

/// Why a runtime did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("reading the store failed: {0}")]
    Read(#[from] factum_store::ReadError),
    #[error("writing to the store failed: {0}")]
    Append(#[from] factum_store::AppendError),
    #[error("encoding a fact failed: {0}")]
    Encode(#[from] serde_json::Error),
}

impl Runtime {
    /// Starts on an open store. Sessions with unfinished work are carried on in the background; one that is asked for
    /// before its turn comes is carried on right then, so no caller ever sees a session that nobody works on.
    pub async fn start(store: Arc<dyn Store>, blobs: Blobs, options: Options) -> Result<Runtime, StartError> {
        let (started, own_sequence) = record_start(&*store, &options).await?;
        let runtime = Runtime(Arc::new(Inner {
            store,
            blobs,
            agents: options.agents,
            limits: options.limits,
            workers: Workers::new(&options.shell),
            derived_channels: Default::default(),
            open_delegations: Default::default(),
            shell: options.shell,
            sources: options.sources,
            secret: options.secret,
            delegate: options.delegate,
            runtime_id: started.runtime_id.clone(),
            schema_version: SCHEMA_VERSION.into(),
            sessions: Cells::default(),
            sessions_at_rest: AtRest::default(),
            channels: Cells::default(),
            peers: Cells::default(),
            presence: PeerPresence::default(),
            gate: Gate::default(),
            principals: Principals::default(),
            keys_revoked: watch::Sender::new(0),
            keyed: Arc::default(),
            own_stream: Arc::new(tokio::sync::Mutex::new(own_sequence)),
            timers_changed: Notify::new(),
            tokio: tokio::runtime::Handle::current(),
            closing: AtomicBool::new(false),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            started,
        }));
        runtime.spawn(crate::recover::recover_all(runtime.clone()));
        runtime.spawn(crate::timers::run(runtime.clone()));
        runtime.spawn(crate::sweep::run(runtime.clone()));
        runtime.spawn(crate::workers::keep(runtime.clone()));
        runtime.spawn(crate::peers::keep(runtime.clone()));
        Ok(runtime)
    }

    pub fn started(&self) -> &Started {
        &self.0.started
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    pub fn blobs(&self) -> &Blobs {
        &self.0.blobs
    }

    pub fn agents(&self) -> &Agents {
        &self.0.agents
    }

    pub fn secret(&self) -> &Secret {
        &self.0.secret
    }

    pub fn now(&self) -> Timestamp {
        self.0.sources.clock.now()
    }

    /// How many sessions are in memory.
    pub fn sessions_in_memory(&self) -> usize {
        self.0.sessions.len()
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.0.closing.load(Ordering::Acquire)
    }

    /// Completes when the runtime begins to close: streams end there, so that a drain does not wait for them.
    pub fn closing(&self) -> CancellationToken {
        self.0.stop.clone()
    }

    /// Why the store does not accept writes any more, if that is so.
    pub fn store_poisoned(&self) -> Option<Arc<str>> {
        self.0.store.poisoned()
    }

    /// Begins to close: streams end and agents stop where they are, while answers that are under way still go out.
    pub fn begin_close(&self) {
        self.0.stop.cancel();
    }

    /// Runs background work until the runtime closes.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.0.stop.clone();
        self.0.tasks.spawn_on(
            async move {
                tokio::select! {
                    // What comes behind the end of the runtime does not begin.
                    biased;
                    () = stop.cancelled() => {}
                    () = work => {}
                }
            },
            &self.0.tokio,
        );
    }

    /// Stops agents where they are (their turns are carried on by the next start), then closes the store.
    pub async fn close(&self) {
        if self.0.closing.swap(true, Ordering::AcqRel) {
            return;
        }
        self.0.stop.cancel();
        for cell in self.0.sessions.all() {
            for run in cell.work.lock().runs.take() {
                run.abort.abort();
            }
        }
        self.0.tasks.close();
        self.0.tasks.wait().await;
        crate::sweep::snapshot_all::<SessionState>(self).await;
        crate::sweep::snapshot_all::<ChannelState>(self).await;
        crate::sweep::snapshot_all::<PeerState>(self).await;
        self.0.store.close().await;
    }
}

/// Records `runtime.started`, and with it the id of this installation on the first start.
async fn record_start(store: &dyn Store, options: &Options) -> Result<(Started, u64), StartError> {
    let key = Key::table("runtime").into_bytes();
    let row: Option<RuntimeRow> = store.get(&key).await?.map(|bytes| serde_json::from_slice(&bytes)).transpose()?;
    let now = options.sources.clock.now();
    let mut ids = options.sources.ids.source(now);
    let runtime_id = row.as_ref().map_or_else(|| RuntimeId::from_uuid(ids.next_uuid()), |row| row.runtime_id.clone());
    let epoch = row.map_or(0, |row| row.epoch) + 1;
    let expected = store.head(RUNTIME_STREAM).await?.map_or(0, |head| head.sequence);
    let unfinished = Scan {
        prefix: factum_engine::session::keys::all_unfinished().into(),
        after: None,
        until: None,
        direction: Direction::Forward,
        limit: UNFINISHED_COUNTED_MAX,
    };
    let unfinished = store.scan(unfinished).await?.len() as u64;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let fact = RuntimeStarted { version, epoch, started_at: now, unfinished };
    let event = Event {
        event_id: factum_model::id::EventId::from_uuid(ids.next_uuid()),
        timestamp: now,
        sequence: expected + 1,
        schema_version: SCHEMA_VERSION.into(),
        runtime_id: runtime_id.clone(),
        scope: Scope::default(),
        trace: Trace::default(),
        fact: NewEvent::new(Scope::default(), fact).fact,
        refs: serde_json::Map::new(),
    };
    let row = serde_json::to_vec(&RuntimeRow { runtime_id: runtime_id.clone(), epoch })?;
    let commit = Commit {
        stream: RUNTIME_STREAM.into(),
        partition: RUNTIME_PARTITION.into(),
        expected,
        records: vec![event.encode()?.into()],
        index: vec![IndexChange::Put { key: key.into(), value: row.into() }],
    };
    append_and_wait(store, commit).await?;
    Ok((Started { runtime_id, epoch, started_at: now }, expected + 1))
}

/// `runtime.started` counts unfinished sessions up to here; a start does not walk through more of them just to count.
const UNFINISHED_COUNTED_MAX: usize = 10_000;
