//! Many remote channels that come back at once, each far behind: how fast all of them have what they missed, beside the bare
//! stack sending as many frames of that size to as many clients, and how much memory the server takes meanwhile.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use factum_model::id::SessionId;
use factum_store::{EmbeddedStore, Options, Store};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Place;
use super::child::Server;
use super::history::{Author, Grain};
use super::measure::{middle, middle_ratio};
use super::report::{Cell, Report};
use super::restart::ACCOUNT;
use super::sse::Events;
use super::wire::{Connection, Target};

/// How often the memory of the server is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Channels that are enrolled at the same time.
const ENROLLING: usize = 16;

#[derive(Clone, Debug, Args)]
pub(crate) struct Reconnect {
    /// How many channels come back.
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    pub(crate) channels: usize,
    /// How many events each of them missed.
    #[arg(long, default_value_t = 10_000, value_name = "EVENTS")]
    pub(crate) missed: u64,
}

pub(crate) async fn run(reconnect: &Reconnect, place: &Place) -> Result<Report> {
    let title = "channels that come back at once, beside a bare stream of as many frames to as many clients";
    let mut report = Report::new("reconnect", title);
    let scratch = place.scratch()?;
    let dir = scratch.path().join("data");
    place.note("reconnect: writing what is missed");
    let sessions = write(&dir, reconnect).await?;
    let (bare, server) = (Server::bare().await?, Server::factum(&dir).await?);
    let (bare_target, target) = (Target::local(bare.address()), Target::local(server.address()));
    enroll(&target, &sessions).await?;
    let count = sessions.len();
    let (idle, bare_idle) = (server.memory_bytes()?, bare.memory_bytes()?);
    let path = |at: usize| format!("/v1/remote_channels/bench-{at}/events");
    let bytes_each = come_back(&target, 0, path(0), reconnect.missed).await?;
    let frames = format!("/frames?count={}&bytes={bytes_each}", reconnect.missed);
    let (mut reference, mut figures) = (Vec::new(), Vec::new());
    let (mut peak, mut bare_peak) = (idle, bare_idle);
    for _ in 0..place.rounds {
        let all = (0..count).map(|_| catch_up(bare_target.clone(), frames.clone(), reconnect.missed));
        let (ms, most) = together(all.collect(), &bare).await?;
        reference.push(ms);
        bare_peak = bare_peak.max(most);
        let all = (0..count).map(|at| returning(target.clone(), at, path(at), reconnect.missed));
        let (ms, most) = together(all.collect(), &server).await?;
        figures.push(ms);
        peak = peak.max(most);
    }
    let ratio = middle_ratio(&reference, &figures);
    let (reference, figure) = (middle(&reference), middle(&figures));
    let events = reconnect.missed as f64 * count as f64;
    let mib = |bytes: u64| Cell::Number(bytes as f64 / f64::from(1 << 20));
    report.row([
        ("channels", Cell::Count(count as u64)),
        ("missed", Cell::Count(reconnect.missed)),
        ("bytes_each", Cell::Count(bytes_each)),
        ("bare_per_s", Cell::PerSecond(events / reference * 1e3)),
        ("factum_per_s", Cell::PerSecond(events / figure * 1e3)),
        ("ratio", Cell::Ratio(ratio)),
        ("bare_grown_mib", mib(bare_peak.saturating_sub(bare_idle))),
        ("idle_mib", mib(idle)),
        ("grown_mib", mib(peak.saturating_sub(idle))),
    ]);
    Ok(report)
}

async fn write(dir: &std::path::Path, reconnect: &Reconnect) -> Result<Vec<SessionId>> {
    let store = Arc::new(EmbeddedStore::open(dir, Options::default())?.0);
    let author = Author::new(store.clone(), ACCOUNT, Grain::Turn)?;
    let mut sessions = Vec::with_capacity(reconnect.channels);
    for _ in 0..reconnect.channels.max(1) {
        sessions.push(author.write(reconnect.missed).await?.session_id);
    }
    store.close().await;
    Ok(sessions)
}

/// One channel for each session, following it from its first event.
async fn enroll(target: &Target, sessions: &[SessionId]) -> Result<()> {
    let numbered: Vec<(usize, SessionId)> = sessions.iter().cloned().enumerate().collect();
    let mut enrolling = JoinSet::new();
    for own in numbered.chunks(numbered.len().div_ceil(ENROLLING)) {
        let (own, target) = (own.to_vec(), target.clone());
        enrolling.spawn(async move {
            let mut connection = Connection::open(&target).await?;
            for (at, session_id) in own {
                let params = json!({
                    "channel_id": format!("bench-{at}"), "peer_role": "client", "session_ids": [session_id],
                });
                let request = target.post("/v1/enroll_channel", &params.to_string());
                connection.call(&request).await.context("a channel was not enrolled")?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = enrolling.join_next().await {
        done??;
    }
    Ok(())
}

type Work = std::pin::Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// Runs all of them at once. Gives the time until the last is done, and the most memory that was seen.
async fn together(all: Vec<Work>, server: &Server) -> Result<(f64, u64)> {
    let (done, started) = (CancellationToken::new(), Instant::now());
    let mut working = JoinSet::new();
    for work in all {
        working.spawn(work);
    }
    let wait = async {
        while let Some(one) = working.join_next().await {
            one??;
        }
        done.cancel();
        anyhow::Ok(started.elapsed().as_secs_f64() * 1e3)
    };
    let watch = async {
        let (mut most, mut look) = (server.memory_bytes()?, tokio::time::interval(LOOK));
        while !done.is_cancelled() {
            tokio::select! {
                () = done.cancelled() => {}
                _ = look.tick() => {}
            }
            most = most.max(server.memory_bytes()?);
        }
        anyhow::Ok(most)
    };
    tokio::try_join!(wait, watch)
}

fn catch_up(target: Target, path: String, missed: u64) -> Work {
    Box::pin(async move { read(&target, &path, missed).await.map(drop) })
}

fn returning(target: Target, at: usize, path: String, missed: u64) -> Work {
    Box::pin(async move { come_back(&target, at, path, missed).await.map(drop) })
}

/// The snapshot first, then everything behind the cursor. Nothing is acknowledged, so the next round finds the same. Gives
/// the bytes of an event.
async fn come_back(target: &Target, at: usize, path: String, missed: u64) -> Result<u64> {
    let params = json!({ "channel_id": format!("bench-{at}"), "last_acknowledged_sequence": 0 });
    let request = target.post("/v1/reconnect_channel", &params.to_string());
    let mut connection = Connection::open(target).await?;
    let answer: Value = serde_json::from_slice(connection.call(&request).await?)?;
    if answer["resume_from"] != 0 {
        bail!("a channel does not go on where it left off: {}", answer["resume_from"]);
    }
    read(target, &path, missed).await
}

async fn read(target: &Target, path: &str, missed: u64) -> Result<u64> {
    let mut events = Events::open_from_where_it_stands(target, path).await?;
    let (mut ids, mut count) = (Vec::new(), 0);
    while count < missed {
        events.next(&mut ids).await?;
        count += ids.len() as u64;
    }
    Ok(events.bytes() / count)
}
