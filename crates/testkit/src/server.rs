//! The real binary as a child process: started, waited for, killed, told to stop, started again on the same directory.
//!
//! A server gets none of our environment, so a test means the same on every machine. Its stderr goes to a file, which is
//! shown when something goes wrong.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::clients::{A2a, Grpc, Http, Rpc, WebSocket};
use crate::wait::{PATIENCE, within};

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Launch {
    binary: PathBuf,
    mode: &'static str,
    listen: String,
    data_dir: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    /// What is written to stderr goes to somebody who has left.
    unheard: bool,
}

impl Launch {
    /// `factum dev` on a directory, on a free port.
    pub fn dev(binary: impl Into<PathBuf>, data_dir: impl Into<PathBuf>) -> Self {
        Self::new("dev", binary.into(), data_dir.into())
    }

    /// `factum serve` on a directory, on a free port.
    pub fn serve(binary: impl Into<PathBuf>, data_dir: impl Into<PathBuf>) -> Self {
        Self::new("serve", binary.into(), data_dir.into())
    }

    fn new(mode: &'static str, binary: PathBuf, data_dir: PathBuf) -> Self {
        Self {
            binary,
            mode,
            listen: "127.0.0.1:0".to_owned(),
            data_dir,
            args: Vec::new(),
            env: Vec::new(),
            unheard: false,
        }
    }

    /// Nobody reads its log, and the pipe to whoever did is broken.
    pub fn unheard(mut self) -> Self {
        self.unheard = true;
        self
    }

    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub fn env(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.env.push((name.into(), value.to_string()));
        self
    }

    /// Starts and waits until it listens.
    pub async fn start(&self) -> Server {
        match self.try_start().await {
            Ok(server) => server,
            Err(output) => panic!("the server did not start: code {:?}\n{}", output.code, output.stderr),
        }
    }

    /// Starts; gives back what a process that ends instead of listening left.
    pub async fn try_start(&self) -> Result<Server, Output> {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut command = command(&self.binary);
        command.arg(self.mode).args(["--listen", &self.listen]).arg("--data-dir").arg(&self.data_dir).args(&self.args);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        let stderr = if self.unheard { Stdio::piped() } else { log.reopen().unwrap().into() };
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        drop(child.stderr.take());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = within("the start of a server", lines.next_line()).await.unwrap();
        let Some(line) = line else {
            let code = child.wait().await.unwrap().code();
            let stderr = std::fs::read_to_string(log.path()).unwrap();
            return Err(Output { code, stdout: String::new(), stderr });
        };
        let address = line.strip_prefix("listening on http://").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        // Nobody reads the rest, and the pipe must not fill up.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let launch = Self { listen: address.clone(), ..self.clone() };
        Ok(Server { child, launch, address, log })
    }
}

/// A server that runs. Dropping it kills it.
pub struct Server {
    child: Child,
    launch: Launch,
    address: String,
    log: tempfile::NamedTempFile,
}

impl Server {
    /// `HOST:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// How much memory the server has resident, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let pid = self.child.id().expect("the server runs");
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_else(|| panic!("{status}"));
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it has written to stderr so far.
    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.log.path()).unwrap()
    }

    pub fn http(&self, token: Option<&str>) -> Http {
        Http::new(&self.address, token)
    }

    pub fn rpc(&self, token: Option<&str>) -> Rpc {
        Rpc::new(&self.address, token)
    }

    pub fn a2a(&self, token: Option<&str>) -> A2a {
        A2a::new(&self.address, token)
    }

    pub async fn ws(&self, token: Option<&str>) -> WebSocket {
        WebSocket::open(&self.address, token).await.unwrap()
    }

    pub fn grpc(&self, token: Option<&str>) -> Grpc {
        Grpc::open(&self.address, token)
    }

    /// SIGKILL: whatever it was doing, it is not doing it any more.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// SIGTERM, and waits for the clean end that is promised.
    pub async fn term(&mut self) {
        self.signal(Signal::TERM);
        let status = within("the drain", self.child.wait()).await.unwrap();
        assert_eq!(status.code(), Some(0), "{}", self.stderr());
    }

    fn signal(&self, signal: Signal) {
        let pid = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed())).expect("it runs");
        kill_process(pid, signal).unwrap();
    }

    /// Starts the same again: same directory, same port, same settings.
    pub async fn restart(&mut self) {
        *self = self.launch.start().await;
    }

    pub async fn kill_and_restart(&mut self) {
        self.kill().await;
        self.restart().await;
    }
}

/// What a command left behind.
#[derive(Clone, Debug)]
pub struct Output {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the binary to its end.
pub async fn run<I: AsRef<OsStr>>(binary: &str, args: impl IntoIterator<Item = I>) -> Output {
    run_for(PATIENCE, binary, args).await
}

/// The same, where it may take longer than anything else.
pub async fn run_for<I: AsRef<OsStr>>(patience: Duration, binary: &str, args: impl IntoIterator<Item = I>) -> Output {
    let mut command = command(Path::new(binary));
    let ended = tokio::time::timeout(patience, command.args(args).stdin(Stdio::null()).output()).await;
    let output = ended.unwrap_or_else(|_| panic!("a command took longer than {patience:?}")).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Output { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// The binary without any of our environment.
pub(crate) fn command(binary: &Path) -> Command {
    let mut command = Command::new(binary);
    command.env_clear().env("NO_COLOR", "1").env("TMPDIR", std::env::temp_dir()).kill_on_drop(true);
    command
}
