//! What a session costs by the length of its history: opening it, appending to it, reading where it stands. The reference
//! is the shortest one, and the promise is that history does not show.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use factum_model::Command;
use factum_model::commands::{GetSession, GetThreadRead, Window};
use factum_model::id::SessionId;
use factum_runtime::{Agents, Caller, Handle, Options as RuntimeOptions, Runtime, Secret};
use factum_store::{Blobs, EmbeddedStore, Options, Store};
use tokio::time::Instant;

use super::Place;
use super::commits::{caller, interrupt, submit};
use super::history::{Author, Grain};
use super::measure::Latencies;
use super::report::{Cell, Report};

/// Each round looks this often; opening takes a runtime of its own each time.
const OPENS: usize = 40;
const APPENDS: usize = 50;
const READS: usize = 200;
/// A window whose search ends within the shortest history, so that all do the same work.
const WINDOW_STEPS: u32 = 4;

#[derive(Clone, Debug, Args)]
pub(crate) struct Sessions {
    /// How many events the sessions have.
    #[arg(long, value_delimiter = ',', default_value = "100,10000,1000000", value_name = "EVENTS,…")]
    pub(crate) sizes: Vec<u64>,
}

pub(crate) async fn run(sessions: &Sessions, place: &Place) -> Result<Report> {
    let scratch = place.scratch()?;
    let dir = scratch.path().join("store");
    let mut subjects = write(&dir, &sessions.sizes, place).await?;
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(&dir, Options::default())?.0);
    let bench = Bench { store, blobs: Blobs::open(scratch.path().join("blobs"))?, caller: caller() };
    place.note("sessions: measuring");
    for _ in 0..place.rounds {
        bench.opens(&mut subjects).await?;
    }
    let runtime = bench.runtime().await?;
    for _ in 0..place.rounds {
        bench.appends(&runtime, &mut subjects).await?;
        bench.reads(&runtime, &mut subjects).await?;
    }
    runtime.close().await;
    Ok(report(&subjects))
}

/// A session and what it cost.
struct Subject {
    session_id: SessionId,
    events: u64,
    open: Latencies,
    append: Latencies,
    thread_read: Latencies,
    session: Latencies,
}

/// One of the things a session was measured by.
type Figure = fn(&Subject) -> &Latencies;

async fn write(dir: &std::path::Path, sizes: &[u64], place: &Place) -> Result<Vec<Subject>> {
    let store = Arc::new(EmbeddedStore::open(dir, Options::default())?.0);
    let author = Author::new(store.clone(), &caller().account, Grain::Step)?;
    let mut subjects = Vec::new();
    for &size in sizes {
        place.note(&format!("sessions: writing one of {size} events"));
        let written = author.write(size).await?;
        subjects.push(Subject {
            session_id: written.session_id,
            events: written.events,
            open: Latencies::new()?,
            append: Latencies::new()?,
            thread_read: Latencies::new()?,
            session: Latencies::new()?,
        });
    }
    store.close().await;
    Ok(subjects)
}

fn report(subjects: &[Subject]) -> Report {
    let mut report = Report::new("sessions", "what a session costs, beside the shortest one");
    let operations: [(&'static str, Figure); 4] = [
        ("open", |subject| &subject.open),
        ("submit + interrupt", |subject| &subject.append),
        ("get_thread_read", |subject| &subject.thread_read),
        ("get_session", |subject| &subject.session),
    ];
    for (name, latencies) in operations {
        let reference = subjects.first().map_or(f64::NAN, |subject| latencies(subject).middle_micros());
        for subject in subjects {
            let middle = latencies(subject).middle_micros();
            report.row([
                ("what", Cell::Word(name)),
                ("events", Cell::Count(subject.events)),
                ("shortest_us", Cell::Micros(reference)),
                ("p50_us", Cell::Micros(middle)),
                ("times", Cell::Ratio(middle / reference)),
            ]);
        }
    }
    report
}

struct Bench {
    store: Arc<dyn Store>,
    blobs: Blobs,
    caller: Caller,
}

impl Bench {
    async fn runtime(&self) -> Result<Runtime> {
        let options = RuntimeOptions::new(Agents::demo(), Secret::new([7; 32]));
        Ok(Runtime::start(self.store.clone(), self.blobs.clone(), options).await?)
    }

    /// The first look at a session by a runtime that has not seen it.
    async fn opens(&self, subjects: &mut [Subject]) -> Result<()> {
        for _ in 0..OPENS {
            let runtime = self.runtime().await?;
            for subject in &mut *subjects {
                let clock = Instant::now();
                self.call(&runtime, thread_read(&subject.session_id)).await?;
                subject.open.record(clock.elapsed());
            }
            // Not closed, which would close the store; what it runs in the background ends.
            runtime.begin_close();
            subjects.rotate_left(1);
        }
        subjects.sort_by_key(|subject| subject.events);
        Ok(())
    }

    async fn appends(&self, runtime: &Runtime, subjects: &mut [Subject]) -> Result<()> {
        for _ in 0..APPENDS {
            for subject in &mut *subjects {
                let command = submit(Some(&subject.session_id))?;
                let clock = Instant::now();
                self.call(runtime, command).await?;
                self.call(runtime, interrupt(&subject.session_id)).await?;
                subject.append.record(clock.elapsed());
            }
        }
        Ok(())
    }

    async fn reads(&self, runtime: &Runtime, subjects: &mut [Subject]) -> Result<()> {
        for _ in 0..READS {
            for subject in &mut *subjects {
                let clock = Instant::now();
                self.call(runtime, thread_read(&subject.session_id)).await?;
                subject.thread_read.record(clock.elapsed());
                let window = Some(Window { limit: Some(WINDOW_STEPS), before: None });
                let command = GetSession { session_id: subject.session_id.clone(), window, as_of: None };
                let clock = Instant::now();
                self.call(runtime, command).await?;
                subject.session.record(clock.elapsed());
            }
        }
        Ok(())
    }

    async fn call<C: Command>(&self, runtime: &Runtime, command: C) -> Result<C::Output>
    where
        Runtime: Handle<C>,
    {
        let answer = runtime.call(&self.caller, command).await;
        answer.map_err(|refusal| anyhow!("{refusal}")).with_context(|| format!("{} was refused", C::NAME))
    }
}

fn thread_read(session_id: &SessionId) -> GetThreadRead {
    GetThreadRead { session_id: session_id.clone(), thread_id: None, as_of: None }
}
