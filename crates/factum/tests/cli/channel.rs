//! `factum channel …` against a real server.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Messages, Server, Terminal, check, check_error, factum, json, output_of};

/// A server, and people who use it.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) server: Server,
}

pub(crate) const ALICE: &str = "dev:agent://alice";
pub(crate) const BOB: &str = "dev:agent://bob";

impl World {
    pub(crate) fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::start(dir.path(), &["dev", "--listen", "127.0.0.1:0"]);
        World { dir, server }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    fn args<'a>(&'a self, token: &'a str, args: &[&'a str]) -> Vec<&'a str> {
        [&["channel"], args, &["--url", &self.server.url, "--token", token]].concat()
    }

    /// The stdout of a subcommand that succeeds.
    pub(crate) fn channel(&self, token: &str, args: &[&str]) -> String {
        check(self.path(), &self.args(token, args), 0)
    }

    pub(crate) fn json(&self, token: &str, args: &[&str]) -> Value {
        json(&self.channel(token, &[args, &["-o", "json"]].concat()))
    }

    pub(crate) fn error(&self, token: &str, args: &[&str], code: i32) -> String {
        check_error(self.path(), &self.args(token, args), code)
    }

    pub(crate) fn command(&self, token: &str, args: &[&str]) -> Command {
        let mut command = factum(self.path());
        command.args(self.args(token, args));
        command
    }

    /// Alice's channel with Bob in it.
    pub(crate) fn general(&self) -> String {
        self.channel(ALICE, &["create", "--name", "general", "--member", "agent://bob"]).trim().to_owned()
    }

    /// Looks until somebody follows the channel.
    pub(crate) fn until_followed(&self, token: &str, channel: &str) {
        let followed =
            || self.json(token, &["presence", channel]).as_array().is_some_and(|present| !present.is_empty());
        assert!((0..1_000).any(|_| followed()), "nobody follows {channel}");
    }

    /// Kills the server; gives the address to start it at again.
    pub(crate) fn stop(&mut self) -> String {
        self.server.signal(rustix::process::Signal::KILL);
        self.server.child.wait().unwrap();
        self.server.url.strip_prefix("http://").unwrap().to_owned()
    }

    pub(crate) fn start(&mut self, address: &str) {
        self.server = Server::start(self.path(), &["dev", "--listen", address]);
    }
}

/// A subcommand that goes on, and the lines it prints.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// The message that the next line is: its sequence and its text.
    pub(crate) fn message(&mut self) -> (u64, String) {
        let envelope = json(&self.line());
        assert_eq!(envelope["kind"], "messageEvent", "{envelope}");
        (envelope["event"]["sequence"].as_u64().unwrap(), text(&envelope["event"]))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn text(event: &Value) -> String {
    event["parts"][0]["text"].as_str().unwrap_or_default().to_owned()
}

fn texts(events: &Value) -> Vec<String> {
    events.as_array().unwrap().iter().map(text).collect()
}

#[test]
fn a_channel_is_created_shown_changed_and_deleted() {
    let world = World::new();
    let id = world.channel(
        ALICE,
        &["create", "--name", "general", "--member", "agent://bob:moderator", "--metadata", "{\"topic\":\"fish\"}"],
    );
    let id = id.trim();
    assert!(id.starts_with("chan_"), "{id}");
    let shown = world.channel(ALICE, &["show", "general"]);
    for words in ["general", id, "private, version 1", "topic = \"fish\"", "2 members", "agent://bob    moderator"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    assert!(world.channel(BOB, &["list"]).contains("general"));

    world.channel(ALICE, &["update", id, "--expect-version", "1", "--set", "size=[1]", "--unset", "topic"]);
    let error = world.error(ALICE, &["update", id, "--expect-version", "1", "--name", "other"], 1);
    assert!(error.contains("conflict") && error.contains("factum channel show"), "{error}");
    world.channel(ALICE, &["add", "general", "agent://carol"]);
    world.channel(ALICE, &["remove", "general", "agent://bob"]);
    let channel = world.json(ALICE, &["show", "general"]);
    let members: Vec<&str> =
        channel["members"].as_array().unwrap().iter().map(|member| member["principalId"].as_str().unwrap()).collect();
    assert_eq!((members, &channel["version"]), (vec!["agent://alice", "agent://carol"], &4.into()));
    assert_eq!(channel["metadata"], serde_json::json!({ "size": [1] }));

    let error = world.error(BOB, &["delete", id], 1);
    assert!(error.contains("not_found") && error.contains("factum channel list"), "{error}");
    world.channel(ALICE, &["delete", "general"]);
    assert_eq!(world.json(ALICE, &["list"]), serde_json::json!([]));
    let audit = check(world.path(), &["channel", "audit", id, "--url", &world.server.url], 0);
    for words in ["agent://alice  created", "removed  agent://bob", "deleted"] {
        assert!(audit.contains(words), "{words}\n{audit}");
    }
    assert!(world.error(ALICE, &["audit"], 1).contains("permission_denied"));
    // Names are those of channels that one can see, and an admin may audit others.
    world.general();
    let error = check_error(world.path(), &["channel", "audit", "general", "--url", &world.server.url], 1);
    assert!(error.contains("is audited by its id"), "{error}");
}

#[test]
fn messages_are_published_and_read_in_every_form() {
    let world = World::new();
    world.general();
    let first = world.channel(ALICE, &["publish", "general", "hello", "there", "--key", "k"]);
    assert!(first.starts_with("msg_"), "{first}");
    assert_eq!(world.channel(ALICE, &["publish", "general", "hello there", "--key", "k"]), first);
    assert!(world.error(ALICE, &["publish", "general", "other", "--key", "k"], 1).contains("conflict"));
    output_of(&mut world.command(BOB, &["publish", "general", "-", "--reply-to", "1", "-q"]), "two\nlines\n");
    let parts = "[{\"data\":{\"answer\":42}}]";
    world.channel(BOB, &["publish", "general", "see", "--json", parts, "--artifact", "art_1", "--task", "task_1"]);

    let history = world.channel(ALICE, &["history", "general"]);
    let lines: Vec<&str> = history.lines().map(|line| line.get("00:00:00".len()..).unwrap_or_default()).collect();
    let expected = [
        "     1  agent://alice  hello there",
        "     2  agent://bob    (to 1) two",
        "                       lines",
        "     3  agent://bob    see <{\"answer\":42}> [artifact art_1] [task task_1]",
    ];
    assert_eq!(lines, expected, "{history}");

    let read = |args: &[&str]| texts(&world.json(ALICE, &[&["history", "general"], args].concat()));
    assert_eq!(read(&[]), ["hello there", "two\nlines", "see"]);
    assert_eq!(read(&["--limit", "1"]), ["see"], "the last ones");
    assert_eq!(read(&["--since", "1", "--limit", "1"]), ["two\nlines"]);
    assert_eq!(read(&["--since", "1h", "--author", "agent://alice"]), ["hello there"]);
    assert_eq!(read(&["--backward", "--limit", "2"]), ["see", "two\nlines"]);
    assert_eq!(read(&["--all", "--thread", "1"]), ["hello there", "two\nlines"]);
    let lines = world.channel(ALICE, &["history", "general", "--all", "-o", "jsonl"]);
    assert_eq!(lines.lines().count(), 3, "{lines}");

    assert_eq!(world.json(BOB, &["show", "general"])["readCursor"]["unreadCount"], 1, "his own are not");
    assert_eq!(world.json(ALICE, &["show", "general"])["readCursor"]["unreadCount"], 2);
    assert_eq!(world.json(ALICE, &["read", "general", "2"])["readCursor"]["unreadCount"], 1);
    assert_eq!(world.json(BOB, &["read", "general"])["readCursor"]["sequence"], 3);
    assert!(world.error(BOB, &["publish", "general", "hi", "--reply-to", "9"], 1).contains("no message 9"));
}

#[test]
fn following_goes_on_where_it_was_when_the_server_comes_back() {
    let mut world = World::new();
    let id = world.general();
    world.channel(ALICE, &["publish", &id, "before"]);
    let mut new = Running::start(world.command(BOB, &["follow", "general", "-o", "jsonl"]));
    world.until_followed(ALICE, &id);
    world.channel(ALICE, &["publish", &id, "first"]);
    assert_eq!(new.message(), (2, "first".into()));
    let address = world.stop();
    world.start(&address);
    world.channel(ALICE, &["publish", &id, "second"]);
    world.channel(ALICE, &["publish", &id, "third"]);
    assert_eq!(new.message(), (3, "second".into()));
    assert_eq!(new.message(), (4, "third".into()));

    let mut all = Running::start(world.command(BOB, &["follow", &id, "--since", "0", "--control"]));
    assert!(all.line().ends_with("*  agent://alice created the channel"));
    assert!(all.line().ends_with("1  agent://alice  before"));
}

#[test]
fn who_is_taken_out_is_cut_off() {
    let world = World::new();
    let id = world.general();
    let follow = world.command(BOB, &["follow", &id]).stderr(Stdio::piped()).spawn().unwrap();
    world.until_followed(ALICE, &id);
    world.channel(ALICE, &["remove", &id, "agent://bob"]);
    let output = follow.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("not_found") && error.contains("no longer a member"), "{error}");
}

#[test]
fn a_direct_channel_is_reached_from_both_sides_and_never_listed() {
    let world = World::new();
    let sent = world.json(ALICE, &["publish", "@agent://bob", "just", "us"]);
    world.channel(BOB, &["publish", "--peer", "agent://alice", "yes"]);
    let history = world.json(BOB, &["history", "--peer", "agent://alice"]);
    assert_eq!(texts(&history), ["just us", "yes"]);
    assert_eq!(history[1]["channelId"], sent["channelId"]);
    assert!(world.channel(BOB, &["show", "@agent://alice"]).contains("direct, version 1"));
    assert_eq!(world.json(BOB, &["read", "--peer", "agent://alice", "1"])["readCursor"]["sequence"], 1);
    assert_eq!(world.json(ALICE, &["list"]), serde_json::json!([]));
    let error = world.error(ALICE, &["add", "@agent://bob", "agent://carol"], 2);
    assert!(error.contains("cannot be changed"), "{error}");
}

#[test]
fn errors_say_what_to_do() {
    let world = World::new();
    let id = world.general();
    let error = world.error(ALICE, &["show", "generl"], 1);
    assert!(error.contains("did you mean \"general\"?") && error.contains("factum channel list"), "{error}");
    let twin = world.general();
    let error = world.error(ALICE, &["publish", "general", "hi"], 2);
    assert!(error.contains("2 channels are called") && error.contains(&id) && error.contains(&twin), "{error}");
    let error = world.error(ALICE, &["publish", "agent://bob", "hi"], 2);
    assert!(error.contains("write @agent://bob"), "{error}");
    let error = world.error(ALICE, &["publish", &id], 2);
    assert!(error.contains("nothing to publish"), "{error}");
    let error = world.error(ALICE, &["update", &id, "--expect-version", "1", "--set", "topic=fish"], 2);
    assert!(error.contains("topic='\"fish\"'"), "{error}");
    let error = world.error(ALICE, &["follow", "chan_nobody", "--since", "0"], 1);
    assert!(error.contains("not_found"), "{error}");
    let error = check_error(world.path(), &["channel", "list", "--url", "http://127.0.0.1:1"], 3);
    assert!(error.contains("no answer from"), "{error}");
}

#[test]
fn an_audit_that_is_cut_says_how_to_go_on() {
    let world = World::new();
    let id = world.general();
    for text in ["one", "two", "three"] {
        world.channel(ALICE, &["publish", &id, text]);
    }
    let audit = |more: &[&str]| {
        let args = [&["channel", "audit", &id, "-o", "jsonl", "--url", &world.server.url], more].concat();
        (check(world.path(), &args, 0), check_error(world.path(), &args, 0))
    };
    let (all, silence) = audit(&[]);
    let (first, note) = audit(&["--limit", "2"]);
    assert_eq!((first.lines().count(), silence.as_str()), (2, ""));
    let place =
        note.split("--after ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_else(|| panic!("{note}"));
    let (rest, silence) = audit(&["--after", place]);
    assert_eq!((first + &rest, silence.as_str()), (all, ""));
}

#[test]
fn a_principal_that_is_likely_a_slip_is_remarked_on() {
    let world = World::new();
    world.general();
    let said = |args: &[&str]| world.error(ALICE, args, 0);
    for args in [
        &["publish", "@bob", "hi"][..],
        &["publish", "--peer", "bob", "hi"],
        &["create", "--member", "bob"],
        &["add", "general", "bob"],
    ] {
        let note = said(args);
        assert!(note.contains("bob has no scheme") && note.contains("such as agent://bob"), "{args:?} {note}");
    }
    assert!(said(&["add", "general", "agent://bob:king"]).contains("king is no role"));
    assert!(said(&["create", "--member", "agent://bob:king"]).contains("king is no role"));
    for args in [&["add", "general", "agent://bob:onwer"][..], &["create", "--member", "agent://bob:onwer"]] {
        assert!(world.error(ALICE, args, 2).contains("did you mean \"owner\"?"), "{args:?}");
    }
    for args in [&["add", "general", "agent://dora:owner"][..], &["add", "general", "agent://owner", "--role", "owner"]]
    {
        let note = said(args);
        assert!(note.contains("is an owner now") && !note.contains("note:"), "{args:?} {note}");
    }
    let error = world.error(ALICE, &["add", "general", "agent://dora:owner", "--role", "member"], 2);
    assert!(error.contains("two roles"), "{error}");
}

#[test]
fn adding_a_member_again_takes_no_role_away() {
    let world = World::new();
    world.general();
    let add = |member: &str| world.error(ALICE, &["add", "general", member], 0);
    assert!(add("agent://alice").contains("agent://alice is an owner now"));
    assert!(add("agent://bob").contains("agent://bob is a member now"));
    assert!(add("agent://bob:moderator").contains("agent://bob is a moderator now"));
    assert!(add("agent://bob").contains("agent://bob is a moderator now; version 2"));
    add("agent://bob:owner");
    assert!(add("agent://alice").contains("agent://alice is an owner now; version 3"));
    assert!(add("agent://carol").contains("agent://carol is a member now"));
    let channel = world.json(ALICE, &["show", "general"]);
    let roles: Vec<&str> =
        channel["members"].as_array().unwrap().iter().map(|member| member["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["owner", "owner", "member"]);
}

#[test]
fn what_strangers_write_is_never_obeyed_and_stays_what_it_is() {
    let world = World::new();
    let id = world.general();
    let evil = "\u{9b}31m\u{202e}\u{200f}\u{7f} the end";
    world.channel(BOB, &["publish", &id, evil]);
    for format in ["json", "jsonl"] {
        let mut terminal = Terminal::start(world.command(ALICE, &["history", &id, "-o", format]), Messages::Nowhere);
        let shown = terminal.until(" the end");
        assert!(shown.ends_with(r"\u009b31m\u202e\u200f\u007f"), "{shown:?}");
        let piped = world.channel(ALICE, &["history", &id, "-o", format]);
        assert!(piped.contains(evil), "{piped:?}");
    }
    let mut follow =
        Terminal::start(world.command(ALICE, &["follow", &id, "--since", "0", "-o", "jsonl"]), Messages::Nowhere);
    assert!(follow.until(" the end").ends_with(r"\u009b31m\u202e\u200f\u007f"));

    let name = "agent://\u{202e}evil\u{200f}";
    let said = [
        world.error(ALICE, &["add", &id, name], 0),
        world.error(ALICE, &["remove", &id, name], 0),
        world.error(ALICE, &["remove", &id, name], 1),
    ];
    for said in said {
        assert!(said.contains(r"\u{202e}evil\u{200f}") && !said.contains(['\u{202e}', '\u{200f}']), "{said:?}");
    }
}
