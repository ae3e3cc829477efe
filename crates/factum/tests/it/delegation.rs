//! Two servers, one of which gives tasks to the other: questions, artifacts and cancelling cross over, and killing either
//! of them at any point neither loses nor doubles anything.

use factum_testkit::{Client, Launch, Server, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{field, launch, launch_quick};

/// `north` does what `south` gives it.
struct Two {
    north: Server,
    south: Server,
    _dirs: [TempDir; 2],
}

async fn two() -> Two {
    two_where_north("").await
}

/// The same with more in north's configuration.
async fn two_where_north(has: &str) -> Two {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let north = launch_north(&dirs[0], has).start().await;
    let config = dirs[1].path().join("factum.toml");
    std::fs::write(&config, format!("[peers.north]\nurl = \"http://{}\"\n", north.address())).unwrap();
    let south = launch(&dirs[1]).arg("--config").arg(config.display().to_string()).start().await;
    Two { north, south, _dirs: dirs }
}

fn launch_north(dir: &TempDir, has: &str) -> Launch {
    let config = dir.path().join("factum.toml");
    std::fs::write(&config, has).unwrap();
    launch_quick(dir).arg("--config").arg(config.display().to_string())
}

/// The same, where north's card offers nothing but gRPC.
async fn two_over_grpc(has: &str) -> Two {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let north = launch_north(&dirs[0], has).start().await;
    let card = format!("http://{}/.well-known/agent-card.json", north.address());
    let mut card: Value = serde_json::from_str(&reqwest::get(card).await.unwrap().text().await.unwrap()).unwrap();
    let card = card.as_object_mut().unwrap();
    card["supportedInterfaces"].as_array_mut().unwrap().retain(|offer| offer["protocolBinding"] == "GRPC");
    card.retain(|name, _| ["name", "capabilities", "supportedInterfaces"].contains(&name.as_str()));
    assert_eq!(card["supportedInterfaces"].as_array().map(Vec::len), Some(1), "{card:?}");
    let card = Value::Object(card.clone()).to_string();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/card.json", listener.local_addr().unwrap());
    let router = axum::Router::new().route("/card.json", axum::routing::get(|| async move { card }));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let config = dirs[1].path().join("factum.toml");
    std::fs::write(&config, format!("[peers.north]\nurl = \"{url}\"\n")).unwrap();
    let south = launch(&dirs[1]).arg("--config").arg(config.display().to_string()).start().await;
    Two { north, south, _dirs: dirs }
}

/// Gives north a task.
async fn give(client: &dyn Client, objective: &str) -> Value {
    let task = json!({ "objective": objective, "peer": "north", "auto_complete": true, "status": "queued" });
    client.call("create_task", task).await.unwrap()
}

async fn get(client: &dyn Client, task: &Value) -> Value {
    client.call("get_task", json!({ "task_id": task["task_id"] })).await.unwrap()
}

/// Waits until the task stands like this.
async fn until(client: &dyn Client, task: &Value, status: &str) -> Value {
    let got = eventually(status, async || {
        let task = get(client, task).await;
        (task["status"] == status).then_some(task)
    });
    got.await
}

async fn tasks_of(client: &dyn Client) -> Vec<Value> {
    let page = client.call("list_tasks", json!({})).await.unwrap();
    page["tasks"].as_array().unwrap().clone()
}

/// What a task made, by name: what is whole at once is kept before what is streamed in pieces.
fn artifacts(task: &Value) -> Vec<String> {
    let mut names: Vec<String> = serde_json::from_value(task["artifacts"].clone()).unwrap();
    names.sort();
    names
}

#[tokio::test]
async fn what_the_other_made_is_ours() {
    let two = two().await;
    let south = two.south.http(None);
    let task = give(&south, "artifact: 1 2 3").await;
    let done = until(&south, &task, "completed").await;
    assert_eq!(done["attempts"][0]["worker"], "peer:north", "{done}");
    assert_eq!(artifacts(&done), ["artifact.txt", "response"], "what it said, and what it made: {done}");
    let theirs = tasks_of(&two.north.http(None)).await;
    assert_eq!(theirs.len(), 1);
    assert_ne!(theirs[0]["task_id"], task["task_id"], "each side has its own id");
}

#[tokio::test]
async fn over_grpc_it_is_the_same() {
    let mut two = two_over_grpc("").await;
    let south = two.south.http(None);
    let made = give(&south, "artifact: 1 2 3").await;
    let made = until(&south, &made, "completed").await;
    assert_eq!(artifacts(&made), ["artifact.txt", "response"], "{made}");

    let stopped = give(&south, "slow: to the moon and back").await;
    eventually("the peer to be at work", async || {
        get(&south, &stopped).await["native_status"].is_string().then_some(())
    })
    .await;
    south.call("cancel_task", json!({ "task_id": stopped["task_id"] })).await.unwrap();
    until(&south, &stopped, "cancelled").await;

    let slow = give(&south, "slow: one two three four five six seven eight nine ten").await;
    eventually("the peer to be at work", async || get(&south, &slow).await["native_status"].is_string().then_some(()))
        .await;
    two.south.kill_and_restart().await;
    two.north.kill_and_restart().await;
    let done = until(&two.south.http(None), &slow, "completed").await;
    assert_eq!(done["attempts"].as_array().map(Vec::len), Some(1), "{done}");
    assert_eq!(tasks_of(&two.north.http(None)).await.len(), 3, "each given once");
}

/// By the card of April 2025 nothing but its methods is spoken.
#[tokio::test]
async fn in_the_words_of_april_2025_it_is_the_same() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let north = launch_quick(&dirs[0]).start().await;
    let config = dirs[1].path().join("factum.toml");
    let url = format!("http://{}/.well-known/agent.json", north.address());
    std::fs::write(&config, format!("[peers.north]\nurl = \"{url}\"\n")).unwrap();
    let south = launch(&dirs[1]).arg("--config").arg(config.display().to_string()).start().await;
    let client = south.http(None);
    let made = give(&client, "artifact: 1 2 3").await;
    let made = until(&client, &made, "completed").await;
    assert_eq!(artifacts(&made), ["artifact.txt", "response"], "{made}");
    assert_eq!(made["native_status"], "completed", "{made}");
    let asked = give(&client, "ask: what is your name?").await;
    until(&client, &asked, "waiting_input").await;
    let page = json!({ "session_id": asked["session_id"], "limit": 1000 });
    let events = client.call("read_events", page).await.unwrap();
    let required = events["events"].as_array().unwrap().iter().find(|event| event["type"] == "action.required");
    let action_id = field(required.unwrap(), "action_id");
    let answer = json!({ "action_id": action_id, "decision": "answer", "payload": "Ada" });
    client.call("respond_action", answer).await.unwrap();
    until(&client, &asked, "completed").await;
    assert_eq!(tasks_of(&north.http(None)).await.len(), 2);
}

#[tokio::test]
async fn a_question_crosses_over_and_its_answer_comes_back() {
    let two = two().await;
    let south = two.south.http(None);
    let task = give(&south, "ask: what is your name?").await;
    until(&south, &task, "waiting_input").await;
    let page = json!({ "session_id": task["session_id"], "limit": 1000 });
    let events = south.call("read_events", page).await.unwrap();
    let required = events["events"].as_array().unwrap().iter().find(|event| event["type"] == "action.required");
    let action_id = field(required.unwrap(), "action_id");
    let answer = json!({ "action_id": action_id, "decision": "answer", "payload": "Ada" });
    south.call("respond_action", answer).await.unwrap();
    let done = until(&south, &task, "completed").await;
    assert_eq!(done["artifacts"], json!(["response"]), "{done}");
    let page = json!({ "session_id": task["session_id"], "limit": 1000 });
    let events = south.call("read_events", page).await.unwrap();
    // It is seen as it grows; the last of them is the whole.
    let made = events["events"].as_array().unwrap().iter().rfind(|event| event["type"] == "artifact.changed").unwrap();
    assert!(made["payload"]["content"]["preview"].to_string().contains("Ada"), "{made}");
    let events = events["events"].as_array().unwrap();
    let updates = events.iter().filter(|event| event["type"] == "channel.peer_task.updated");
    let states: Vec<&str> = updates.filter_map(|event| event["payload"]["recovery"].as_str()).collect();
    let waited = states.iter().filter(|state| **state == "waiting_input").count();
    assert_eq!(waited, 1, "how it stood before the answer is not told again behind it: {states:?}");
}

#[tokio::test]
async fn either_may_die_and_the_task_is_done_once() {
    let mut two = two().await;
    let task = give(&two.south.http(None), "slow: one two three four five six seven eight nine ten").await;
    let running = |task: &Value| task["native_status"].is_string();
    let south = two.south.http(None);
    eventually("the peer to be at work", async || running(&get(&south, &task).await).then_some(())).await;
    two.south.kill_and_restart().await;
    two.north.kill_and_restart().await;
    two.south.kill_and_restart().await;
    let done = until(&two.south.http(None), &task, "completed").await;
    assert_eq!(done["attempts"].as_array().map(Vec::len), Some(1), "{done}");
    assert_eq!(tasks_of(&two.north.http(None)).await.len(), 1, "given once");
}

#[tokio::test]
async fn cancelling_here_stops_the_work_there() {
    let two = two().await;
    let south = two.south.http(None);
    let task = give(&south, "slow: to the moon and back").await;
    eventually("the peer to be at work", async || get(&south, &task).await["native_status"].is_string().then_some(()))
        .await;
    south.call("cancel_task", json!({ "task_id": task["task_id"] })).await.unwrap();
    until(&south, &task, "cancelled").await;
    let north = two.north.http(None);
    eventually("the other to stop", async || (tasks_of(&north).await[0]["status"] == "cancelled").then_some(())).await;
}

#[tokio::test]
async fn a_script_gives_work_away_in_the_middle_of_a_turn() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let north = launch_quick(&dirs[0]).start().await;
    let config = dirs[1].path().join("factum.toml");
    std::fs::write(&config, format!("[peers.north]\nurl = \"http://{}\"\n", north.address())).unwrap();
    let script = dirs[1].path().join("boss.toml");
    let boss = "name = \"boss\"\n[[on]]\nany = true\nsteps = [{ delegate = { peer = \"north\", message = \"{input}\", save = \"x\" } }, { say = \"north says: {x}\" }]\n";
    std::fs::write(&script, boss).unwrap();
    let south = launch(&dirs[1]).arg("--config").arg(config.display().to_string());
    let south = south.arg("--script").arg(script.display().to_string()).start().await;
    let client = south.http(None);
    let input = json!({ "agent": "boss", "input": [{ "type": "text", "text": "hello" }] });
    let turn = client.call("submit_turn", input).await.unwrap();
    let read = json!({ "session_id": turn["session_id"], "thread_id": turn["thread_id"] });
    let outcome = eventually("the turn to end", async || {
        let thread = client.call("get_thread_read", read.clone()).await.unwrap();
        (thread["status"] == "completed").then(|| thread["last_outcome"].clone())
    });
    assert_eq!(outcome.await["preview"], "north says: hello");
}

/// Nobody listens where the card said, and then nobody wants it any more: it is not done when the peer is back.
#[tokio::test]
async fn work_that_was_cancelled_while_the_other_was_away_is_not_done() {
    for restarted in [false, true] {
        let mut two = two().await;
        let south = two.south.http(None);
        // South knows the card by this one.
        let first = give(&south, "artifact: 1 2 3").await;
        until(&south, &first, "completed").await;
        two.north.kill().await;
        let task = give(&south, "artifact: 4 5 6").await;
        eventually("south to find nobody", async || {
            let page = json!({ "session_id": task["session_id"], "limit": 1000 });
            let events = south.call("read_events", page).await.unwrap();
            events.to_string().contains("network_unavailable").then_some(())
        })
        .await;
        south.call("cancel_task", json!({ "task_id": task["task_id"] })).await.unwrap();
        if restarted {
            two.south.kill_and_restart().await;
        }
        two.north.restart().await;
        until(&two.south.http(None), &task, "cancelled").await;
        assert_eq!(tasks_of(&two.north.http(None)).await.len(), 1, "restarted: {restarted}");
    }
}

/// Whoever requires our own extension answers those who name it.
#[tokio::test]
async fn a_peer_that_requires_the_messaging_extension_is_asked_by_its_rules() {
    let has = format!("[a2a]\nrequired_extensions = [\"{}\"]\n", factum_a2a::MESSAGING_URI);
    for two in [two_where_north(&has).await, two_over_grpc(&has).await] {
        let south = two.south.http(None);
        let task = give(&south, "artifact: 1 2 3").await;
        let done = until(&south, &task, "completed").await;
        assert_eq!(artifacts(&done), ["artifact.txt", "response"], "{done}");
    }
}
