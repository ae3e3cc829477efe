//! A number of clients, each with a connection of its own, asking the same thing again and again for a while.

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

/// Asks for `time`. Connections are made before the clock runs.
pub(super) async fn drive(target: &Target, request: &[u8], clients: usize, time: Duration) -> Result<Load> {
    let request: Arc<[u8]> = request.into();
    let mut connections = Vec::with_capacity(clients);
    for _ in 0..clients {
        connections.push(Connection::open(target).await?);
    }
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for connection in connections {
        tasks.spawn(ask(connection, request.clone(), started + time));
    }
    let mut latencies = Latencies::new()?;
    while let Some(done) = tasks.join_next().await {
        latencies.merge(&done??);
    }
    Ok(Load { per_second: latencies.len() as f64 / started.elapsed().as_secs_f64(), latencies })
}

async fn ask(mut connection: Connection, request: Arc<[u8]>, until: Instant) -> Result<Latencies> {
    let mut latencies = Latencies::new()?;
    let mut now = Instant::now();
    while now < until {
        connection.call(&request).await?;
        let answered = Instant::now();
        latencies.record(answered - now);
        now = answered;
    }
    Ok(latencies)
}
