//! `factum bench a2a`: a message over A2A, answered at once, beside servers of the official SDKs.
//!
//! `SendMessage` waits for the task to be done; `SendStreamingMessage` reads its events to the end. All servers are asked the
//! same over JSON-RPC by the same clients. The others keep their tasks in memory; ours are on the disk before the answer.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use memchr::memmem;
use serde_json::json;
use tempfile::TempDir;

use super::Place;
use super::child::Server;
use super::load::{Ask, Load, ask_for};
use super::peers::agents::{Agent, AgentServer};
use super::place::TURN;
use super::report::{Cell, Report};
use super::rounds::Rounds;
use super::wire::{Connection, Target};

/// The first messages wake everything up.
const WARM_UP: Duration = Duration::from_millis(500);
/// What an answer has to hold to be one.
const DONE: &[u8] = b"TASK_STATE_COMPLETED";

#[derive(Clone, Debug, Args)]
pub(crate) struct A2a {
    /// Beside which others; all where absent.
    #[arg(long, value_delimiter = ',', value_name = "PEER,…")]
    pub(crate) peers: Vec<AgentServer>,
    /// How many clients ask at once.
    #[arg(long, default_value_t = 64, value_name = "N")]
    pub(crate) clients: usize,
    /// How long each round is, for each of them.
    #[arg(long, default_value_t = 5, value_name = "SECONDS")]
    pub(crate) seconds: u64,
}

/// What is asked.
#[derive(Clone, Copy)]
enum Method {
    Send,
    Stream,
}

impl Method {
    const ALL: [Method; 2] = [Method::Send, Method::Stream];

    fn name(self) -> &'static str {
        match self {
            Method::Send => "SendMessage",
            Method::Stream => "SendStreamingMessage",
        }
    }
}

pub(crate) async fn run(a2a: &A2a, place: &Place) -> Result<Report> {
    let mut report =
        Report::new("a2a", "a message answered at once, over JSON-RPC, beside servers of the official SDKs");
    for method in Method::ALL {
        let mut ours = Side::ours(method, place).await?;
        let mut others = Vec::new();
        for peer in chosen(a2a) {
            place.note(&format!("a2a: starting {}", peer.name()));
            others.push(Side::other(peer, method, place).await?);
        }
        for side in std::iter::once(&mut ours).chain(&mut others) {
            side.connect(a2a.clients).await.with_context(|| side.name)?;
            side.drive(WARM_UP).await.with_context(|| side.name)?;
        }
        for turn in 0..place.turns(a2a.seconds) {
            place.note(&format!("a2a: {}, turn {}", method.name(), turn + 1));
            for side in std::iter::once(&mut ours).chain(&mut others) {
                side.turn().await.with_context(|| side.name)?;
            }
        }
        report.row(ours.row(method, &ours));
        for side in others {
            report.row(side.row(method, &ours));
            side.stop().await?;
        }
        ours.stop().await?;
    }
    Ok(report)
}

fn chosen(a2a: &A2a) -> Vec<AgentServer> {
    match &a2a.peers[..] {
        [] => <AgentServer as clap::ValueEnum>::value_variants().to_vec(),
        chosen => chosen.to_vec(),
    }
}

/// One of the servers, and what its turns gave.
struct Side {
    name: &'static str,
    /// Where its tasks are when it answers.
    keeps: &'static str,
    running: Option<Running>,
    asked: Option<Asked>,
    clients: Vec<Client>,
    rounds: Rounds,
    _dir: TempDir,
}

enum Running {
    Ours(Server),
    Other(Agent),
}

/// Which server is asked what.
struct Asked {
    target: Target,
    request: Arc<[u8]>,
}

impl Side {
    async fn ours(method: Method, place: &Place) -> Result<Self> {
        place.note("a2a: starting factum");
        let dir = place.scratch()?;
        let server = Server::factum(dir.path()).await?;
        let asked = Asked::new(Target::local(server.address()), "/a2a", method);
        Self::new("factum", "disk", Some((Running::Ours(server), asked)), dir)
    }

    async fn other(peer: AgentServer, method: Method, place: &Place) -> Result<Self> {
        let dir = place.scratch()?;
        let agent = peer.start(dir.path()).await.with_context(|| format!("{} cannot be measured", peer.name()))?;
        let keeps = if agent.is_some() { "memory" } else { "not installed" };
        let running = agent.map(|agent| {
            let asked = Asked::new(Target::local(agent.address), "/", method);
            (Running::Other(agent), asked)
        });
        Self::new(peer.name(), keeps, running, dir)
    }

    fn new(name: &'static str, keeps: &'static str, running: Option<(Running, Asked)>, dir: TempDir) -> Result<Self> {
        let (running, asked) = running.unzip();
        Ok(Self { name, keeps, running, asked, clients: Vec::new(), rounds: Rounds::new()?, _dir: dir })
    }

    async fn connect(&mut self, clients: usize) -> Result<()> {
        let Some(asked) = &self.asked else { return Ok(()) };
        for _ in 0..clients {
            let connection = Connection::open(&asked.target).await?;
            self.clients.push(Client { connection, request: asked.request.clone() });
        }
        Ok(())
    }

    async fn turn(&mut self) -> Result<()> {
        if self.running.is_some() {
            let load = self.drive(TURN).await?;
            self.rounds.add(load);
        }
        Ok(())
    }

    async fn drive(&mut self, time: Duration) -> Result<Load> {
        let (load, clients) = ask_for(std::mem::take(&mut self.clients), time).await?;
        self.clients = clients;
        Ok(load)
    }

    fn row(&self, method: Method, ours: &Side) -> Vec<(&'static str, Cell)> {
        let figure = |cell| if self.rounds.is_empty() { Cell::Word("-") } else { cell };
        vec![
            ("method", Cell::Word(method.name())),
            ("who", Cell::Word(self.name)),
            ("tasks_in", Cell::Word(self.keeps)),
            ("per_s", figure(self.rounds.per_second())),
            ("p50_ms", figure(self.rounds.millis(0.5))),
            ("p99_ms", figure(self.rounds.millis(0.99))),
            ("factum_is", figure(ours.rounds.ratio(&self.rounds))),
        ]
    }

    async fn stop(self) -> Result<()> {
        match self.running {
            Some(Running::Ours(server)) => server.kill().await,
            Some(Running::Other(agent)) => agent.stop().await,
            None => Ok(()),
        }
    }
}

impl Asked {
    fn new(target: Target, path: &str, method: Method) -> Self {
        let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "hello" }] });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method.name(), "params": { "message": message } });
        let request = target.post_with(path, "a2a-version: 1.0\r\n", &body.to_string()).into();
        Self { target, request }
    }
}

/// A client that sends the same message again and again.
struct Client {
    connection: Connection,
    request: Arc<[u8]>,
}

impl Ask for Client {
    async fn ask(&mut self) -> Result<()> {
        let answer = self.connection.whole(&self.request).await?;
        let done = memmem::find(answer, DONE).is_some();
        ensure!(done, "the task was not done: {}", String::from_utf8_lossy(answer));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_installed_has_a_row_without_figures() {
        let side = |name, keeps| Side::new(name, keeps, None, tempfile::tempdir().unwrap()).unwrap();
        let row = side("rust crate", "not installed").row(Method::Send, &side("factum", "disk"));
        assert_eq!(row[2], ("tasks_in", Cell::Word("not installed")));
        assert!(row[3..].iter().all(|(_, cell)| *cell == Cell::Word("-")), "{row:?}");
    }
}
