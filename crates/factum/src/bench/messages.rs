//! `factum bench publish`: `channels/publish` over HTTP beside a bare echo on the same stack, and beside what others take to
//! make a message durable.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use factum_model::commands::ChannelResult;
use serde_json::json;
use tempfile::TempDir;

use super::Place;
use super::child::Server;
use super::load::{Ask, Load, ask_for, drive};
use super::peers::{Peer, Plan, Running};
use super::place::TURN;
use super::report::{Cell, Report};
use super::rounds::Rounds;
use super::wire::{Connection, Target};

/// The first messages wake everything up.
const WARM_UP: Duration = Duration::from_millis(500);
/// What stands in the messages, over and over.
const TEXT: &str = "Look through the open incidents and say which one needs a person first. ";

#[derive(Clone, Debug, Args)]
pub(crate) struct Publishing {
    /// Beside which others; all where absent.
    #[arg(long, value_delimiter = ',', value_name = "PEER,…")]
    pub(crate) peers: Vec<Peer>,
    /// Beside no others: only the echo.
    #[arg(long, conflicts_with = "peers")]
    pub(crate) alone: bool,
    /// How many clients publish at once.
    #[arg(long, default_value_t = 64, value_name = "N")]
    pub(crate) clients: usize,
    /// Into how many channels.
    #[arg(long, default_value_t = 64, value_name = "N")]
    pub(crate) channels: usize,
    /// How large a message is.
    #[arg(long, default_value_t = 256, value_name = "BYTES")]
    pub(crate) payload: usize,
    /// How long each round is, for each of them.
    #[arg(long, default_value_t = 5, value_name = "SECONDS")]
    pub(crate) seconds: u64,
}

pub(crate) async fn run(publishing: &Publishing, place: &Place) -> Result<Report> {
    let mut report = Report::new("publish", "a durable message, acknowledged, beside a bare echo over HTTP");
    let payload: String = TEXT.chars().cycle().take(publishing.payload).collect();
    let bare = Server::bare().await?;
    let target = Target::local(bare.address());
    let request = target.post("/echo", &payload);
    let plan = Plan {
        clients: publishing.clients,
        channels: publishing.channels.max(1),
        payload: Arc::from(payload.as_bytes()),
    };
    let mut ours = Ours::start(&plan, &payload, place).await?;
    let mut sides = Vec::new();
    for &peer in chosen(publishing) {
        place.note(&format!("publish: starting {}", peer.name()));
        sides.push(Side::start(peer, &plan, place).await?);
    }
    let mut echo = Rounds::new()?;
    drive(&target, &request, plan.clients, WARM_UP).await?;
    let cpu_before = (bare.cpu()?, ours.server.cpu()?);
    for turn in 0..place.turns(publishing.seconds) {
        place.note(&format!("publish: turn {}", turn + 1));
        echo.add(drive(&target, &request, plan.clients, TURN).await?);
        ours.turn().await?;
        for side in &mut sides {
            side.turn().await?;
        }
    }
    let cpu = (bare.cpu()? - cpu_before.0, ours.server.cpu()? - cpu_before.1);
    report.row(row("echo", "nothing", &echo, &echo, echo.cpu_each(cpu.0)));
    report.row(row("factum", "always", &ours.rounds, &echo, ours.rounds.cpu_each(cpu.1)));
    for side in sides {
        report.row(side.row(&echo));
        side.stop().await?;
    }
    Ok(report)
}

fn chosen(publishing: &Publishing) -> &[Peer] {
    match &publishing.peers[..] {
        _ if publishing.alone => &[],
        [] => <Peer as clap::ValueEnum>::value_variants(),
        chosen => chosen,
    }
}

/// A server of ours with its channels, and what its turns gave.
struct Ours {
    server: Server,
    publishers: Vec<Publisher>,
    rounds: Rounds,
    _dir: TempDir,
}

/// A client that publishes into channels of its own, one after another.
struct Publisher {
    connection: Connection,
    requests: Vec<Arc<[u8]>>,
    next: usize,
}

impl Ours {
    async fn start(plan: &Plan, payload: &str, place: &Place) -> Result<Self> {
        place.note("publish: starting factum");
        let dir = place.scratch()?;
        let server = Server::factum(dir.path()).await?;
        let target = Target::local(server.address());
        let mut setup = Connection::open(&target).await?;
        let mut requests: Vec<Vec<Arc<[u8]>>> = vec![Vec::new(); plan.clients];
        for at in 0..plan.channels.max(plan.clients) {
            // Clients share channels where there are fewer of them.
            let shared = (at >= plan.channels).then(|| requests[at % plan.channels].first().cloned()).flatten();
            let request = match shared {
                Some(request) => request,
                None => publish_request(&target, &create_channel(&target, &mut setup).await?, payload).into(),
            };
            requests[at % plan.clients].push(request);
        }
        let mut publishers = Vec::with_capacity(plan.clients);
        for requests in requests {
            publishers.push(Publisher { connection: Connection::open(&target).await?, requests, next: 0 });
        }
        let mut ours = Self { server, publishers, rounds: Rounds::new()?, _dir: dir };
        ours.drive(WARM_UP).await?;
        Ok(ours)
    }

    async fn turn(&mut self) -> Result<()> {
        let load = self.drive(TURN).await?;
        self.rounds.add(load);
        Ok(())
    }

    async fn drive(&mut self, time: Duration) -> Result<Load> {
        let (load, publishers) = ask_for(std::mem::take(&mut self.publishers), time).await?;
        self.publishers = publishers;
        Ok(load)
    }
}

impl Ask for Publisher {
    async fn ask(&mut self) -> Result<()> {
        let request = self.requests[self.next % self.requests.len()].clone();
        self.next += 1;
        self.connection.call(&request).await.map(drop)
    }
}

/// Makes a channel and gives its id.
pub(super) async fn create_channel(target: &Target, connection: &mut Connection) -> Result<String> {
    let answer = connection.call(&target.post("/v1/channels/create", "{}")).await?;
    let answer: ChannelResult =
        serde_json::from_slice(answer).context("the answer to channels/create does not parse")?;
    Ok(answer.channel.id.to_string())
}

/// The bytes of a request that publishes a text.
pub(super) fn publish_request(target: &Target, channel_id: &str, text: &str) -> Vec<u8> {
    let body = json!({ "channelId": channel_id, "parts": [{ "type": "text", "text": text }] });
    target.post("/v1/channels/publish", &body.to_string())
}

/// One peer, where it is installed, and what its turns gave.
struct Side {
    peer: Peer,
    running: Option<Running>,
    rounds: Rounds,
    _dir: TempDir,
}

impl Side {
    async fn start(peer: Peer, plan: &Plan, place: &Place) -> Result<Self> {
        let dir = place.scratch()?;
        let running = peer.start(plan, dir.path()).await;
        let mut running = running.with_context(|| format!("{} cannot be measured", peer.name()))?;
        if let Some(running) = &mut running {
            running.drive(WARM_UP).await.with_context(|| peer.name())?;
        }
        Ok(Self { peer, running, rounds: Rounds::new()?, _dir: dir })
    }

    async fn turn(&mut self) -> Result<()> {
        if let Some(running) = &mut self.running {
            self.rounds.add(running.drive(TURN).await.with_context(|| self.peer.name())?);
        }
        Ok(())
    }

    fn row(&self, echo: &Rounds) -> Vec<(&'static str, Cell)> {
        let setting = self.running.as_ref().map_or("not installed", Running::setting);
        row(self.peer.name(), setting, &self.rounds, echo, Cell::Word("-"))
    }

    async fn stop(self) -> Result<()> {
        match self.running {
            Some(running) => running.stop().await,
            None => Ok(()),
        }
    }
}

fn row(
    name: &'static str,
    setting: &'static str,
    rounds: &Rounds,
    echo: &Rounds,
    cpu: Cell,
) -> Vec<(&'static str, Cell)> {
    let figure = |cell| if rounds.is_empty() { Cell::Word("-") } else { cell };
    vec![
        ("who", Cell::Word(name)),
        ("durable_by", Cell::Word(setting)),
        ("per_s", figure(rounds.per_second())),
        ("p50_ms", figure(rounds.millis(0.5))),
        ("p99_ms", figure(rounds.millis(0.99))),
        ("of_echo", figure(rounds.ratio(echo))),
        ("cpu_us", cpu),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::measure::Latencies;

    #[test]
    fn what_is_not_installed_has_a_row_without_figures() {
        let (none, mut echo) = (Rounds::new().unwrap(), Rounds::new().unwrap());
        echo.add(Load { per_second: 1_000.0, latencies: Latencies::new().unwrap() });
        let row = row("nats", "not installed", &none, &echo, Cell::Word("-"));
        assert_eq!(row[1], ("durable_by", Cell::Word("not installed")));
        assert!(row[2..].iter().all(|(_, cell)| *cell == Cell::Word("-")), "{row:?}");
    }
}
