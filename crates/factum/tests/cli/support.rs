//! The binary, its servers and its outputs, for every topic.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

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

/// A server with nothing in it, and whoever runs the binary beside it.
pub(crate) struct Cli {
    dir: tempfile::TempDir,
    pub(crate) server: Server,
}

impl Cli {
    pub(crate) fn new() -> Cli {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::start(dir.path(), &["dev", "--listen", "127.0.0.1:0"]);
        Cli { dir, server }
    }

    fn args<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        [args, &["--url", &self.server.url]].concat()
    }

    /// The stdout of a subcommand that succeeds.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        check(self.dir.path(), &self.args(args), 0)
    }

    /// Its first line: the id of what was made.
    pub(crate) fn id(&self, args: &[&str]) -> String {
        self.ok(args).trim().to_owned()
    }

    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        json(&self.ok(&[args, &["-o", "json"]].concat()))
    }

    pub(crate) fn error(&self, args: &[&str], code: i32) -> String {
        check_error(self.dir.path(), &self.args(args), code)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = factum(self.dir.path());
        command.args(self.args(args));
        command
    }
}

/// A command that goes on, and the lines it prints.
pub(crate) struct Lines {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Lines {
    pub(crate) fn start(mut command: Command) -> Lines {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Lines { child, lines }
    }

    pub(crate) fn next(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// Reads until a line has all of these words.
    pub(crate) fn until(&mut self, words: &[&str]) -> String {
        self.lines.by_ref().map(Result::unwrap).find(|line| words.iter().all(|word| line.contains(word))).unwrap()
    }

    /// What is left, and the code it ends with.
    pub(crate) fn end(mut self) -> (Vec<String>, Option<i32>) {
        let rest = self.lines.by_ref().map(Result::unwrap).collect();
        (rest, self.child.wait().unwrap().code())
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command that believes to be on a terminal.
pub(crate) struct Terminal {
    pub(crate) child: Child,
    outside: File,
    pub(crate) inside: File,
    /// What was printed and not yet looked for.
    printed: String,
}

/// Where the messages of a command on a terminal go.
pub(crate) enum Messages {
    Nowhere,
    Screen,
}

impl Terminal {
    pub(crate) fn start(command: Command, messages: Messages) -> Terminal {
        Terminal::sized(command, messages, 100)
    }

    /// One of so many columns.
    pub(crate) fn sized(mut command: Command, messages: Messages, columns: u16) -> Terminal {
        let outside = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&outside).unwrap();
        unlockpt(&outside).unwrap();
        let name = ptsname(&outside, Vec::new()).unwrap();
        let inside = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        tcsetwinsize(&inside, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let stdio = || Stdio::from(inside.as_fd().try_clone_to_owned().unwrap());
        let stderr = match messages {
            Messages::Nowhere => Stdio::null(),
            Messages::Screen => stdio(),
        };
        let child = command.stdin(stdio()).stdout(stdio()).stderr(stderr).spawn().unwrap();
        Terminal { child, outside: File::from(outside), inside, printed: String::new() }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.outside.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until this is on the screen, and forgets it with what was before it, which it gives.
    pub(crate) fn until(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.printed.find(text) {
                let found: String = self.printed.drain(..at + text.len()).collect();
                return found[..at].to_owned();
            }
            let mut bytes = [0; 4096];
            let read = self.outside.read(&mut bytes).unwrap_or_else(|error| panic!("{error}: {}", self.printed));
            self.printed.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
