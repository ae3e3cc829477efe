//! A subscriber that comes back after many events: how long until it has them all, beside the bare stack sending as many
//! frames of that size from memory.

use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use factum_store::{EmbeddedStore, Options, Store};
use tokio::time::Instant;

use super::Place;
use super::child::Server;
use super::history::{Author, Grain};
use super::measure::{middle, middle_ratio};
use super::report::{Cell, Report};
use super::restart::ACCOUNT;
use super::sse::Events;
use super::wire::Target;

/// What the subscriber had seen before it went away.
const SEEN: u64 = 100;
/// Catching up is short, so each round does it several times.
const TIMES: usize = 5;

#[derive(Clone, Debug, Args)]
pub(crate) struct Resume {
    /// How many events were missed.
    #[arg(long, default_value_t = 10_000, value_name = "EVENTS")]
    pub(crate) missed: u64,
}

pub(crate) async fn run(resume: &Resume, place: &Place) -> Result<Report> {
    let mut report = Report::new("resume", "catching up on missed events beside a bare stream of as many frames");
    let scratch = place.scratch()?;
    let dir = scratch.path().join("data");
    let store = Arc::new(EmbeddedStore::open(&dir, Options::default())?.0);
    let written = Author::new(store.clone(), ACCOUNT, Grain::Step)?.write(SEEN + resume.missed).await?;
    store.close().await;
    drop(store);
    let (bare, server) = (Server::bare().await?, Server::factum(&dir).await?);
    let (bare, ours) = (Target::local(bare.address()), Target::local(server.address()));
    let path = format!("/v1/sessions/{}/events", written.session_id);
    let warm = catch_up(&ours, &path, SEEN, resume.missed).await?;
    let bare_path = format!("/frames?count={}&bytes={}", resume.missed, warm.bytes_each);
    let (mut reference, mut figures) = (Vec::new(), Vec::new());
    for _ in 0..place.rounds * TIMES {
        reference.push(catch_up(&bare, &bare_path, 0, resume.missed).await?.ms);
        figures.push(catch_up(&ours, &path, SEEN, resume.missed).await?.ms);
    }
    let ratio = middle_ratio(&reference, &figures);
    let (reference, figure) = (middle(&reference), middle(&figures));
    let per_second = |ms: f64| Cell::PerSecond(resume.missed as f64 / ms * 1e3);
    report.row([
        ("missed", Cell::Count(resume.missed)),
        ("bytes_each", Cell::Count(warm.bytes_each)),
        ("bare_ms", Cell::Millis(reference)),
        ("bare_per_s", per_second(reference)),
        ("factum_ms", Cell::Millis(figure)),
        ("factum_per_s", per_second(figure)),
        ("ratio", Cell::Ratio(ratio)),
    ]);
    Ok(report)
}

struct CaughtUp {
    ms: f64,
    bytes_each: u64,
}

/// From the connection to the last of `missed` events.
async fn catch_up(target: &Target, path: &str, after: u64, missed: u64) -> Result<CaughtUp> {
    let started = Instant::now();
    let mut events = Events::open(target, path, after).await?;
    let (mut ids, mut count) = (Vec::new(), 0);
    while count < missed {
        events.next(&mut ids).await?;
        count += ids.len() as u64;
    }
    Ok(CaughtUp { ms: started.elapsed().as_secs_f64() * 1e3, bytes_each: events.bytes() / count })
}
