//! `factum bench peers`: the peers beside each other and beside the bare echo, without us. The numbers that
//! `channels/publish` has to be ahead of, and a way to see whether a machine has what is compared.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use tempfile::TempDir;

use super::{Peer, Plan, Running};
use crate::bench::Place;
use crate::bench::child::Server;
use crate::bench::load::drive;
use crate::bench::place::TURN;
use crate::bench::report::{Cell, Report};
use crate::bench::rounds::Rounds;
use crate::bench::wire::Target;

/// The first messages wake everything up.
const WARM_UP: Duration = Duration::from_millis(500);
/// What stands in the messages, over and over.
const TEXT: &str = "Look through the open incidents and say which one needs a person first. ";

#[derive(Clone, Debug, Args)]
pub(crate) struct Peers {
    /// Which of them; all where absent.
    #[arg(long, value_delimiter = ',', value_name = "PEER,…")]
    pub(crate) only: Vec<Peer>,
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

pub(crate) async fn run(peers: &Peers, place: &Place) -> Result<Report> {
    let mut report = Report::new("peers", "a durable message, acknowledged, beside a bare echo over HTTP");
    let payload: String = TEXT.chars().cycle().take(peers.payload).collect();
    let bare = Server::bare().await?;
    let target = Target::local(bare.address());
    let request = target.post("/echo", &payload);
    let plan = Plan { clients: peers.clients, channels: peers.channels, payload: Arc::from(payload.as_bytes()) };
    let chosen = if peers.only.is_empty() { <Peer as clap::ValueEnum>::value_variants() } else { &peers.only };
    let mut sides = Vec::new();
    for &peer in chosen {
        place.note(&format!("peers: starting {}", peer.name()));
        sides.push(Side::start(peer, &plan, place).await?);
    }
    let mut echo = Rounds::new()?;
    drive(&target, &request, plan.clients, WARM_UP).await?;
    for turn in 0..place.turns(peers.seconds) {
        place.note(&format!("peers: turn {}", turn + 1));
        echo.add(drive(&target, &request, plan.clients, TURN).await?);
        for side in &mut sides {
            side.turn().await?;
        }
    }
    report.row(row("echo", "nothing", &echo, &echo));
    for side in sides {
        report.row(side.row(&echo));
        side.stop().await?;
    }
    Ok(report)
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
        row(self.peer.name(), setting, &self.rounds, echo)
    }

    async fn stop(self) -> Result<()> {
        match self.running {
            Some(running) => running.stop().await,
            None => Ok(()),
        }
    }
}

fn row(name: &'static str, setting: &'static str, rounds: &Rounds, echo: &Rounds) -> Vec<(&'static str, Cell)> {
    let figure = |cell| if rounds.is_empty() { Cell::Word("-") } else { cell };
    vec![
        ("peer", Cell::Word(name)),
        ("durable_by", Cell::Word(setting)),
        ("per_s", figure(rounds.per_second())),
        ("p50_ms", figure(rounds.millis(0.5))),
        ("p99_ms", figure(rounds.millis(0.99))),
        ("of_echo", figure(rounds.ratio(echo))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::load::Load;
    use crate::bench::measure::Latencies;

    #[test]
    fn what_is_not_installed_has_a_row_without_figures() {
        let (none, mut echo) = (Rounds::new().unwrap(), Rounds::new().unwrap());
        echo.add(Load { per_second: 1_000.0, latencies: Latencies::new().unwrap() });
        let row = row("nats", "not installed", &none, &echo);
        assert_eq!(row[1], ("durable_by", Cell::Word("not installed")));
        assert!(row[2..].iter().all(|(_, cell)| *cell == Cell::Word("-")), "{row:?}");
    }
}
