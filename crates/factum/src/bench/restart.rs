//! From the start of a process to its first answer, by what is stored: closed in order, and killed with commits that the
//! derived index has not seen. The reference is a start on an empty directory.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use factum_store::{EmbeddedStore, Options, Store};
use tokio::task::JoinSet;

use super::Place;
use super::child::Server;
use super::history::{Author, Grain};
use super::measure::middle;
use super::report::{Cell, Report};

/// The account of `factum dev`.
pub(super) const ACCOUNT: &str = "dev";
const EVENTS_PER_SESSION: u64 = 1_000;
const WRITERS: u64 = 8;
/// What a crash leaves for the next start to replay: below the size at which the index is written by itself.
const UNSEEN_EVENTS: u64 = 50_000;

#[derive(Clone, Debug, Args)]
pub(crate) struct Restart {
    /// How many events are stored.
    #[arg(long, value_delimiter = ',', default_value = "1000000,10000000", value_name = "EVENTS,…")]
    pub(crate) events: Vec<u64>,
}

pub(crate) async fn run(restart: &Restart, place: &Place) -> Result<Report> {
    let mut report = Report::new("restart", "from the start of the process to its first answer, beside an empty store");
    for &events in &restart.events {
        let scratch = place.scratch()?;
        let dir = scratch.path().join("data");
        place.note(&format!("restart: storing {events} events"));
        write(&dir, events, End::Closed).await?;
        place.note("restart: measuring");
        let (mut empty, mut closed, mut killed) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..place.rounds {
            empty.push(ready_ms(&place.scratch()?.path().join("data")).await?);
            closed.push(ready_ms(&dir).await?);
            write(&dir, UNSEEN_EVENTS, End::Killed).await?;
            killed.push(ready_ms(&dir).await?);
        }
        for (name, figures) in [("closed", &closed), ("killed", &killed)] {
            let (reference, ours) = (middle(&empty), middle(figures));
            report.row([
                ("events", Cell::Count(events)),
                ("before", Cell::Word(name)),
                ("empty_ms", Cell::Millis(reference)),
                ("ready_ms", Cell::Millis(ours)),
                ("times", Cell::Ratio(ours / reference)),
            ]);
        }
    }
    Ok(report)
}

/// Starts a server on the directory, and stops it in order once it answers.
async fn ready_ms(dir: &Path) -> Result<f64> {
    let server = Server::factum(dir).await?;
    let ready_after = server.ready_after();
    server.stop().await?;
    Ok(ready_after.as_secs_f64() * 1e3)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Closed,
    /// Without a word to the index: what was committed is in the log, as it is after `kill -9`.
    Killed,
}

async fn write(dir: &Path, events: u64, end: End) -> Result<()> {
    let store = Arc::new(EmbeddedStore::open(dir, Options::default())?.0);
    let sessions = events.div_ceil(EVENTS_PER_SESSION);
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let author = Author::new(store.clone(), ACCOUNT, Grain::Turn)?;
        let own = sessions / WRITERS + u64::from(writer < sessions % WRITERS);
        writers.spawn(async move {
            for _ in 0..own {
                author.write(EVENTS_PER_SESSION).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = writers.join_next().await {
        done??;
    }
    if end == End::Closed {
        store.close().await;
    }
    Ok(())
}
