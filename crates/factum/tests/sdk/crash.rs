//! A running task survives kill -9 of the server, and so does the client that follows it.

use std::process::Stdio;

use factum_testkit::{Launch, within};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use crate::support::*;

/// The client streams, the server is killed and started again, the client subscribes again and compares.
async fn goes_on_behind_the_crash(binding: &str) {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Launch::dev(BINARY, dir.path().join("data")).start().await;
    let mut command = PYTHON_1.script("python_crash.py");
    command.args([server.url("").as_str(), binding]);
    let mut client = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stderr) = (client.stdin.take().unwrap(), client.stderr.take().unwrap());
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
    let line = within("the first events", lines.next_line()).await.unwrap();
    if line.as_deref() == Some("cut") {
        server.kill_and_restart().await;
        stdin.write_all(b"go on\n").await.unwrap();
    }
    let status = within("the client", client.wait()).await.unwrap();
    let mut complained = String::new();
    stderr.read_to_string(&mut complained).await.unwrap();
    assert!(status.success(), "{line:?}\n{complained}\nthe server: {}", server.stderr());
}

#[tokio::test]
async fn over_json_rpc() {
    goes_on_behind_the_crash("JSONRPC").await;
}

#[tokio::test]
async fn over_http_json() {
    goes_on_behind_the_crash("HTTP+JSON").await;
}

#[tokio::test]
async fn over_grpc() {
    goes_on_behind_the_crash("GRPC").await;
}
