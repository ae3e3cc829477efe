//! A number of clients, each with a connection of its own, asking again and again for a while.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::measure::Latencies;
use super::wire::{Connection, Target};

/// What came of it.
pub(super) struct Load {
    pub(super) per_second: f64,
    pub(super) latencies: Latencies,
}

/// A client that asks one thing at a time.
pub(super) trait Ask: Send + 'static {
    /// Asks once and waits for the whole answer, which has to be a success.
    fn ask(&mut self) -> impl Future<Output = Result<()>> + Send;
}

/// Asks an HTTP server the same for `time`. Connections are made before the clock runs.
pub(super) async fn drive(target: &Target, request: &[u8], clients: usize, time: Duration) -> Result<Load> {
    let request: Arc<[u8]> = request.into();
    let mut askers = Vec::with_capacity(clients);
    for _ in 0..clients {
        askers.push(Caller { connection: Connection::open(target).await?, request: request.clone() });
    }
    let (load, _) = ask_for(askers, time).await?;
    Ok(load)
}

/// Lets all of them ask for `time` and gives them back, with their connections open.
pub(super) async fn ask_for<A: Ask>(askers: Vec<A>, time: Duration) -> Result<(Load, Vec<A>)> {
    // What is written down is made before the clock runs and put together behind it.
    let askers: Vec<_> = askers.into_iter().map(|asker| Ok((asker, Latencies::new()?))).collect::<Result<_>>()?;
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for (asker, latencies) in askers {
        tasks.spawn(ask_until(asker, latencies, started + time));
    }
    let mut done = Vec::with_capacity(tasks.len());
    while let Some(one) = tasks.join_next().await {
        done.push(one??);
    }
    let seconds = started.elapsed().as_secs_f64();
    let (mut latencies, mut askers) = (Latencies::new()?, Vec::with_capacity(done.len()));
    for (asker, own) in done {
        latencies.merge(&own);
        askers.push(asker);
    }
    Ok((Load { per_second: latencies.len() as f64 / seconds, latencies }, askers))
}

async fn ask_until<A: Ask>(mut asker: A, mut latencies: Latencies, until: Instant) -> Result<(A, Latencies)> {
    let mut now = Instant::now();
    while now < until {
        asker.ask().await?;
        let answered = Instant::now();
        latencies.record(answered - now);
        now = answered;
    }
    Ok((asker, latencies))
}

/// Sends the same request over HTTP.
struct Caller {
    connection: Connection,
    request: Arc<[u8]>,
}

impl Ask for Caller {
    async fn ask(&mut self) -> Result<()> {
        self.connection.call(&self.request).await.map(drop)
    }
}
