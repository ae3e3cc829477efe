//! `factum dev`: one command to a running server, on loopback only, with an agent that needs no provider.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::serve;
use crate::cli::{App, Usual};
use crate::config::Flags;
use crate::failure::{Exit, Problem};
use crate::host::{self, BuiltIn};
use crate::output::{BOLD, DIM, GREEN};
use crate::server::AuthOptions;

#[derive(Debug, Args)]
pub(crate) struct Dev {
    /// Where to listen; port 0 picks a free one [default: 127.0.0.1:7420]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// The directory of the store [default: ./.factum]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// A scripted agent beside the demo agents; may be given several times.
    #[arg(long = "script", value_name = "FILE")]
    scripts: Vec<PathBuf>,
}

pub(crate) async fn run(dev: Dev, app: &App) -> Result<Exit> {
    let data_dir = dev.data_dir.map(|dir| dir.display().to_string());
    let flags = Flags::default().with("server", "listen", dev.listen).with("store", "data_dir", data_dir);
    let settings = app.load(&flags, Usual::Quiet)?.settings;
    require_loopback(settings.server.listen)?;
    let agents = host::agents(&settings.agents.scripts, &dev.scripts, BuiltIn::Beside)?;
    let names: Vec<String> = agents.names().map(str::to_owned).collect();
    let opened = host::open(&settings)?;
    host::warn_if_exposed(&opened, &settings, &app.output);
    let outbound = settings.outbound_options().with_loopback();
    let auth = AuthOptions { dev: true, issuers: settings.issuer_options()?, outbound };
    let ready = |address| app.output.note(banner(address, &settings.store.data_dir.display().to_string(), &names));
    serve::listen(opened, &settings, agents, auth, app, ready).await
}

/// Everybody on loopback is an admin here, so nobody else may come in.
fn require_loopback(listen: SocketAddr) -> Result<()> {
    if listen.ip().is_loopback() {
        return Ok(());
    }
    Err(Problem::cannot_run(format!("`factum dev` does not listen on {listen}"))
        .because("it lets everybody in without a credential, so it only listens on loopback")
        .advice(format!("--listen 127.0.0.1:{}, or `factum serve` with credentials", listen.port()))
        .into())
}

fn banner(address: SocketAddr, data_dir: &str, agents: &[String]) -> String {
    let base = format!("http://{address}");
    let rows = [
        ("JSON-RPC", format!("{base}/rpc"), "POST, or a WebSocket at the same path"),
        ("HTTP", format!("{base}/v1/{{command}}"), "every command; `factum call --list` names them"),
        ("events", format!("{base}/v1/sessions/{{session_id}}/events"), "pages, or a live stream"),
        ("feed", format!("{base}/v1/feed"), "every stream you may see"),
        ("channels", format!("{base}/v1/channels/{{method}}"), "messaging between agents; `factum channel`"),
        (
            "A2A",
            format!("{base}/a2a"),
            "1.0 and 0.3, also HTTP+JSON and gRPC; the card is /.well-known/agent-card.json",
        ),
        ("gRPC", address.to_string(), "factum.v1.Runtime, lf.a2a.v1.A2AService"),
        ("reference", format!("{base}/openapi.json"), "also /schemas"),
        ("operations", format!("{base}/metrics"), "also /healthz and /readyz"),
    ];
    let rows: String =
        rows.iter().map(|(name, url, what)| format!("  {name:<11}{url:<54} {DIM}{what}{DIM:#}\n")).collect();
    let say = "hello";
    format!(
        "{GREEN}{BOLD}factum dev{BOLD:#}{GREEN:#} {} · data in {data_dir} · agents: {}\n\n{rows}\n\
         Try it:\n  curl -s {base}/v1/submit_turn -d '{{\"input\":[{{\"type\":\"text\",\"text\":\"{say}\"}}]}}'\n  \
         factum call --url {base} submit_turn text=\"ask: what is your name?\"\n  \
         factum tail --url {base} SESSION_ID\n\n\
         {DIM}No credentials: loopback only. Ctrl-C drains and stops.{DIM:#}\n",
        env!("CARGO_PKG_VERSION"),
        agents.join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_let_in() {
        for fine in ["127.0.0.1:0", "127.8.8.8:1", "[::1]:7420"] {
            assert!(require_loopback(fine.parse().unwrap()).is_ok(), "{fine}");
        }
        for refused in ["0.0.0.0:7420", "192.168.0.1:7420", "[::]:7420"] {
            assert!(require_loopback(refused.parse().unwrap()).is_err(), "{refused}");
        }
    }

    #[test]
    fn the_banner_has_the_urls_and_a_curl() {
        let banner = banner("127.0.0.1:7420".parse().unwrap(), "./.factum", &["demo".into()]);
        for part in [
            "http://127.0.0.1:7420/rpc",
            "/openapi.json",
            "http://127.0.0.1:7420/a2a",
            "curl -s http://127.0.0.1:7420/v1/submit_turn",
        ] {
            assert!(banner.contains(part), "{part}");
        }
    }
}
