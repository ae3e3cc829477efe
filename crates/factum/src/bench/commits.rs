//! Durable commits in process, beside the floor of the disk: the store alone, then the runtime on it.
//!
//! The floor writes what was seen to be written: as many bytes per sync, counted as often as commits (or commands) shared
//! a sync. So it knows the grouping and pays for nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use factum_model::commands::{InterruptTurn, SubmitTurn};
use factum_model::id::SessionId;
use factum_model::registry::Scopes;
use factum_runtime::{Agents, Caller, Options as RuntimeOptions, Runtime, Secret};
use factum_store::{Blobs, EmbeddedStore, Options, Stats, Store, append_and_wait};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Place;
use super::floor::Floor;
use super::measure::{Latencies, middle, middle_ratio};
use super::preload;
use super::report::{Cell, Report};

const WARM_UP: Duration = Duration::from_millis(300);
/// How many turns are interrupted at once behind a round.
const INTERRUPTS_AT_ONCE: usize = 256;

#[derive(Clone, Debug, Args)]
pub(crate) struct Commits {
    /// How many commit at once.
    #[arg(long, value_delimiter = ',', default_value = "1,8,64,512", value_name = "N,…")]
    pub(crate) clients: Vec<usize>,
    /// Events that are stored before anything is measured.
    #[arg(long, default_value_t = 0, value_name = "EVENTS")]
    pub(crate) preload: u64,
    /// How long each round is.
    #[arg(long, default_value_t = 2, value_name = "SECONDS")]
    pub(crate) seconds: u64,
}

pub(crate) async fn run(commits: &Commits, place: &Place) -> Result<Report> {
    let mut report = Report::new("commits", "durable commits in process beside append + fdatasync of the same bytes");
    let scratch = place.scratch()?;
    let floor = Floor::prepare(scratch.path())?;
    let store = opened(&scratch.path().join("store"), commits.preload, place).await?;
    let blobs = Blobs::open(scratch.path().join("blobs"))?;
    let options = RuntimeOptions::new(Agents::demo(), Secret::new([7; 32]));
    let runtime = Runtime::start(store.clone(), blobs, options).await?;
    let bench = Bench { store, runtime, floor, caller: caller(), next_stream: Arc::default() };
    // Longer turns than elsewhere: a store's background work has to fall into its own.
    let time = Duration::from_secs(commits.seconds.max(1));
    for &clients in &commits.clients {
        place.note(&format!("commits: {clients} clients"));
        for what in [What::Store, What::Runtime] {
            bench.measure(what, clients, WARM_UP).await?;
            let mut rounds = Vec::new();
            for _ in 0..place.rounds {
                rounds.push(bench.measure(what, clients, time).await?);
            }
            report.row(row(what, clients, &rounds)?);
        }
    }
    bench.runtime.close().await;
    Ok(report)
}

/// A store with so many events in it, opened anew where it was filled.
async fn opened(dir: &std::path::Path, preload: u64, place: &Place) -> Result<Arc<EmbeddedStore>> {
    let open = || EmbeddedStore::open(dir, Options::default()).map(|(store, _)| Arc::new(store));
    let store = open()?;
    if preload == 0 {
        return Ok(store);
    }
    place.note(&format!("commits: storing {preload} events first"));
    preload::fill(&store, preload).await?;
    store.close().await;
    drop(store);
    Ok(open()?)
}

/// Who calls in process.
pub(super) fn caller() -> Caller {
    Caller::new("user://bench", "bench", Scopes::admin())
}

/// A turn for the agent that waits.
pub(super) fn submit(session_id: Option<&SessionId>) -> Result<SubmitTurn> {
    let text = "Look through the open incidents and say which one needs a person first.";
    let command = json!({ "session_id": session_id, "agent": "waiting", "input": [{ "type": "text", "text": text }] });
    Ok(serde_json::from_value(command)?)
}

pub(super) fn interrupt(session_id: &SessionId) -> InterruptTurn {
    let session_id = session_id.clone();
    InterruptTurn { session_id, thread_id: None, turn_id: None, reason: None, idempotency_key: None }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Store,
    Runtime,
}

/// One turn: ours, and the floor of what ours wrote.
struct Round {
    per_second: f64,
    floor_per_second: f64,
    floor_waited: f64,
    /// How many shared a sync.
    batch: f64,
    latencies: Latencies,
}

fn row(what: What, clients: usize, rounds: &[Round]) -> Result<Vec<(&'static str, Cell)>> {
    let all = |figure: fn(&Round) -> f64| rounds.iter().map(figure).collect::<Vec<_>>();
    let mut latencies = Latencies::new()?;
    rounds.iter().for_each(|round| latencies.merge(&round.latencies));
    let (floor, ours) = (all(|round| round.floor_per_second), all(|round| round.per_second));
    let name = if what == What::Store { "store append" } else { "submit_turn" };
    Ok(vec![
        ("what", Cell::Word(name)),
        ("clients", Cell::Count(clients as u64)),
        ("floor_per_s", Cell::PerSecond(middle(&floor))),
        ("floor_waited", Cell::Ratio(middle(&all(|round| round.floor_waited)))),
        ("factum_per_s", Cell::PerSecond(middle(&ours))),
        ("ratio", Cell::Ratio(middle_ratio(&ours, &floor))),
        ("p50_ms", Cell::Millis(latencies.millis(0.5))),
        ("p99_ms", Cell::Millis(latencies.millis(0.99))),
        ("batch", Cell::Number(middle(&all(|round| round.batch)))),
    ])
}

struct Bench {
    store: Arc<EmbeddedStore>,
    runtime: Runtime,
    floor: Floor,
    caller: Caller,
    next_stream: Arc<AtomicU64>,
}

impl Bench {
    async fn measure(&self, what: What, clients: usize, time: Duration) -> Result<Round> {
        self.settle().await?;
        let (before, clock) = (self.store.stats(), Instant::now());
        let (latencies, sessions) = match what {
            What::Store => (self.append(clients, clock + time).await?, Vec::new()),
            What::Runtime => self.submit(clients, clock + time).await?,
        };
        let seconds = clock.elapsed().as_secs_f64();
        let written = Written::between(before, self.store.stats());
        let done = latencies.len() as f64;
        let batch = done / written.syncs;
        self.settle().await?;
        let floor = self.floor.write(written.bytes_per_sync(), time).await?;
        self.interrupt(sessions).await?;
        let (per_second, floor_per_second) = (done / seconds, floor.per_second * batch);
        Ok(Round { per_second, floor_per_second, floor_waited: floor.waited, batch, latencies })
    }

    /// Both sides begin with nothing left to write.
    async fn settle(&self) -> Result<()> {
        let store = self.store.clone();
        tokio::task::spawn_blocking(move || store.checkpoint()).await??;
        self.floor.settle().await
    }

    async fn append(&self, clients: usize, until: Instant) -> Result<Latencies> {
        let mut tasks = JoinSet::new();
        for _ in 0..clients {
            let stream = format!("bench/{:018x}", self.next_stream.fetch_add(1, Ordering::Relaxed));
            tasks.spawn(append_until(self.store.clone(), stream, until));
        }
        let mut latencies = Latencies::new()?;
        while let Some(done) = tasks.join_next().await {
            latencies.merge(&done??);
        }
        Ok(latencies)
    }

    async fn submit(&self, clients: usize, until: Instant) -> Result<(Latencies, Vec<SessionId>)> {
        let mut tasks = JoinSet::new();
        for _ in 0..clients {
            tasks.spawn(submit_until(self.runtime.clone(), self.caller.clone(), until));
        }
        let (mut latencies, mut sessions) = (Latencies::new()?, Vec::new());
        while let Some(done) = tasks.join_next().await {
            let (own, made) = done??;
            latencies.merge(&own);
            sessions.extend(made);
        }
        Ok((latencies, sessions))
    }

    /// Ends the turns of a round, so that rounds do not pile up in memory.
    async fn interrupt(&self, sessions: Vec<SessionId>) -> Result<()> {
        let stop = |session_id: SessionId| async move {
            let stopped = self.runtime.call(&self.caller, interrupt(&session_id)).await;
            stopped.map(drop).map_err(|refusal| anyhow!("a turn could not be interrupted: {refusal}"))
        };
        stream::iter(sessions).map(stop).buffer_unordered(INTERRUPTS_AT_ONCE).try_collect::<()>().await
    }
}

async fn append_until(store: Arc<EmbeddedStore>, stream: String, until: Instant) -> Result<Latencies> {
    let mut latencies = Latencies::new()?;
    let (mut expected, mut now) = (0, Instant::now());
    while now < until {
        append_and_wait(&*store, preload::commit(&stream, expected)).await?;
        expected += preload::RECORDS;
        let durable = Instant::now();
        latencies.record(durable - now);
        now = durable;
    }
    Ok(latencies)
}

async fn submit_until(runtime: Runtime, caller: Caller, until: Instant) -> Result<(Latencies, Vec<SessionId>)> {
    let (mut latencies, mut sessions) = (Latencies::new()?, Vec::new());
    let command = submit(None)?;
    let mut now = Instant::now();
    while now < until {
        let submitted = runtime.call(&caller, command.clone()).await;
        let submitted = submitted.map_err(|refusal| anyhow!("{refusal}")).context("a turn was refused")?;
        sessions.push(submitted.session_id);
        let durable = Instant::now();
        latencies.record(durable - now);
        now = durable;
    }
    Ok((latencies, sessions))
}

/// What the log got in between.
struct Written {
    syncs: f64,
    bytes: f64,
}

impl Written {
    fn between(before: Stats, after: Stats) -> Self {
        Self { syncs: (after.syncs - before.syncs).max(1) as f64, bytes: (after.log_bytes - before.log_bytes) as f64 }
    }

    fn bytes_per_sync(&self) -> usize {
        (self.bytes / self.syncs) as usize
    }
}
