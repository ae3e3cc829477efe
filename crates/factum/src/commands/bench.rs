//! `factum bench`: measures Factum beside what it stands on. The benchmarks are in `bench/`, one file each.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};

use super::{block_on, block_on_one_thread};
use crate::bench::a2a::A2a;
use crate::bench::channels::Channels;
use crate::bench::commits::Commits;
use crate::bench::fanout::Fanout;
use crate::bench::http::Http;
use crate::bench::memory::Memory;
use crate::bench::messages::Publishing;
use crate::bench::reconnect::Reconnect;
use crate::bench::restart::Restart;
use crate::bench::resume::Resume;
use crate::bench::sessions::Sessions;
use crate::bench::tasks::Tasks;
use crate::bench::workers::Workers;
use crate::bench::{
    Place, Report, a2a, channels, commits, echo, fanout, http, memory, messages, raise_open_files, reconnect, restart,
    resume, sessions, tasks, workers,
};
use crate::cli::App;
use crate::client::Credential;
use crate::failure::{Exit, Problem};
use crate::signals;

#[derive(Debug, Args)]
#[command(after_help = "Every figure stands beside a reference measured in the same run; the ratio is what counts.\n\
                  docs/operations/benchmarks.md says what each one means.")]
pub(crate) struct Bench {
    /// Where data is written meanwhile: the disk that is measured.
    #[arg(long, global = true, default_value = ".", value_name = "DIR")]
    dir: PathBuf,
    /// How often reference and ours take turns; the middle round counts.
    #[arg(long, global = true, default_value_t = 3, value_name = "N")]
    rounds: usize,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A durable command over HTTP beside a bare echo.
    Http(Http),
    /// Durable commits in process beside the disk itself.
    Commits(Commits),
    /// Events to many subscribers beside a bare broadcast.
    Fanout(Fanout),
    /// Catching up on missed events.
    Resume(Resume),
    /// Many remote channels that come back at once, each far behind.
    Reconnect(Reconnect),
    /// Opening, appending to and reading sessions by the length of their history.
    Sessions(Sessions),
    /// Starting by what is stored.
    Restart(Restart),
    /// Memory for each idle session and each subscriber.
    Memory(Memory),
    /// A message published over HTTP beside a bare echo, and Redis, PostgreSQL and NATS where they are installed.
    Publish(Publishing),
    /// Publishing by how long a channel is and how many there are.
    Channels(Channels),
    /// Tasks by how many there are in one graph.
    Tasks(Tasks),
    /// Many workers that wait for runs and claim them.
    Workers(Workers),
    /// A message over A2A beside servers of the official Python and Rust SDKs, where they are installed.
    A2a(A2a),
    /// All of them, one after another.
    All(All),
    /// The server that the others are compared with.
    #[command(hide = true)]
    EchoServer,
}

#[derive(Clone, Debug, Args)]
struct All {
    /// Short rounds and small sizes: whether it runs, not how fast.
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(bench: Bench, app: &App) -> Result<Exit> {
    if let What::EchoServer = bench.what {
        return block_on(async {
            // Whoever started it says when it ends; a signal to the terminal's group is not for it.
            let _stop = signals::watch().context("signals cannot be watched")?;
            echo::serve(&app.output).await.map(|()| Exit::Ok)
        });
    }
    if cfg!(debug_assertions) {
        app.output.warn("this is a debug build; its figures mean nothing");
    }
    raise_open_files();
    let place = Place::new(&bench.dir, bench.rounds, app.output)?;
    measure(bench.what, &place, app).map(|()| Exit::Ok)
}

/// Measures and shows. Tables come one by one; JSON is one document.
fn measure(what: What, place: &Place, app: &App) -> Result<()> {
    let mut reports = Vec::new();
    for step in steps(what) {
        let report = step.run_here(place)?;
        if !app.output.is_json() {
            app.output.line(report.table())?;
        }
        reports.push(report);
    }
    if app.output.is_json() {
        app.output.rows(&reports)?;
    }
    Ok(())
}

impl What {
    /// Clients of servers share one thread, as those of `wrk` and `redis-benchmark` do: more of them would take the
    /// processors from what is measured. What is measured in this process has all of them.
    fn is_asked_from_outside(&self) -> bool {
        matches!(self, Self::Http(_) | Self::Publish(_) | Self::A2a(_))
    }

    fn run_here(&self, place: &Place) -> Result<Report> {
        let work = async {
            let stop = signals::watch().context("signals cannot be watched")?;
            // Servers are killed and directories removed when this is dropped, also by a signal.
            tokio::select! {
                report = self.run(place) => report,
                () = stop.cancelled() => Err(Problem::cannot_run("the benchmark was stopped").into()),
            }
        };
        if self.is_asked_from_outside() { block_on_one_thread(work) } else { block_on(work) }
    }

    async fn run(&self, place: &Place) -> Result<Report> {
        match self {
            Self::Http(http) => http::run(http, place).await,
            Self::Commits(commits) => commits::run(commits, place).await,
            Self::Fanout(fanout) => fanout::run(fanout, place).await,
            Self::Resume(resume) => resume::run(resume, place).await,
            Self::Reconnect(reconnect) => reconnect::run(reconnect, place).await,
            Self::Sessions(sessions) => sessions::run(sessions, place).await,
            Self::Restart(restart) => restart::run(restart, place).await,
            Self::Memory(memory) => memory::run(memory, place).await,
            Self::Publish(publish) => messages::run(publish, place).await,
            Self::Channels(channels) => channels::run(channels, place).await,
            Self::Tasks(tasks) => tasks::run(tasks, place).await,
            Self::Workers(workers) => workers::run(workers, place).await,
            Self::A2a(a2a) => a2a::run(a2a, place).await,
            Self::All(_) | Self::EchoServer => Err(Problem::cannot_run("this is not one benchmark").into()),
        }
    }
}

fn steps(what: What) -> Vec<What> {
    match what {
        What::All(All { quick: true }) => quick(),
        What::All(All { quick: false }) => thorough(),
        one => vec![one],
    }
}

fn quick() -> Vec<What> {
    let (clients, url, credential) = (vec![1, 64], None, Credential { token: None });
    vec![
        What::Commits(Commits { clients: clients.clone(), preload: 0, seconds: 1 }),
        What::Http(Http { clients, seconds: 1, url, credential }),
        What::Publish(Publishing {
            peers: Vec::new(),
            alone: true,
            clients: 64,
            channels: 64,
            payload: 256,
            seconds: 1,
        }),
        What::Channels(Channels { messages: vec![100, 10_000], channels: vec![10, 1_000] }),
        What::Tasks(Tasks { width: 100, depth: 10 }),
        What::Workers(Workers { workers: 50, runs: 500, queues: 4 }),
        What::A2a(A2a { peers: Vec::new(), clients: 64, seconds: 1 }),
        What::Fanout(Fanout { subscribers: vec![1, 100], seconds: 1, channel: false }),
        What::Fanout(Fanout { subscribers: vec![1, 100], seconds: 1, channel: true }),
        What::Resume(Resume { missed: 10_000 }),
        What::Reconnect(Reconnect { channels: 20, missed: 1_000 }),
        What::Sessions(Sessions { sizes: vec![100, 10_000] }),
        What::Restart(Restart { events: vec![100_000] }),
        What::Memory(Memory { sessions: 1_000, subscribers: 100 }),
    ]
}

fn thorough() -> Vec<What> {
    let clients = || vec![1, 8, 64, 512];
    let (url, credential) = (None, Credential { token: None });
    vec![
        What::Commits(Commits { clients: clients(), preload: 0, seconds: 2 }),
        What::Commits(Commits { clients: vec![64], preload: 5_000_000, seconds: 2 }),
        What::Http(Http { clients: clients(), seconds: 5, url, credential }),
        What::Publish(Publishing {
            peers: Vec::new(),
            alone: false,
            clients: 64,
            channels: 64,
            payload: 256,
            seconds: 5,
        }),
        What::Channels(Channels { messages: vec![100, 10_000_000], channels: vec![10, 100_000] }),
        What::Tasks(Tasks { width: 1_000, depth: 100 }),
        What::Workers(Workers { workers: 1_000, runs: 10_000, queues: 4 }),
        What::A2a(A2a { peers: Vec::new(), clients: 64, seconds: 5 }),
        What::Fanout(Fanout { subscribers: vec![1, 100, 1_000], seconds: 3, channel: false }),
        What::Fanout(Fanout { subscribers: vec![1, 100, 1_000], seconds: 3, channel: true }),
        What::Resume(Resume { missed: 10_000 }),
        What::Reconnect(Reconnect { channels: 1_000, missed: 10_000 }),
        What::Sessions(Sessions { sizes: vec![100, 10_000, 1_000_000] }),
        What::Restart(Restart { events: vec![1_000_000, 10_000_000] }),
        What::Memory(Memory { sessions: 10_000, subscribers: 1_000 }),
    ]
}
