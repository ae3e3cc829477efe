//! `examples/worker.py` does what it says.

use std::path::Path;
use std::process::Stdio;

use factum_testkit::{Client, within};
use serde_json::json;
use tokio::process::Command;

use crate::support::*;

#[tokio::test]
async fn the_example_in_python_does_tasks_and_fails_those_it_cannot() {
    let (_dir, server) = dev().await;
    let client = server.http(None);
    let task = async |objective: &str| {
        let params = json!({ "objective": objective, "queue": "words", "status": "queued", "auto_complete": true });
        client.call("create_task", params).await.unwrap()
    };
    let first = task("count these four words").await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/worker.py");
    let mut worker = Command::new("python3")
        .arg(script)
        .args([server.url("").trim_end_matches('/'), "--queue", "words", "--runs", "3"])
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("python3 is there; cargo xtask test says so where it is not");
    wait_for(&client, &field(&first, "session_id"), "task.completed", 1).await;
    // These come while the worker waits.
    let second = task("this one has to fail here").await;
    let third = task("two words").await;
    let status = within("the worker", worker.wait()).await.unwrap();
    let mut said = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut worker.stderr.take().unwrap(), &mut said).await.unwrap();
    assert!(status.success() && said.is_empty(), "{status} {said}");

    let events = all_events(&client, &field(&first, "session_id")).await;
    assert_eq!(events.iter().filter(|event| event["type"] == "task.progress").count(), 4);
    let ended = events.iter().find(|event| event["type"] == "task.attempt.completed").unwrap();
    assert_eq!(ended["payload"]["completion_summary"], "4 words", "{ended}");
    wait_for(&client, &field(&second, "session_id"), "task.failed", 1).await;
    wait_for(&client, &field(&third, "session_id"), "task.completed", 1).await;
}
