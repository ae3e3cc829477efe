//! One session or one messaging channel, many subscribers: how fast its events reach all of them, beside a bare broadcast of the same frames.
//!
//! A turn is submitted when every subscriber has the one before. So the latencies are those of delivery and not of a
//! queue, and neither server is asked for more than it can do.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use tokio::time::Instant;

use super::Place;
use super::child::Server;
use super::measure::{Latencies, middle, middle_ratio};
use super::publish::{Frames, Messages, Publish, Size, Source, Turns};
use super::report::{Cell, Report};
use super::subscribers::Subscribers;
use super::wire::Target;

#[derive(Clone, Debug, Args)]
pub(crate) struct Fanout {
    /// How many subscribers the session has.
    #[arg(long, value_delimiter = ',', default_value = "1,100,1000", value_name = "N,…")]
    pub(crate) subscribers: Vec<usize>,
    /// How long each round is.
    #[arg(long, default_value_t = 3, value_name = "SECONDS")]
    pub(crate) seconds: u64,
    /// A messaging channel with one publisher, instead of a session.
    #[arg(long)]
    pub(crate) channel: bool,
}

pub(crate) async fn run(fanout: &Fanout, place: &Place) -> Result<Report> {
    let scratch = place.scratch()?;
    let bare = Server::bare().await?;
    let server = Server::factum(scratch.path()).await?;
    let servers = Servers { bare: &bare, ours: &server };
    let target = Target::local(server.address());
    if fanout.channel {
        let mut report = Report::new("fanout", "messages to the subscribers of one channel beside a bare broadcast");
        let (mut messages, size) = Messages::begin(&target).await?;
        servers.measure(fanout, place, &mut messages, size, &mut report).await?;
        return Ok(report);
    }
    let mut report = Report::new("fanout", "events to the subscribers of one session beside a bare broadcast");
    let mut turns = Turns::begin(&target).await?;
    let size = turns.probe(&target).await?;
    servers.measure(fanout, place, &mut turns, size, &mut report).await?;
    Ok(report)
}

/// The two that take turns.
struct Servers<'a> {
    bare: &'a Server,
    ours: &'a Server,
}

impl Servers<'_> {
    async fn measure(
        &self,
        fanout: &Fanout,
        place: &Place,
        publisher: &mut impl Source,
        size: Size,
        report: &mut Report,
    ) -> Result<()> {
        let (bare_target, target) = (Target::local(self.bare.address()), Target::local(self.ours.address()));
        let mut frames = Frames::begin(&bare_target, size).await?;
        let time = Duration::from_secs(fanout.seconds);
        for &count in &fanout.subscribers {
            place.note(&format!("fanout: {count} subscribers"));
            let (mut reference, mut ours) = (Side::new()?, Side::new()?);
            for _ in 0..place.rounds {
                let before = self.bare.memory_bytes()?;
                let subscribers = Subscribers::open(&bare_target, Frames::PATH, frames.newest(), count).await?;
                reference.memory(before, self.bare.memory_bytes()?, count);
                reference.deliver(&mut frames, subscribers, time).await?;
                let before = self.ours.memory_bytes()?;
                let subscribers = Subscribers::open(&target, &publisher.path(), publisher.newest(), count).await?;
                ours.memory(before, self.ours.memory_bytes()?, count);
                ours.deliver(publisher, subscribers, time).await?;
            }
            report.row(row(count, &reference, &ours));
        }
        Ok(())
    }
}

fn row(count: usize, reference: &Side, ours: &Side) -> Vec<(&'static str, Cell)> {
    let millis = |side: &Side, quantile| Cell::Millis(side.latencies.millis(quantile));
    vec![
        ("subscribers", Cell::Count(count as u64)),
        ("bare_events_per_s", Cell::PerSecond(middle(&reference.rates))),
        ("bare_p50_ms", millis(reference, 0.5)),
        ("bare_p99_ms", millis(reference, 0.99)),
        ("factum_events_per_s", Cell::PerSecond(middle(&ours.rates))),
        ("p50_ms", millis(ours, 0.5)),
        ("p99_ms", millis(ours, 0.99)),
        ("ratio", Cell::Ratio(middle_ratio(&ours.rates, &reference.rates))),
        // The first round is the one that finds no memory to use again.
        ("bare_kib_each", Cell::Number(reference.kib_each.first().copied().unwrap_or(f64::NAN))),
        ("kib_each", Cell::Number(ours.kib_each.first().copied().unwrap_or(f64::NAN))),
    ]
}

/// What the rounds of one server gave.
struct Side {
    rates: Vec<f64>,
    /// From the answer to whoever published to the arrival at a subscriber; nothing where that was first.
    latencies: Latencies,
    kib_each: Vec<f64>,
}

impl Side {
    fn new() -> Result<Self> {
        Ok(Self { rates: Vec::new(), latencies: Latencies::new()?, kib_each: Vec::new() })
    }

    fn memory(&mut self, before: u64, after: u64, count: usize) {
        self.kib_each.push(after.saturating_sub(before) as f64 / 1024.0 / count as f64);
    }

    async fn deliver(
        &mut self,
        publisher: &mut impl Publish,
        mut subscribers: Subscribers,
        time: Duration,
    ) -> Result<()> {
        let mut answered = HashMap::new();
        let started = Instant::now();
        while started.elapsed() < time {
            let id = publisher.publish().await?;
            answered.insert(id, Instant::now());
            subscribers.all_have(id).await?;
        }
        let seconds = started.elapsed().as_secs_f64();
        let received = subscribers.finish().await?;
        self.rates.push(received.iter().map(Vec::len).sum::<usize>() as f64 / seconds);
        for (id, at) in received.into_iter().flatten() {
            if let Some(answered) = answered.get(&id) {
                self.latencies.record(at.saturating_duration_since(*answered));
            }
        }
        Ok(())
    }
}
