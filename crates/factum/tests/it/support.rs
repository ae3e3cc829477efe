//! What several topics need: a server on a directory of its own, and turns on it.

use factum_testkit::{Client, Launch, Reader, Server, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_factum");

/// An agent whose answers take about as long as a test wants to wait.
const QUICK: &str = r#"
name = "quick"
description = "The demo agent's slow answer, in a second or so."

[[on]]
starts_with = "slow:"
steps = [{ say = "{rest}", chunk = "chars", delay_ms = 15 }]

[[on]]
starts_with = "once:"
steps = [
  { tool = { name = "launch", effect = "once", duration_ms = 600000, save = "launch" } },
  { say = "The launch {launch.outcome}." },
]

[[on]]
any = true
steps = [{ say = "{input}" }]
"#;

/// `factum dev` on a fresh directory.
pub(crate) async fn dev() -> (TempDir, Server) {
    let dir = tempfile::tempdir().unwrap();
    let server = launch(&dir).start().await;
    (dir, server)
}

pub(crate) fn launch(dir: &TempDir) -> Launch {
    Launch::dev(BINARY, dir.path().join("data"))
}

/// The same with the agent `quick` beside the demo agents.
pub(crate) fn launch_quick(dir: &TempDir) -> Launch {
    let path = dir.path().join("quick.toml");
    std::fs::write(&path, QUICK).unwrap();
    launch(dir).arg("--script").arg(path.display().to_string())
}

pub(crate) fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

/// A member of an answer that is a text.
pub(crate) fn field(answer: &Value, name: &str) -> String {
    answer[name].as_str().unwrap_or_else(|| panic!("no {name} in {answer}")).to_owned()
}

/// Submits to a new session; gives the session's id.
pub(crate) async fn submit(client: &dyn Client, input: &str) -> String {
    let answer = client.call("submit_turn", json!({ "input": text(input) })).await.unwrap();
    field(&answer, "session_id")
}

/// All events of a session, read in pages.
pub(crate) async fn all_events(client: &dyn Client, session_id: &str) -> Vec<Value> {
    let (mut events, mut after) = (Vec::new(), 0);
    loop {
        let params = json!({ "session_id": session_id, "after": after, "limit": 1000 });
        let page = client.call("read_events", params).await.unwrap();
        events.extend(page["events"].as_array().unwrap().iter().cloned());
        after = page["next_after"].as_u64().unwrap();
        if page["has_more"] == false {
            return events;
        }
    }
}

/// Looks until a session has so many events of a type.
pub(crate) async fn wait_for(client: &dyn Client, session_id: &str, kind: &str, count: usize) -> Value {
    eventually(&format!("{kind} number {count} over {}", client.name()), async || {
        let events = all_events(client, session_id).await;
        events.into_iter().filter(|event| event["type"] == kind).nth(count - 1)
    })
    .await
}

/// The whole stream of a session up to the end of its turn.
pub(crate) async fn completed(server: &Server, session_id: &str) -> Reader {
    let mut reader = Reader::session(&server.http(None), session_id, None).await;
    reader.wait_for("turn.completed").await;
    reader
}

/// The texts that a reader was streamed, put together.
pub(crate) fn streamed(reader: &Reader) -> String {
    let deltas = reader.seen.iter().filter(|event| event.kind() == "model.delta");
    deltas.map(|event| event.data["payload"]["text"].as_str().unwrap_or_default()).collect()
}

/// The sequences 1, 2, 3, … that a whole stream has.
pub(crate) fn assert_contiguous(events: &[Value]) {
    let sequences: Vec<u64> = events.iter().map(|event| event["sequence"].as_u64().unwrap()).collect();
    assert_eq!(sequences, (1..=events.len() as u64).collect::<Vec<_>>());
}
