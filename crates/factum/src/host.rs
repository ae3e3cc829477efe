//! Putting a runtime on a data directory: the store, the blobs, the secret, the agents.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use factum_agent::{Agent, Agents, Script};
use factum_runtime::{Options, Runtime};
use factum_store::{Blobs, EmbeddedStore, OpenError, Store};

use crate::config::Settings;
use crate::failure::Problem;
use crate::output::Output;
use crate::secret;

/// How long closing may take before the process ends without it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(15);

/// A store that is open, with what a runtime needs beside it.
pub(crate) struct Opened {
    pub(crate) store: Arc<EmbeddedStore>,
    pub(crate) blobs: Blobs,
    pub(crate) secret: secret::Kept,
}

/// Opens the data directory, creating it where there is none.
pub(crate) fn open(settings: &Settings) -> Result<Opened> {
    let dir = &settings.store.data_dir;
    make_private(dir)?;
    let (store, report) =
        EmbeddedStore::open(dir, settings.store_options()).map_err(|error| cannot_open(dir, error))?;
    if let Some(torn) = &report.torn {
        tracing::warn!(bytes = torn.bytes, position = torn.position, "dropped what an interrupted write had left");
    }
    tracing::info!(dir = %dir.display(), position = report.position, replayed = report.replayed_commits, "store open");
    let blobs = Blobs::open(dir.join("blobs")).context("the blobs cannot be opened")?;
    Ok(Opened { store: Arc::new(store), blobs, secret: secret::open(dir)? })
}

/// Makes the directory for its owner alone: what agents are told is nobody else's business.
fn make_private(dir: &Path) -> Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| {
        let problem = Problem::cannot_run(format!("the directory {} cannot be made", dir.display())).because(error);
        problem.advice("give the user that runs Factum the right to write there, or choose another --data-dir").into()
    })
}

/// Why a data directory cannot be opened, with what to do about it.
pub(crate) fn cannot_open(dir: &Path, error: OpenError) -> Problem {
    let problem = Problem::cannot_run(format!("the store in {} cannot be opened", dir.display()));
    match error {
        locked @ OpenError::Locked { .. } => problem.because(locked),
        other => problem.because(other).advice(format!("factum doctor --data-dir {}", dir.display())),
    }
}

/// The options of a runtime from the settings.
pub(crate) fn options(settings: &Settings, agents: Agents, secret: factum_runtime::Secret) -> Options {
    Options { limits: settings.engine_limits(), shell: settings.shell_limits(), ..Options::new(agents, secret) }
}

/// Starts a runtime on what was opened.
pub(crate) async fn start(
    opened: &Opened,
    settings: &Settings,
    agents: Agents,
    outbound: factum_outbound::Options,
) -> Result<Runtime> {
    let delegate = crate::peers::delegate(settings, outbound)?;
    let options = Options { delegate, ..options(settings, agents, opened.secret.secret.clone()) };
    let store: Arc<dyn Store> = opened.store.clone();
    Runtime::start(store, opened.blobs.clone(), options).await.context("the runtime cannot start")
}

/// Closes a runtime, within a bound. What was acknowledged is durable already; a close only makes the next start fast.
pub(crate) async fn close(runtime: &Runtime) {
    if tokio::time::timeout(CLOSE_TIMEOUT, runtime.close()).await.is_err() {
        tracing::warn!(seconds = CLOSE_TIMEOUT.as_secs(), "closing took too long and was given up; nothing is lost");
    }
}

/// Tells about a secret that others may read.
pub(crate) fn warn_if_exposed(opened: &Opened, settings: &Settings, output: &Output) {
    if opened.secret.exposed {
        let advice = secret::exposed_advice(&settings.store.data_dir);
        output.warn(format_args!("others on this machine may read the server's secret; {advice}"));
    }
}

/// Which agents there are besides those of the scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    /// Always. One of them is the default where the configuration has no script.
    Beside,
    /// Only where there is no script.
    Fallback,
}

/// The agents of the configuration's scripts, those that come with the binary, and those that were named `beside` them on the command
/// line. The first is the default.
pub(crate) fn agents(scripts: &[PathBuf], beside: &[PathBuf], built_in: BuiltIn) -> Result<Agents> {
    let mut all: Vec<Script> = scripts.iter().map(|path| read_script(path)).collect::<Result<_>>()?;
    if all.is_empty() || built_in == BuiltIn::Beside {
        all.extend([Script::demo(), Script::waiting()]);
    }
    for path in beside {
        all.push(read_script(path)?);
    }
    Agents::new(all.into_iter().map(Agent::from_script).collect()).context("the agents do not fit together")
}

fn read_script(path: &Path) -> Result<Script> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Problem::cannot_run(format!("the script {name} cannot be read"))
            .because(error)
            .advice("give the path of a script; crates/agent/scripts/README.md describes the format")
    })?;
    let script = Script::parse(&name, &text)
        .map_err(|error| Problem::cannot_run(format!("the script {name} cannot be used")).because(error))?;
    Ok(script)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_default_agent_is_the_first_that_is_configured_or_the_demo() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"name = 'helper'\n[[on]]\nany = true\nsteps = [{ say = 'hi' }]\n").unwrap();
        let scripts = [file.path().to_owned()];
        let who = |scripts: &[PathBuf], beside: &[PathBuf], built_in| {
            let agents = agents(scripts, beside, built_in).unwrap();
            (agents.default_name().to_owned(), agents.names().count())
        };
        assert_eq!(who(&[], &[], BuiltIn::Fallback), ("demo".to_owned(), 2));
        assert_eq!(who(&scripts, &[], BuiltIn::Fallback), ("helper".to_owned(), 1));
        assert_eq!(who(&scripts, &[], BuiltIn::Beside), ("helper".to_owned(), 3));
        assert_eq!(who(&[], &scripts, BuiltIn::Beside), ("demo".to_owned(), 3));
        assert!(agents(&["nowhere.toml".into()], &[], BuiltIn::Beside).is_err());
    }
}
