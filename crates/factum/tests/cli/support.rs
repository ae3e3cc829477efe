//! The binary, its servers and its outputs, for every topic.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// A command in a directory of its own, with none of our environment's settings.
pub(crate) fn factum(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_factum"));
    command.current_dir(dir).env_clear().env("NO_COLOR", "1").env("TMPDIR", std::env::temp_dir());
    command
}

fn run(dir: &Path, args: &[&str]) -> Output {
    factum(dir).args(args).output().unwrap()
}

/// The stdout of a command that ends with this code.
pub(crate) fn check(dir: &Path, args: &[&str], code: i32) -> String {
    let output = run(dir, args);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

/// The stderr of a command that ends with this code.
pub(crate) fn check_error(dir: &Path, args: &[&str], code: i32) -> String {
    let output = run(dir, args);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{stderr}");
    stderr
}

/// A server that is told to stop when the test ends.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) url: String,
}

impl Server {
    /// Starts and waits for the line that says it listens.
    pub(crate) fn start(dir: &Path, args: &[&str]) -> Server {
        let mut child = factum(dir).args(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Server { child, url }
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Sends SIGTERM and waits for a clean end.
    pub(crate) fn stop(mut self) -> Option<i32> {
        self.signal(rustix::process::Signal::TERM);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The stdout of a command that reads this and succeeds.
pub(crate) fn output_of(command: &mut Command, input: &str) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    text
}
