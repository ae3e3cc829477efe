//! Servers as processes of their own: ours and the bare one, started from this very executable and ended with us.
//!
//! They get an empty environment, so that nobody's settings change what is measured.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::Instant;

/// What a server says when it answers.
pub(super) const READY: &str = "listening on http://";

/// A server that answers. Killed when dropped.
pub(super) struct Server {
    child: Child,
    address: SocketAddr,
    ready_after: Duration,
    /// The bare server ends when this closes, even where we are killed.
    _stdin: Option<ChildStdin>,
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    /// `factum dev` on this directory.
    pub(super) async fn factum(dir: &Path) -> Result<Self> {
        let data_dir = dir.display().to_string();
        Self::start(&["dev", "-q", "--listen", "127.0.0.1:0", "--data-dir", &data_dir]).await
    }

    /// The server that only answers with what it was sent.
    pub(super) async fn bare() -> Result<Self> {
        Self::start(&["bench", "echo-server"]).await
    }

    #[allow(clippy::disallowed_methods, reason = "the one room in which a benchmark starts its servers")]
    async fn start(arguments: &[&str]) -> Result<Self> {
        let executable = std::env::current_exe().context("the path of this executable is not known")?;
        let mut command = Command::new(executable);
        // A factum.toml of the directory we were started in is not the server's business; the root has none.
        command.args(arguments).env_clear().current_dir("/").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let clock = Instant::now();
        let mut child = command.spawn().context("the server cannot be started")?;
        let stdout = child.stdout.take().context("the server has no stdout")?;
        let mut stdout = BufReader::new(stdout);
        let address = ready(&mut stdout).await?;
        let ready_after = clock.elapsed();
        Ok(Self { _stdin: child.stdin.take(), child, address, ready_after, _stdout: stdout })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From the start of the process to the first request it would answer.
    pub(super) fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// Memory of its own; pages of files, which the system may take back, do not count.
    pub(super) fn memory_bytes(&self) -> Result<u64> {
        let pid = self.child.id().context("the server has ended")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).context("its memory cannot be read")?;
        anonymous_bytes(&status).context("/proc has no RssAnon")
    }

    /// Time its threads have spent on a processor. Says what a request costs even where others keep the machine busy.
    pub(super) fn cpu(&self) -> Result<Duration> {
        let pid = self.child.id().context("the server has ended")?;
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).context("its threads cannot be listed")?;
        // A thread that ends in between is not missed: those that work stay.
        let spent =
            threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
        Ok(spent.filter_map(|text| text.split(' ').next()?.parse().ok()).map(Duration::from_nanos).sum())
    }

    /// Asks it to drain and waits until it is gone.
    pub(super) async fn stop(mut self) -> Result<()> {
        if let Some(pid) = self.child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
            kill_process(pid, Signal::TERM).context("the server cannot be stopped")?;
        }
        self.child.wait().await?;
        Ok(())
    }

    /// Ends it on the spot, as a crash would.
    pub(super) async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}

async fn ready(stdout: &mut BufReader<ChildStdout>) -> Result<SocketAddr> {
    let mut line = String::new();
    while stdout.read_line(&mut line).await? > 0 {
        if let Some(address) = line.trim().strip_prefix(READY) {
            return Ok(address.parse()?);
        }
        line.clear();
    }
    bail!("the server ended before it was ready")
}

fn anonymous_bytes(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kilobytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_status_of_a_process() {
        assert_eq!(anonymous_bytes("VmRSS:\t  900 kB\nRssAnon:\t     512 kB\nRssFile:\t 3 kB\n"), Some(512 * 1024));
        assert_eq!(anonymous_bytes("VmRSS:\t  900 kB\n"), None);
    }
}
