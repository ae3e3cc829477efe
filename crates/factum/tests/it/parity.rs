//! Every transport gives the same answers: one suite of calls over each, and the transcripts compared whole with that of a
//! runtime in this process.

use factum_runtime::Agents;
use factum_testkit::clients::{Local, Stdio};
use factum_testkit::{Client, Server};
use serde_json::Value;

use crate::suite::transcript;
use crate::support::{BINARY, dev};

/// The suite over a client, against the suite on a store in memory.
async fn check(client: &dyn Client) {
    let dir = tempfile::tempdir().unwrap();
    let reference = Local::in_memory(Agents::demo(), dir.path()).await;
    let (expected, found) = tokio::join!(transcript(&reference), transcript(client));
    assert_eq!(expected.len(), found.len());
    for (expected, found) in expected.iter().zip(&found) {
        assert!(expected == found, "over {}: {}", client.name(), first_difference(expected, found));
    }
}

/// The first line in which two entries differ, with what stands before it: entries are long.
fn first_difference(expected: &Value, found: &Value) -> String {
    let [expected, found] = [expected, found].map(|entry| serde_json::to_string_pretty(entry).unwrap());
    let lines: Vec<(&str, &str)> = expected.lines().zip(found.lines()).collect();
    let at = lines.iter().position(|(expected, found)| expected != found).unwrap_or(lines.len() - 1);
    let before: Vec<&str> = lines[at.saturating_sub(40)..at].iter().map(|(line, _)| *line).collect();
    let (expected, found) = lines[at];
    format!("{}\n--- in process\n{expected}\n--- here\n{found}", before.join("\n"))
}

async fn over<C: Client>(open: impl AsyncFnOnce(&Server) -> C) {
    let (_dir, mut server) = dev().await;
    let client = open(&server).await;
    check(&client).await;
    drop(client);
    server.term().await;
}

#[tokio::test]
async fn plain_http() {
    over(async |server| server.http(None)).await;
}

#[tokio::test]
async fn json_rpc_over_http() {
    over(async |server| server.rpc(None)).await;
}

#[tokio::test]
async fn json_rpc_over_websocket() {
    over(async |server| server.ws(None).await).await;
}

#[tokio::test]
async fn grpc() {
    over(async |server| server.grpc(None)).await;
}

#[tokio::test]
async fn stdio_of_a_runtime_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let client = Stdio::spawn(BINARY, &["--data-dir", dir.path().join("data").to_str().unwrap()], &[]);
    check(&client).await;
    assert_eq!(client.end().await, Some(0));
}

#[tokio::test]
async fn stdio_of_a_server() {
    over(async |server| Stdio::spawn(BINARY, &["--url", &server.url("")], &[])).await;
}

#[tokio::test]
async fn in_process_on_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let client = Local::embedded(Agents::demo(), dir.path()).await;
    check(&client).await;
    client.runtime().close().await;
}
