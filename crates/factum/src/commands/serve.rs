//! `factum serve`: the production server. Starts only where somebody can be let in, and lets nobody else in.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use factum_agent::Agents;
use factum_engine::Key;
use factum_store::{Direction, Scan, Store};

use crate::card_key;
use crate::cli::{App, Usual};
use crate::config::{DEFAULT_FILE, Flags, Loaded, Settings};
use crate::failure::{Exit, Problem};
use crate::host::{self, BuiltIn, Opened};
use crate::output::Output;
use crate::secret;
use crate::server::{AuthOptions, ServerOptions, bind, store_stats};
use crate::signals;

/// However much the configuration asks for: half of what clients take for a dead connection.
const HEARTBEAT_MAX: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
#[command(after_help = "\
To start for the first time:
  factum key create --data-dir /var/lib/factum --principal user://me --admin
  factum serve --data-dir /var/lib/factum --listen 0.0.0.0:7420")]
pub(crate) struct Serve {
    /// Where to listen; port 0 picks a free one.
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// The directory of the store.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

pub(crate) async fn run(serve: Serve, app: &App) -> Result<Exit> {
    let data_dir = serve.data_dir.map(|dir| dir.display().to_string());
    let flags = Flags::default().with("server", "listen", serve.listen).with("store", "data_dir", data_dir);
    let loaded = app.load(&flags, Usual::Configured)?;
    require_data_dir(&loaded)?;
    let settings = &loaded.settings;
    let agents = host::agents(&settings.agents.scripts, &[], BuiltIn::Fallback)?;
    let auth = AuthOptions { dev: false, issuers: settings.issuer_options()?, outbound: settings.outbound_options() };
    let opened = host::open(settings)?;
    let checked = require_credentials(&opened, settings).await;
    if let Err(refused) = checked {
        opened.store.close().await;
        return Err(refused);
    }
    if settings.agents.scripts.is_empty() {
        app.output.warn("no agents are configured; the demo agent answers. List scripts under [agents] to change that");
    }
    listen(opened, settings, agents, auth, app, |_| {}).await
}

/// Serves until a signal, then drains. `ready` hears of the address before anyone else.
pub(crate) async fn listen(
    opened: Opened,
    settings: &Settings,
    agents: Agents,
    auth: AuthOptions,
    app: &App,
    ready: impl FnOnce(std::net::SocketAddr),
) -> Result<Exit> {
    let stop = signals::watch().context("signals cannot be watched")?;
    let runtime = host::start(&opened, settings, agents, auth.outbound.clone()).await?;
    let a2a = settings.a2a_options(card_key::open(&settings.store.data_dir)?, &auth.outbound);
    let options = ServerOptions {
        listen: settings.server.listen,
        auth,
        limits: settings.transport_limits(),
        heartbeat: Duration::from_millis(settings.server.heartbeat_ms).min(HEARTBEAT_MAX),
        public_url: Some(settings.server.public_url.clone()).filter(|url| !url.is_empty()),
        a2a,
        store_stats: Some(store_stats(opened.store.clone())),
    };
    let served = async {
        let server = bind(runtime.clone(), options).await.map_err(|error| cannot_listen(settings, error))?;
        let address = server.local_addr()?;
        ready(address);
        announce(address, &app.output)?;
        server.run(stop.cancelled_owned()).await.context("serving failed")
    };
    let outcome = served.await;
    // Whatever happened, what was acknowledged is written down in a way that makes the next start fast.
    host::close(&runtime).await;
    outcome.map(|()| Exit::Ok)
}

/// The one line that supervisors and tests wait for. Whoever started us may not read it; that is no reason to stop.
fn announce(address: std::net::SocketAddr, output: &Output) -> std::io::Result<()> {
    match output.line(format_args!("listening on http://{address}")) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

fn cannot_listen(settings: &Settings, error: std::io::Error) -> Problem {
    let listen = settings.server.listen;
    // Everything that is not about the address is about the options, and says which.
    if error.kind() == std::io::ErrorKind::Other {
        return Problem::cannot_run("the server cannot be set up").because(error);
    }
    let in_use = error.kind() == std::io::ErrorKind::AddrInUse;
    let problem = Problem::cannot_run(format!("cannot listen on {listen}")).because(error);
    if in_use {
        problem.advice("stop what listens there, or give another --listen; port 0 picks a free one")
    } else {
        problem
    }
}

fn require_data_dir(loaded: &Loaded) -> Result<()> {
    if loaded.is_given("store", "data_dir") {
        return Ok(());
    }
    let why = match &loaded.file {
        Some(file) => format!("neither {} nor a flag says where the data is", file.display()),
        None => format!("there is no {DEFAULT_FILE} here, and no flag says where the data is"),
    };
    Err(Problem::cannot_run("a production server needs to be told where its data is")
        .because(why)
        .advice("set data_dir below [store] in factum.toml, or give --data-dir; `factum dev` is for trying things out")
        .into())
}

async fn require_credentials(opened: &Opened, settings: &Settings) -> Result<()> {
    let dir = settings.store.data_dir.display();
    if opened.secret.exposed {
        return Err(Problem::cannot_run(format!("others on this machine may read {dir}/{}", secret::FILE))
            .because("whoever reads it can forge what the server signs")
            .advice(secret::exposed_advice(&settings.store.data_dir))
            .into());
    }
    if settings.auth.issuers.is_empty() && !has_keys(&*opened.store).await? {
        return Err(Problem::cannot_run("nobody could use this server")
            .because(format!("no issuer is configured and the store in {dir} has no API key"))
            .advice(format!(
                "factum key create --data-dir {dir} --principal user://me --admin\nor configure [[auth.issuers]] in factum.toml"
            ))
            .into());
    }
    Ok(())
}

/// Whether any API key was ever made here. A revoked one counts: its server is set up, and more are made over the wire.
async fn has_keys(store: &dyn Store) -> Result<bool> {
    let prefix = Key::table("key").into_bytes().into();
    let scan = Scan { prefix, after: None, until: None, direction: Direction::Forward, limit: 1 };
    Ok(!store.scan(scan).await.context("the keys cannot be listed")?.is_empty())
}
