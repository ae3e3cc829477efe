//! A durable command over HTTP beside an echo on the same stack: what accepting work costs above moving bytes.
//!
//! The command is `submit_turn` into a new session whose agent waits for ever, so that only acceptance is measured.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use secrecy::ExposeSecret;

use super::Place;
use super::child::Server;
use super::load::{Load, drive};
use super::place::TURN;
use super::report::{Cell, Report};
use super::rounds::Rounds;
use super::wire::Target;
use crate::client::Credential;

/// The body both servers get.
pub(super) const BODY: &str = r#"{"agent":"waiting","input":[{"type":"text","text":"Look through the open incidents and say which one needs a person first."}]}"#;
/// The first requests wake everything up.
const WARM_UP: Duration = Duration::from_millis(500);

#[derive(Clone, Debug, Args)]
pub(crate) struct Http {
    /// How many clients ask at once.
    #[arg(long, value_delimiter = ',', default_value = "1,8,64,512", value_name = "N,…")]
    pub(crate) clients: Vec<usize>,
    /// How long each round is.
    #[arg(long, default_value_t = 5, value_name = "SECONDS")]
    pub(crate) seconds: u64,
    /// Drive this server instead, with nothing beside it.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) credential: Credential,
}

pub(crate) async fn run(http: &Http, place: &Place) -> Result<Report> {
    match &http.url {
        Some(url) => one_server(http, url, place).await,
        None => beside_echo(http, place).await,
    }
}

async fn beside_echo(http: &Http, place: &Place) -> Result<Report> {
    let mut report = Report::new("http", "submit_turn over HTTP beside a bare echo on the same stack");
    let bare = Server::bare().await?;
    let echo = Side::new(Target::local(bare.address()), "/echo");
    let turns = place.turns(http.seconds);
    for &clients in &http.clients {
        place.note(&format!("http: {clients} clients"));
        // A server of its own for each row: what the row before has left in memory is not this one's.
        let data = place.scratch()?;
        let server = Server::factum(data.path()).await?;
        let ours = Side::new(Target::local(server.address()), "/v1/submit_turn");
        let (mut reference, mut figures) = (Rounds::new()?, Rounds::new()?);
        echo.drive(clients, WARM_UP).await?;
        ours.drive(clients, WARM_UP).await?;
        let cpu_before = (bare.cpu()?, server.cpu()?);
        for _ in 0..turns {
            reference.add(echo.drive(clients, TURN).await?);
            figures.add(ours.drive(clients, TURN).await?);
        }
        let cpu_after = (bare.cpu()?, server.cpu()?);
        let mut row = vec![("clients", Cell::Count(clients as u64)), ("echo_per_s", reference.per_second())];
        row.push(("echo_p50_ms", reference.millis(0.5)));
        row.push(("echo_p99_ms", reference.millis(0.99)));
        row.push(("echo_cpu_us", reference.cpu_each(cpu_after.0 - cpu_before.0)));
        row.extend(cells(&figures));
        row.push(("cpu_us", figures.cpu_each(cpu_after.1 - cpu_before.1)));
        row.push(("ratio", figures.ratio(&reference)));
        report.row(row);
        server.kill().await?;
    }
    Ok(report)
}

async fn one_server(http: &Http, url: &str, place: &Place) -> Result<Report> {
    let mut report = Report::new("http", "submit_turn over HTTP, on a server that was there");
    let token = http.credential.token().map(|token| token.expose_secret().to_owned());
    let side = Side::new(Target::named(url, token).await?, "/v1/submit_turn");
    for &clients in &http.clients {
        let mut figures = Rounds::new()?;
        side.drive(clients, WARM_UP).await?;
        for _ in 0..place.turns(http.seconds) {
            figures.add(side.drive(clients, TURN).await?);
        }
        let mut row = vec![("clients", Cell::Count(clients as u64))];
        row.extend(cells(&figures));
        report.row(row);
    }
    Ok(report)
}

/// One of the two servers, and what it is asked.
struct Side {
    target: Target,
    request: Vec<u8>,
}

impl Side {
    fn new(target: Target, path: &str) -> Self {
        Self { request: target.post(path, BODY), target }
    }

    async fn drive(&self, clients: usize, time: Duration) -> Result<Load> {
        drive(&self.target, &self.request, clients, time).await
    }
}

fn cells(figures: &Rounds) -> [(&'static str, Cell); 3] {
    [("factum_per_s", figures.per_second()), ("p50_ms", figures.millis(0.5)), ("p99_ms", figures.millis(0.99))]
}
