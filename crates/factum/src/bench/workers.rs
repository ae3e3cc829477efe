//! Workers in process: what it costs to wait, how fast runs are handed out, and whether all queues get their share. Each run
//! has to be claimed once, or the benchmark fails. The reference is a single worker, and a runtime on which nobody waits.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use clap::Args;
use factum_model::Command;
use factum_model::commands::{ClaimRuns, CreateTask, EnrollChannel};
use factum_model::id::{RunId, SessionId};
use factum_runtime::{Agents, Caller, Handle, Options as RuntimeOptions, Runtime, Secret};
use factum_store::{Blobs, EmbeddedStore, Options, Store};
use futures::{StreamExt, TryStreamExt};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Place;
use super::commits::caller;
use super::measure::Latencies;
use super::report::{Cell, Report};

/// How many tasks are made at once.
const AT_ONCE: usize = 64;
/// How many tasks share a session.
const TASKS_PER_SESSION: usize = 100;
/// How long an idle runtime is watched.
const IDLE: Duration = Duration::from_secs(3);
/// Of ten runs so many are in the first queue; the others share the rest.
const IN_FIRST_OF_TEN: usize = 7;

#[derive(Clone, Debug, Args)]
pub(crate) struct Workers {
    /// Workers that claim runs.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) workers: usize,
    /// Runs for them.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) runs: usize,
    /// Queues the runs are in.
    #[arg(long, default_value_t = 4)]
    pub(crate) queues: usize,
}

pub(crate) async fn run(workers: &Workers, place: &Place) -> Result<Report> {
    let mut report = Report::new("workers", "many workers, beside one worker and beside nobody");
    for claimers in [1, workers.workers.max(1)] {
        place.note(&format!("workers: {claimers} claim what is ready"));
        let bench = Bench::start(place, workers).await?;
        bench.make().await?;
        let claims = bench.claim_all(claimers, async { Ok(()) }).await?;
        let fair = Cell::Ratio(bench.fairness(&claims.seen));
        report.row(claimed("claim what is ready", claimers, &claims, fair));
        bench.runtime.close().await;
    }
    place.note(&format!("workers: {} wait", workers.workers));
    let bench = Bench::start(place, workers).await?;
    let nobody = idle().await;
    let idle_beside = async {
        let waiting = idle().await;
        bench.make().await?;
        Ok(waiting)
    };
    let claims = bench.claim_all(workers.workers.max(1), idle_beside).await?;
    // Runs that are claimed as they come are not all there to choose from.
    report.row(claimed("wait, then claim", workers.workers, &claims, Cell::Word("-")));
    for (what, cpu) in [("nobody waits", nobody), ("all wait", claims.meanwhile)] {
        report.row(row(
            what,
            [Cell::Word("-"), Cell::Word("-"), Cell::Word("-"), Cell::Word("-"), Cell::Word("-")],
            Cell::Number(cpu),
        ));
    }
    bench.runtime.close().await;
    Ok(report)
}

/// Thousandths of a processor that this process uses while nothing happens.
async fn idle() -> f64 {
    // What was begun before settles first.
    tokio::time::sleep(IDLE).await;
    let before = cpu();
    tokio::time::sleep(IDLE).await;
    (cpu() - before) / IDLE.as_secs_f64() * 1e3
}

/// Seconds that this process has spent on processors.
fn cpu() -> f64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

struct Bench {
    runtime: Runtime,
    caller: Caller,
    runs: usize,
    queues: Vec<String>,
    _dir: tempfile::TempDir,
}

/// A claim as it was seen by its worker.
struct Seen {
    run_id: RunId,
    queue: String,
    at: Instant,
}

/// All claims, in order, and what was found out while everybody waited.
struct Claims<T> {
    seen: Vec<Seen>,
    began: Instant,
    meanwhile: T,
}

impl Bench {
    async fn start(place: &Place, workers: &Workers) -> Result<Self> {
        let dir = place.scratch()?;
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(dir.path().join("store"), Options::default())?.0);
        let options = RuntimeOptions::new(Agents::demo(), Secret::new([7; 32]));
        let runtime = Runtime::start(store, Blobs::open(dir.path().join("blobs"))?, options).await?;
        let queues = (0..workers.queues.max(1)).map(|number| format!("queue-{number}")).collect();
        Ok(Self { runtime, caller: caller(), runs: workers.runs, queues, _dir: dir })
    }

    async fn call<C: Command>(&self, params: Value) -> Result<C::Output>
    where
        Runtime: Handle<C>,
    {
        call::<C>(&self.runtime, &self.caller, params).await
    }

    /// The queue of a run. The first one has most of them.
    fn queue(&self, number: usize) -> &str {
        let others = self.queues.len() - 1;
        let at = if others == 0 || number % 10 < IN_FIRST_OF_TEN { 0 } else { 1 + number % others };
        &self.queues[at]
    }

    /// Makes all the runs.
    async fn make(&self) -> Result<()> {
        let make = |number: usize, session_id: Option<SessionId>| async move {
            let params = json!({
                "session_id": session_id,
                "objective": "Look through the open incidents and say which one needs a person first.",
                "queue": self.queue(number),
                "status": "queued",
            });
            Ok::<_, anyhow::Error>(self.call::<CreateTask>(params).await?.session_id)
        };
        // The first of each session makes it.
        let mut sessions = Vec::new();
        for first in (0..self.runs).step_by(TASKS_PER_SESSION) {
            sessions.push(make(first, None).await?);
        }
        let others = (0..self.runs).filter(|number| number % TASKS_PER_SESSION != 0);
        let others = others.map(|number| make(number, sessions.get(number / TASKS_PER_SESSION).cloned()));
        futures::stream::iter(others).buffer_unordered(AT_ONCE).try_collect::<Vec<_>>().await.map(drop)
    }

    /// Lets workers claim until all runs are claimed, and does something beside it.
    async fn claim_all<T>(&self, workers: usize, beside: impl Future<Output = Result<T>>) -> Result<Claims<T>> {
        let (sender, mut seen) = mpsc::unbounded_channel();
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..workers {
            let channel_id = format!("worker-{number}");
            let params = json!({ "channel_id": channel_id, "peer_role": "worker", "queues": self.queues });
            self.call::<EnrollChannel>(params).await?;
            tasks.spawn(work(self.runtime.clone(), self.caller.clone(), channel_id, sender.clone()));
        }
        let began = Instant::now();
        let all = async {
            let mut all: Vec<Seen> = Vec::with_capacity(self.runs);
            while all.len() < self.runs {
                all.push(seen.recv().await.ok_or_else(|| anyhow!("the workers have ended"))??);
            }
            anyhow::Ok(all)
        };
        let (seen, meanwhile) = tokio::try_join!(all, beside)?;
        tasks.shutdown().await;
        let mut times: HashMap<&str, usize> = HashMap::new();
        for seen in &seen {
            *times.entry(seen.run_id.as_str()).or_default() += 1;
        }
        ensure!(times.len() == self.runs, "{} runs were claimed instead of {}", times.len(), self.runs);
        Ok(Claims { seen, began, meanwhile })
    }

    /// The share of the queue that got the least, of an equal one, for as long as all of them had runs.
    fn fairness(&self, seen: &[Seen]) -> f64 {
        let mut left: HashMap<&str, usize> = HashMap::new();
        (0..self.runs).for_each(|number| *left.entry(self.queue(number)).or_default() += 1);
        let mut got: HashMap<&str, usize> = HashMap::new();
        let mut total = 0;
        for seen in seen {
            let queue = seen.queue.as_str();
            *got.entry(queue).or_default() += 1;
            total += 1;
            let left = left.entry(queue).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                break;
            }
        }
        let least = self.queues.iter().map(|queue| got.get(queue.as_str()).copied().unwrap_or(0)).min().unwrap_or(0);
        least as f64 * self.queues.len() as f64 / f64::from(total.max(1))
    }
}

/// The line of so many workers.
fn claimed<T>(what: &'static str, workers: usize, claims: &Claims<T>, fair: Cell) -> Vec<(&'static str, Cell)> {
    let mut latencies = Latencies::new().ok();
    let first = claims.seen.first().map_or(claims.began, |seen| seen.at);
    let last = claims.seen.last().map_or(first, |seen| seen.at);
    for pair in claims.seen.windows(2) {
        if let (Some(latencies), [one, next]) = (&mut latencies, pair) {
            latencies.record(next.at.saturating_duration_since(one.at));
        }
    }
    let rate = claims.seen.len() as f64 / (last - first).as_secs_f64();
    let between = latencies.map_or(f64::NAN, |latencies| latencies.middle_micros());
    row(
        what,
        [
            Cell::Count(workers as u64),
            Cell::Count(claims.seen.len() as u64),
            Cell::PerSecond(rate),
            Cell::Micros(between),
            fair,
        ],
        Cell::Word("-"),
    )
}

/// Claims one run after another, and waits where there is none.
async fn work(runtime: Runtime, caller: Caller, channel_id: String, seen: mpsc::UnboundedSender<Result<Seen>>) {
    loop {
        let params = json!({ "channel_id": channel_id, "wait_ms": 60_000, "lease_ms": 600_000 });
        let outcome = call::<ClaimRuns>(&runtime, &caller, params).await;
        let at = Instant::now();
        let sent = match outcome {
            Ok(claimed) => claimed
                .runs
                .into_iter()
                .map(|run| Seen { run_id: run.run_id, queue: run.queue, at })
                .all(|one| seen.send(Ok(one)).is_ok()),
            Err(error) => seen.send(Err(error)).is_ok(),
        };
        if !sent {
            return;
        }
    }
}

async fn call<C: Command>(runtime: &Runtime, caller: &Caller, params: Value) -> Result<C::Output>
where
    Runtime: Handle<C>,
{
    let command: C = serde_json::from_value(params)?;
    runtime.call(caller, command).await.map_err(|refusal| anyhow!("{} was refused: {refusal}", C::NAME))
}

fn row(what: &'static str, cells: [Cell; 5], cpu: Cell) -> Vec<(&'static str, Cell)> {
    let names = ["workers", "runs", "claims_per_second", "between_us", "fair"];
    let head = std::iter::once(("what", Cell::Word(what)));
    head.chain(names.into_iter().zip(cells)).chain([("idle_cpu_permille", cpu)]).collect()
}
