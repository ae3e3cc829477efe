//! `factum channel chat`, from a pipe and on a terminal.

use std::io::Write;
use std::process::Stdio;

use rustix::termios::{LocalModes, tcgetattr};

use crate::channel::{ALICE, BOB, Running, World, text};
use crate::support::{Messages, Terminal, json, output_of};

#[test]
fn every_line_of_a_pipe_is_posted_and_it_ends_when_all_are_there() {
    let world = World::new();
    let id = world.general();
    world.channel(BOB, &["publish", &id, "before"]);
    let lines = output_of(&mut world.command(ALICE, &["chat", "general", "-o", "jsonl"]), "one\n\n/quit\nthree");
    let shown: Vec<String> = lines.lines().map(|line| text(&json(line)["event"])).collect();
    assert_eq!(shown, ["one", "", "/quit", "three"]);
    let channel = world.json(ALICE, &["show", &id]);
    assert_eq!(channel["messageCount"], 5);
    assert_eq!(channel["readCursor"], serde_json::json!({ "sequence": 0, "unreadCount": 1 }), "nobody read anything");
    let text = output_of(&mut world.command(BOB, &["chat", "@agent://alice", "--last", "5"]), "psst\n");
    assert!(text.ends_with("1  agent://bob    psst\n"), "{text}");
}

#[test]
fn the_first_line_that_is_refused_is_the_end() {
    let world = World::new();
    let id = world.channel(ALICE, &["create", "--name", "news", "--public"]);
    let mut chat = world.command(BOB, &["chat", id.trim()]);
    let mut child = chat.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("line 1 was not posted") && error.contains("permission_denied"), "{error}");
}

#[test]
fn a_line_that_is_not_text_is_named() {
    let world = World::new();
    let id = world.general();
    let mut chat = world.command(ALICE, &["chat", &id]);
    let mut child = chat.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"one\n\ntw\xff\nfour\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("line 3 was not posted") && error.contains("utf-8"), "{error}");
    assert_eq!(world.json(ALICE, &["show", &id])["messageCount"], 2, "an empty line is one");
}

#[test]
fn a_line_that_comes_while_the_server_is_away_is_posted_once_it_is_back() {
    let mut world = World::new();
    let id = world.general();
    let mut command = world.command(ALICE, &["chat", &id, "-o", "jsonl"]);
    command.stdin(Stdio::piped());
    let mut chat = Running::start(command);
    let mut stdin = chat.child.stdin.take().unwrap();
    stdin.write_all(b"one\n").unwrap();
    assert_eq!(chat.message(), (1, "one".into()));
    let again = world.stop();
    stdin.write_all(b"two\nthree\n").unwrap();
    drop(stdin);
    world.start(&again);
    assert_eq!(chat.message(), (2, "two".into()));
    assert_eq!(chat.message(), (3, "three".into()));
    assert_eq!(chat.child.wait().unwrap().code(), Some(0));
    assert_eq!(world.json(ALICE, &["show", &id])["messageCount"], 3);
}

#[test]
fn a_line_that_is_being_typed_survives_what_comes_in() {
    let world = World::new();
    let id = world.general();
    world.channel(BOB, &["publish", &id, "before"]);
    let mut chat = Terminal::start(world.command(ALICE, &["chat", "general"]), Messages::Nowhere);
    chat.until("agent://bob    before");
    chat.until("general> ");
    world.until_followed(BOB, &id);
    chat.press("hel");
    chat.until("general> hel");
    world.channel(BOB, &["publish", &id, "in between"]);
    chat.until("agent://bob    in between\r\ngeneral> hel");
    chat.press("lo\r");
    chat.until("3  agent://alice  hello");
    chat.press("/reply 1 yes\r");
    chat.until("(to 1) yes");
    chat.press("/qiut\r");
    chat.until("did you mean \"/quit\"?");
    chat.until("general> /qiut");
    chat.press("\u{3}/who\r");
    chat.until("agent://alice  since");
    chat.press("/members\r");
    chat.until("agent://bob    member");
    chat.press("/quit\r");
    assert_eq!(chat.child.wait().unwrap().code(), Some(0));
    let modes = tcgetattr(&chat.inside).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO), "the terminal is as it was: {modes:?}");
    assert_eq!(world.json(ALICE, &["show", &id])["readCursor"]["unreadCount"], 0);
}

#[test]
fn what_was_not_shown_stays_unread() {
    let world = World::new();
    let id = world.general();
    let lines: String = (1..=25).map(|number| format!("line {number}\n")).collect();
    output_of(&mut world.command(BOB, &["chat", &id]), &lines);
    let unread = || world.json(ALICE, &["show", &id])["readCursor"]["unreadCount"].clone();
    let mut chat = Terminal::start(world.command(ALICE, &["chat", "general"]), Messages::Screen);
    chat.until("nothing is marked as read; --last 25 shows it");
    chat.until("line 25");
    world.until_followed(BOB, &id);
    world.channel(BOB, &["publish", &id, "a new one"]);
    chat.until("a new one");
    chat.press("/quit\r");
    assert_eq!(chat.child.wait().unwrap().code(), Some(0));
    assert_eq!(unread(), 26);
    let mut chat = Terminal::start(world.command(ALICE, &["chat", "general", "--last", "26"]), Messages::Screen);
    assert!(!chat.until("a new one").contains("nothing is marked"));
    chat.press("/quit\r");
    assert_eq!(chat.child.wait().unwrap().code(), Some(0));
    assert_eq!(unread(), 0);
}

#[test]
fn what_is_typed_is_seen_on_a_narrow_terminal() {
    let world = World::new();
    let name = "a channel with a long name";
    world.channel(ALICE, &["create", "--name", name]);
    // One column is the cursor's, and the last stays free.
    for (columns, line) in [(20, "a channe> is typed"), (10, "a c> ped"), (3, "d")] {
        let mut chat = Terminal::sized(world.command(ALICE, &["chat", name]), Messages::Nowhere, columns);
        chat.until("\u{1b}[K");
        chat.press("this is typed");
        chat.until(&format!("\r\u{1b}[K{line}\r"));
        chat.press("\u{3}\u{3}");
        assert_eq!(chat.child.wait().unwrap().code(), Some(0));
    }
}
