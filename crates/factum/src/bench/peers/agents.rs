//! Other servers of A2A: one of the official Python SDK and one of the official Rust crate, both with their tasks in memory
//! and an agent that answers at once. The programs are in `benches/peers`.
//!
//! Python is run by the interpreter that `cargo xtask sdk` has installed beside this executable, or by the `python3` of the
//! path where that has the SDK; the Rust one is a program beside this executable or of the path.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};

use super::process::{Process, Says, command, find, free_address};

/// A server of A2A to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AgentServer {
    Python,
    Rust,
}

/// One that answers. Killed when dropped.
pub(in crate::bench) struct Agent {
    process: Process,
    pub(in crate::bench) address: SocketAddr,
}

const PYTHON_SERVER: &str = include_str!("../../../../../benches/peers/a2a_python.py");
/// Where `cargo xtask sdk` puts the SDK, seen from the folder of what Cargo builds.
const PYTHON_INSTALLED: &str = "sdk/python-1.3.0/bin";

impl AgentServer {
    pub(in crate::bench) fn name(self) -> &'static str {
        match self {
            Self::Python => "python sdk",
            Self::Rust => "rust crate",
        }
    }

    /// Starts it in a directory of its own. `None` where it is not installed.
    pub(in crate::bench) async fn start(self, dir: &Path) -> Result<Option<Agent>> {
        match self {
            Self::Python => python(dir).await.context("python sdk"),
            Self::Rust => rust(dir).await.context("rust crate"),
        }
    }
}

impl Agent {
    /// Asks it to end and waits until it has.
    pub(in crate::bench) async fn stop(self) -> Result<()> {
        self.process.stop().await
    }
}

async fn python(dir: &Path) -> Result<Option<Agent>> {
    let Some(interpreter) = interpreter(dir).await? else { return Ok(None) };
    let script = dir.join("server.py");
    keep(&script, PYTHON_SERVER)?;
    let address = free_address()?;
    let mut server = command(&interpreter, dir);
    server.arg(&script).arg(address.port().to_string());
    let process = Process::start(server, Says::OnStderr, "Uvicorn running on").await?;
    Ok(Some(Agent { process, address }))
}

/// A Python that has the SDK.
async fn interpreter(dir: &Path) -> Result<Option<PathBuf>> {
    let built = beside().and_then(|folder| Some(folder.parent()?.to_owned()));
    let installed = built.map(|folder| folder.join(PYTHON_INSTALLED).join("python")).filter(|file| file.is_file());
    for python in installed.into_iter().chain(find("python3", &[])) {
        let mut probe = command(&python, dir);
        probe.args(["-c", "import a2a.server.routes, uvicorn"]).stdout(Stdio::null()).stderr(Stdio::null());
        if probe.status().await?.success() {
            return Ok(Some(python));
        }
    }
    Ok(None)
}

async fn rust(dir: &Path) -> Result<Option<Agent>> {
    let beside: Vec<PathBuf> = beside().into_iter().collect();
    let Some(executable) = find("factum-bench-a2a", &beside) else { return Ok(None) };
    let address = free_address()?;
    let mut server = command(&executable, dir);
    server.arg(address.port().to_string());
    let process = Process::start(server, Says::OnStdout, "listening on").await?;
    Ok(Some(Agent { process, address }))
}

/// The folder of this executable.
fn beside() -> Option<PathBuf> {
    std::env::current_exe().ok()?.parent().map(Path::to_owned)
}

#[allow(clippy::disallowed_methods, reason = "a room in which a benchmark writes what it starts")]
fn keep(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
