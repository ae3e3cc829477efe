//! A server of somebody else as a process: found, started, waited for, and ended with us.
//!
//! It gets an empty environment, as our own do. It says itself when it is ready, in words that are known for each.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, BufReader, Lines};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How long a server may take until it answers, or until it has ended.
const START_MAX: Duration = Duration::from_secs(60);
/// What a server said before it failed, as far back as is worth showing.
const SAID_LINES_MAX: usize = 8;

/// Where a server writes what it has to say.
#[derive(Clone, Copy)]
pub(super) enum Says {
    OnStdout,
    OnStderr,
}

/// A server that is ready. Killed when dropped.
pub(super) struct Process {
    child: Child,
}

/// Who a server runs as, where it refuses to run as root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct User {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Process {
    /// Starts it and waits until it says `ready`.
    pub(super) async fn start(mut command: Command, says: Says, ready: &str) -> Result<Self> {
        match says {
            Says::OnStdout => command.stdout(Stdio::piped()).stderr(Stdio::null()),
            Says::OnStderr => command.stdout(Stdio::null()).stderr(Stdio::piped()),
        };
        let mut child = command.spawn().context("it cannot be started")?;
        let said: Option<Box<dyn AsyncRead + Send + Unpin>> = match says {
            Says::OnStdout => child.stdout.take().map(|out| Box::new(out) as _),
            Says::OnStderr => child.stderr.take().map(|out| Box::new(out) as _),
        };
        let mut lines = BufReader::new(said.context("it has no output")?).lines();
        timeout(START_MAX, wait_for(&mut lines, ready)).await.context("it does not get ready")??;
        // What it says from here on has to go somewhere, or it would wait until it is read.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { child })
    }

    /// Asks it to end, and waits until it has.
    pub(super) async fn stop(mut self) -> Result<()> {
        if let Some(pid) = self.child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
            // For PostgreSQL this is the word that does not wait for clients; the others end on it all the same.
            kill_process(pid, Signal::INT).context("it cannot be stopped")?;
        }
        timeout(START_MAX, self.child.wait()).await.context("it does not end")??;
        Ok(())
    }
}

async fn wait_for(lines: &mut Lines<impl AsyncBufRead + Unpin>, ready: &str) -> Result<()> {
    let mut before = VecDeque::new();
    while let Some(line) = lines.next_line().await? {
        if line.contains(ready) {
            return Ok(());
        }
        before.push_back(line);
        if before.len() > SAID_LINES_MAX {
            before.pop_front();
        }
    }
    bail!("it ended before it was ready: {}", Vec::from(before).join(" | "))
}

/// A command in `dir`, with no environment.
#[allow(clippy::disallowed_methods, reason = "a room in which a benchmark starts its servers")]
pub(super) fn command(executable: &Path, dir: &Path) -> Command {
    let mut command = Command::new(executable);
    command.current_dir(dir).env_clear().stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// A program of the path, or of one of these directories.
#[allow(clippy::disallowed_methods, reason = "where programs are is known to the environment only")]
pub(super) fn find(name: &str, also: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).chain(also.iter().cloned()).map(|dir| dir.join(name));
    found.filter(|file| file.is_file()).find_map(|file| file.canonicalize().ok().map(|real| named(file, real)))
}

/// The real file, whose neighbours are what belongs to it; but not where a program is told by its name what to be.
fn named(file: PathBuf, real: PathBuf) -> PathBuf {
    if real.file_name() == file.file_name() { real } else { file }
}

/// A port of loopback that was free just now. None of the servers tells which one it took, so it is chosen for them.
pub(super) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// Someone who is not root: the first of these names that `/etc/passwd` has.
pub(super) fn user(passwd: &str, names: &[&str]) -> Option<User> {
    names.iter().find_map(|name| {
        let mut fields = passwd.lines().map(|line| line.split(':')).find(|line| line.clone().next() == Some(name))?;
        Some(User { uid: fields.nth(2)?.parse().ok()?, gid: fields.next()?.parse().ok()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name() {
        let passwd =
            "root:x:0:0:root:/root:/bin/sh\npostgres:x:101:104:,,,:/:/bin/sh\nnobody:x:65534:65533::/:/bin/false\n";
        assert_eq!(user(passwd, &["postgres", "nobody"]), Some(User { uid: 101, gid: 104 }));
        assert_eq!(user(passwd, &["pgsql", "nobody"]), Some(User { uid: 65534, gid: 65533 }));
        assert_eq!(user(passwd, &["post"]), None);
    }

    #[tokio::test]
    async fn what_it_said_is_told_where_it_ended_early() {
        let mut lines = BufReader::new(&b"starting\nno space left\n"[..]).lines();
        let error = wait_for(&mut lines, "ready").await.unwrap_err();
        assert_eq!(error.to_string(), "it ended before it was ready: starting | no space left");
        let mut lines = BufReader::new(&b"starting\n* it is ready now\n"[..]).lines();
        assert!(wait_for(&mut lines, "ready").await.is_ok());
    }
}
