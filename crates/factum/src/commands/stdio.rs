//! `factum stdio`: JSON-RPC, one message per line. Either a runtime lives in this process, or the lines go to a server.

mod bridge;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use factum_model::registry::Scopes;
use factum_runtime::Caller;

use crate::cli::{App, Usual};
use crate::client::{Credential, Remote};
use crate::config::Flags;
use crate::failure::Exit;
use crate::host::{self, BuiltIn};
use crate::server;

/// Whoever started the process owns it: the same principal and account as with `factum dev`.
const PRINCIPAL: &str = "agent://local";
const ACCOUNT: &str = "dev";

#[derive(Debug, Args)]
pub(crate) struct Stdio {
    /// The directory of the store [default: ./.factum]
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    data_dir: Option<PathBuf>,
    /// A scripted agent beside the demo agents; may be given several times.
    #[arg(long = "script", value_name = "FILE", conflicts_with = "url")]
    scripts: Vec<PathBuf>,
    /// Pass the lines on to this server instead of hosting a runtime.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    credential: Credential,
}

pub(crate) async fn run(stdio: Stdio, app: &App) -> Result<Exit> {
    let data_dir = stdio.data_dir.map(|dir| dir.display().to_string());
    let flags = Flags::default().with("store", "data_dir", data_dir);
    let settings = app.load(&flags, Usual::Quiet)?.settings;
    if let Some(url) = stdio.url {
        let remote = Remote { url, credential: stdio.credential };
        return bridge::run(&remote, tokio::io::stdin(), tokio::io::stdout()).await;
    }
    let agents = host::agents(&settings.agents.scripts, &stdio.scripts, BuiltIn::Beside)?;
    let opened = host::open(&settings)?;
    host::warn_if_exposed(&opened, &settings, &app.output);
    let runtime = host::start(&opened, &settings, agents, settings.outbound_options().with_loopback()).await?;
    let stop = crate::signals::watch().context("signals cannot be watched")?;
    let caller = Caller::new(PRINCIPAL, ACCOUNT, Scopes::admin());
    let limits = settings.transport_limits();
    let served = server::stdio(runtime.clone(), caller, tokio::io::stdin(), tokio::io::stdout(), &limits);
    let outcome = tokio::select! {
        outcome = served => outcome,
        () = stop.cancelled() => Ok(()),
    };
    host::close(&runtime).await;
    outcome?;
    Ok(Exit::Ok)
}
