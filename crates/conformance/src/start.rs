//! Starting the server under test, with an agent that does what the suites ask for and keys for three people.

use std::path::Path;

use anyhow::{Context, Result, bail};
use factum_testkit::{Launch, Server, run};

use crate::args::{self, Args};
use crate::target::{Credentials, Target};

/// The configuration that most tests are about.
pub(crate) const WITH_EVERYTHING: &str = "factum.toml";
/// The one for tests of what is refused where it is not offered.
pub(crate) const WITHOUT_OPTIONS: &str = "plain.toml";

/// A server that can be asked. Dropping it ends what was started for it.
pub(crate) struct Started {
    pub target: Target,
    _server: Option<(Server, tempfile::TempDir)>,
}

pub(crate) async fn server(args: &Args, config: &str) -> Result<Started> {
    match &args.server {
        args::Server::Running { url } => {
            let target = Target::discover(url, Credentials::default()).await?;
            Ok(Started { target, _server: None })
        }
        args::Server::Start { binary } => start(binary, &args.folder.join(config)).await,
    }
}

async fn start(binary: &Path, config: &Path) -> Result<Started> {
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
    let config = config.canonicalize().with_context(|| format!("there is no {}", config.display()))?;
    let launch = Launch::serve(binary, data_dir).arg("--config").arg(config.display().to_string());
    let server = launch.start().await;
    let target = Target::discover(&server.url(""), credentials).await?;
    Ok(Started { target, _server: Some((server, data)) })
}
