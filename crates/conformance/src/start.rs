//! Starting the server under test, with an agent that does what the suites ask for and keys for three people.

use std::path::Path;

use anyhow::{Context, Result, bail};
use factum_testkit::{Launch, Server, run};

use crate::args::{self, Args};
use crate::target::{Credentials, Target};

/// A server that can be asked. Dropping it ends what was started for it.
pub(crate) struct Started {
    pub target: Target,
    _server: Option<(Server, tempfile::TempDir)>,
}

pub(crate) async fn server(args: &Args) -> Result<Started> {
    match &args.server {
        args::Server::Running { url } => {
            let target = Target::discover(url, Credentials::default()).await?;
            Ok(Started { target, _server: None })
        }
        args::Server::Start { binary } => start(binary, &args.folder).await,
    }
}

async fn start(binary: &Path, folder: &Path) -> Result<Started> {
    let data = tempfile::tempdir()?;
    let data_dir = data.path().join("data");
    let key = |account: &'static str, principal: &'static str, scope: &'static [&'static str]| {
        let data_dir = data_dir.display().to_string();
        async move {
            let words = ["key", "create", "--data-dir", &data_dir, "--account", account, "--principal", principal];
            let output = run(&binary.display().to_string(), words.iter().chain(scope)).await;
            match output.code {
                Some(0) => Ok(output.stdout.trim().to_owned()),
                _ => bail!("no key for {principal}: {}", output.stderr),
            }
        }
    };
    let credentials = Credentials {
        own: Some(key("conformance", "agent://tester", &[]).await?),
        insufficient: Some(key("conformance", "agent://guest", &["--scope", "messaging:read"]).await?),
        other: Some(key("elsewhere", "agent://stranger", &[]).await?),
    };
    let config = folder.join("factum.toml").canonicalize().context("the folder has no factum.toml")?;
    let launch = Launch::serve(binary, data_dir).arg("--config").arg(config.display().to_string());
    let server = launch.start().await;
    let target = Target::discover(&server.url(""), credentials).await?;
    Ok(Started { target, _server: Some((server, data)) })
}
