//! Memory for each session that is open and idle, each one whose turn is under way, and each subscriber that waits.
//!
//! Only memory of the process's own counts: pages of the log and the index belong to the system, which takes them back.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use factum_model::id::SessionId;
use factum_store::{EmbeddedStore, Options, Store};
use serde_json::json;
use tokio::task::JoinSet;

use super::Place;
use super::child::Server;
use super::history::{Author, Grain};
use super::http;
use super::publish::{Frames, Source, Turns};
use super::report::{Cell, Report};
use super::restart::ACCOUNT;
use super::subscribers::Subscribers;
use super::wire::{Connection, Target};

const EVENTS_PER_SESSION: u64 = 20;
const ASKERS: usize = 16;
/// Sessions that are opened first, so that what the server needs anyway is not counted.
const WARM_UP_SESSIONS: usize = 200;

#[derive(Clone, Debug, Args)]
pub(crate) struct Memory {
    /// How many sessions are opened.
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub(crate) sessions: usize,
    /// How many subscribers wait.
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    pub(crate) subscribers: usize,
}

pub(crate) async fn run(memory: &Memory, place: &Place) -> Result<Report> {
    let mut report =
        Report::new("memory", "of the process's own, beside a session as JSON and a subscriber of a bare broadcast");
    place.note("memory: opening sessions and subscribers");
    let sessions = sessions(memory.sessions.max(1), place).await?;
    report.row(row("idle session", memory.sessions, sessions.as_json, sessions.idle));
    report.row(row("turn under way", memory.sessions, sessions.as_json, sessions.working));
    let (reference, each) = subscribers(memory.subscribers.max(1), place).await?;
    report.row(row("subscriber", memory.subscribers, reference, each));
    Ok(report)
}

fn row(what: &'static str, count: usize, reference: f64, each: f64) -> [(&'static str, Cell); 5] {
    [
        ("what", Cell::Word(what)),
        ("count", Cell::Count(count as u64)),
        ("reference_kib", Cell::Number(reference / 1024.0)),
        ("kib_each", Cell::Number(each / 1024.0)),
        ("times", Cell::Ratio(each / reference)),
    ]
}

/// Bytes of a session: as JSON, in memory, and in memory with a turn under way.
struct Each {
    as_json: f64,
    idle: f64,
    working: f64,
}

async fn sessions(count: usize, place: &Place) -> Result<Each> {
    let scratch = place.scratch()?;
    let dir = scratch.path().join("data");
    let (sessions, snapshot_bytes) = write(&dir, WARM_UP_SESSIONS + count).await?;
    let server = Server::factum(&dir).await?;
    let target = Target::local(server.address());
    let look =
        |session_id: &SessionId| target.post("/v1/get_thread_read", &json!({ "session_id": session_id }).to_string());
    let (warm_up, sessions) = sessions.split_at(WARM_UP_SESSIONS);
    ask_each(&target, warm_up.iter().map(look).collect()).await?;
    let before = server.memory_bytes()?;
    // A look leaves a session in memory until it has been idle for a while.
    ask_each(&target, sessions.iter().map(look).collect()).await?;
    let opened = server.memory_bytes()?;
    ask_each(&target, vec![target.post("/v1/submit_turn", http::BODY); count]).await?;
    let each = |after: u64, before: u64| after.saturating_sub(before) as f64 / count as f64;
    let (idle, working) = (each(opened, before), each(server.memory_bytes()?, opened));
    Ok(Each { as_json: snapshot_bytes as f64, idle, working })
}

async fn write(dir: &Path, count: usize) -> Result<(Vec<SessionId>, usize)> {
    let store = Arc::new(EmbeddedStore::open(dir, Options::default())?.0);
    let author = Author::new(store.clone(), ACCOUNT, Grain::Turn)?;
    let (mut sessions, mut snapshot_bytes) = (Vec::with_capacity(count), 0);
    for _ in 0..count {
        let written = author.write(EVENTS_PER_SESSION).await?;
        snapshot_bytes = written.snapshot_bytes;
        sessions.push(written.session_id);
    }
    store.close().await;
    Ok((sessions, snapshot_bytes))
}

/// Sends each request once, over a few connections.
async fn ask_each(target: &Target, requests: Vec<Vec<u8>>) -> Result<()> {
    let mut askers = JoinSet::new();
    for own in requests.chunks(requests.len().div_ceil(ASKERS)) {
        let (own, target) = (own.to_vec(), target.clone());
        askers.spawn(async move {
            let mut connection = Connection::open(&target).await?;
            for request in own {
                connection.call(&request).await.context("a session was not opened")?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = askers.join_next().await {
        done??;
    }
    Ok(())
}

/// Bytes of a subscriber of the bare server, and of one of ours.
async fn subscribers(count: usize, place: &Place) -> Result<(f64, f64)> {
    let scratch = place.scratch()?;
    let (bare, server) = (Server::bare().await?, Server::factum(scratch.path()).await?);
    let (bare_target, target) = (Target::local(bare.address()), Target::local(server.address()));
    let turns = Turns::begin(&target).await?;
    let reference = grown(&bare, &bare_target, Frames::PATH, 0, count).await?;
    let ours = grown(&server, &target, &turns.path(), turns.newest(), count).await?;
    Ok((reference, ours))
}

async fn grown(server: &Server, target: &Target, path: &str, after: u64, count: usize) -> Result<f64> {
    // The first few make what all of them share.
    let first = Subscribers::open(target, path, after, ASKERS).await?;
    let before = server.memory_bytes()?;
    let subscribers = Subscribers::open(target, path, after, count).await?;
    let grown = server.memory_bytes()?.saturating_sub(before) as f64 / count as f64;
    subscribers.finish().await?;
    first.finish().await?;
    Ok(grown)
}
