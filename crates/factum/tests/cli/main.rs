//! The real binary, as a person or a supervisor meets it.

#![allow(clippy::disallowed_methods, reason = "the tests start processes and damage files on purpose")]
#![allow(clippy::unwrap_used)]

mod channel;
mod chat;
mod job;
mod subagent;
mod support;
mod task;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use support::{Server, check, check_error, factum, json, output_of};

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let dir = tempfile::tempdir().unwrap();
    let help = check(dir.path(), &["--help"], 0);
    for word in [
        "dev",
        "serve",
        "call",
        "tail",
        "channel",
        "task",
        "job",
        "subagent",
        "stdio",
        "key",
        "verify",
        "repair",
        "doctor",
        "completions",
        "Exit codes",
    ] {
        assert!(help.contains(word), "{word}\n{help}");
    }
    assert!(!help.contains("bench"), "{help}");
    assert!(check(dir.path(), &["--version"], 0).starts_with("factum "));
    check(dir.path(), &["nonsense"], 2);
}

#[test]
fn completions_are_made_for_every_shell() {
    let dir = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(check(dir.path(), &["completions", shell], 0).contains("factum"), "{shell}");
    }
}

#[test]
fn commands_are_listed_and_slips_are_recognised() {
    let dir = tempfile::tempdir().unwrap();
    let list = check(dir.path(), &["call", "--list"], 0);
    assert!(list.contains("submit_turn") && list.contains("Submit input to an agent."), "{list}");
    let rows = json(&check(dir.path(), &["call", "--list", "-o", "json"], 0));
    assert_eq!(rows[0]["name"], "submit_turn");
    let error = check_error(dir.path(), &["call", "sumbit_turn"], 2);
    assert!(error.contains("did you mean \"submit_turn\"?"), "{error}");
    let error = check_error(dir.path(), &["call", "list_sessions", "--url", "http://127.0.0.1:1"], 3);
    assert!(error.contains("no answer from http://127.0.0.1:1/") && error.contains("try:"), "{error}");
}

#[test]
fn doctor_looks_at_a_directory_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let checks =
        json(&check(dir.path(), &["doctor", "--data-dir", "data", "--listen", "127.0.0.1:0", "-o", "json"], 0));
    let names: Vec<&str> = checks.as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"sync latency") && names.contains(&"store"), "{names:?}");
    assert_eq!(std::fs::read_dir(data).unwrap().count(), 0);
}

#[test]
fn keys_are_issued_listed_and_revoked_offline_and_the_store_stays_sound() {
    let dir = tempfile::tempdir().unwrap();
    check(dir.path(), &["verify", "--data-dir", "data"], 2);
    let key = check(dir.path(), &["key", "create", "--data-dir", "data", "--principal", "user://me", "--admin"], 0);
    assert!(key.starts_with("fct_") && key.lines().count() == 1, "{key}");
    let list = json(&check(dir.path(), &["key", "list", "--data-dir", "data", "-o", "json"], 0));
    assert_eq!((list[0]["principal"].as_str(), list[0]["revoked"].as_bool()), (Some("user://me"), Some(false)));
    let id = list[0]["key_id"].as_str().unwrap();
    let acme = ["key", "create", "--data-dir", "data", "--account", "acme", "--principal", "user://them"];
    check(dir.path(), &acme, 0);
    let keys = |more: &[&str]| {
        let list = json(&check(dir.path(), &[&["key", "list", "--data-dir", "data", "-o", "json"], more].concat(), 0));
        let told = |key: &serde_json::Value| format!("{} {}", key["account"], key["principal"]).replace('"', "");
        list.as_array().unwrap().iter().map(told).collect::<Vec<_>>()
    };
    assert_eq!(keys(&[]), ["acme user://them", "default user://me"], "all accounts");
    assert_eq!(keys(&["--account", "acme"]), ["acme user://them"]);
    let text = check(dir.path(), &["key", "list", "--data-dir", "data"], 0);
    assert!(text.lines().any(|line| line.contains("acme") && line.contains("user://them")), "{text}");
    check(dir.path(), &["key", "revoke", "--data-dir", "data", id], 0);
    assert!(check(dir.path(), &["key", "list", "--data-dir", "data"], 0).contains("revoked"));
    check(dir.path(), &["key", "revoke", "--data-dir", "data", "key_nobody"], 1);
    let report = json(&check(dir.path(), &["verify", "--data-dir", "data", "-o", "json"], 0));
    assert_eq!((report["sound"].as_bool(), report["facts"]["not_folded_commits"].as_u64()), (Some(true), Some(0)));
    assert!(
        check(dir.path(), &["repair", "--truncate-tail", "--dry-run", "--data-dir", "data"], 0)
            .contains("nothing to repair")
    );
}

#[test]
fn a_flipped_byte_is_found() {
    let dir = tempfile::tempdir().unwrap();
    check(dir.path(), &["key", "create", "--data-dir", "data", "--principal", "user://me"], 0);
    let log = dir.path().join("data/log");
    let segment = std::fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path()).min().unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = bytes.windows(15).position(|window| window == b"runtime.started").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let found = check(dir.path(), &["verify", "--data-dir", "data"], 1);
    assert!(found.contains("found") && found.contains("flipped"), "{found}");
}

#[test]
fn serving_needs_a_directory_and_credentials_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let error = check_error(dir.path(), &["serve"], 2);
    assert!(error.contains("needs to be told where its data is"), "{error}");
    let error = check_error(dir.path(), &["serve", "--data-dir", "data"], 2);
    assert!(error.contains("nobody could use this server") && error.contains("factum key create"), "{error}");
    let error = check_error(dir.path(), &["dev", "--listen", "0.0.0.0:0"], 2);
    assert!(error.contains("only listens on loopback"), "{error}");
    let error = check_error(dir.path(), &["serve", "--config", "nowhere.toml"], 2);
    assert!(error.contains("nowhere.toml cannot be read"), "{error}");
}

#[test]
fn a_server_is_called_tailed_bridged_and_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &["dev", "--listen", "127.0.0.1:0"]);
    let url = server.url.as_str();
    let turn = json(&check(dir.path(), &["call", "submit_turn", "text=hello there", "--url", url], 0));
    let session = turn["session_id"].as_str().unwrap();
    assert_eq!(tail_until(dir.path(), url, session, "turn.completed"), contiguous(dir.path(), url, session));

    let error = check_error(dir.path(), &["call", "get_session", "session_id=sess_nobody", "--url", url], 1);
    assert!(error.contains("not_found"), "{error}");
    let error = check_error(dir.path(), &["key", "create", "--principal", "user://me"], 2);
    assert!(error.contains("in use by a server") && error.contains("--url"), "{error}");
    let key = check(dir.path(), &["key", "create", "--principal", "user://me", "--url", url], 0);
    assert!(key.starts_with("fct_"), "{key}");

    let request = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"list_sessions\",\"params\":{}}\n";
    let answer = json(&output_of(factum(dir.path()).args(["stdio", "--url", url]), request));
    assert_eq!((&answer["id"], &answer["result"]["sessions"][0]["session_id"]), (&7.into(), &session.into()));
    assert_eq!(server.stop(), Some(0));

    let report = json(&check(dir.path(), &["verify", "-o", "json"], 0));
    assert_eq!((report["sound"].as_bool(), report["facts"]["sessions"].as_u64()), (Some(true), Some(1)));
}

/// The sequences that a live tail shows up to an event of this type.
fn tail_until(dir: &Path, url: &str, session: &str, kind: &str) -> Vec<u64> {
    let mut child =
        factum(dir).args(["tail", session, "--url", url, "-o", "jsonl"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut sequences = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event = json(&line.unwrap());
        sequences.push(event["sequence"].as_u64().unwrap());
        if event["type"] == kind {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    sequences
}

/// The sequences that are there, which have to be 1, 2, 3, …
fn contiguous(dir: &Path, url: &str, session: &str) -> Vec<u64> {
    let lines = check(dir, &["tail", session, "--no-follow", "--url", url, "-o", "jsonl"], 0);
    let sequences: Vec<u64> = lines.lines().map(|line| json(line)["sequence"].as_u64().unwrap()).collect();
    assert_eq!(sequences, (1..=sequences.len() as u64).collect::<Vec<_>>());
    sequences
}

#[test]
fn a_runtime_answers_over_stdio() {
    let dir = tempfile::tempdir().unwrap();
    let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"create_session\",\"params\":{}}\n";
    let answer = json(&output_of(factum(dir.path()).args(["stdio", "--data-dir", "data"]), request));
    assert!(answer["result"]["session_id"].as_str().unwrap().starts_with("sess_"), "{answer}");
}

#[test]
fn an_empty_token_in_the_environment_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &["dev", "--listen", "127.0.0.1:0"]);
    let mut command = factum(dir.path());
    let output =
        command.env("FACTUM_TOKEN", "").args(["call", "list_sessions", "--url", &server.url]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_production_server_lets_in_whoever_has_a_key_and_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let key = check(dir.path(), &["key", "create", "--data-dir", "data", "--principal", "user://me"], 0);
    let server = Server::start(dir.path(), &["serve", "--data-dir", "data", "--listen", "127.0.0.1:0"]);
    let url = server.url.as_str();
    let error = check_error(dir.path(), &["call", "list_sessions", "--url", url], 1);
    assert!(error.contains("unauthenticated") && error.contains("FACTUM_TOKEN"), "{error}");
    let mine = json(&check(dir.path(), &["call", "list_sessions", "--url", url, "--token", key.trim()], 0));
    assert_eq!(mine["sessions"], serde_json::json!([]));
    assert_eq!(server.stop(), Some(0));
}

/// A batch is done by an agent or by workers here; only a single task can be given to a peer.
#[test]
fn a_job_has_no_peer_to_do_it() {
    let dir = tempfile::tempdir().unwrap();
    let help = check(dir.path(), &["job", "create", "--help"], 0);
    assert!(help.contains("--queue") && !help.contains("--peer"), "{help}");
    assert!(check(dir.path(), &["task", "create", "--help"], 0).contains("--peer"));
}
