//! What a peer says of another task is not taken for ours, and what it calls things has bounds.

use super::*;

fn other() -> Value {
    json!({ "id": "r2", "contextId": "c2", "status": { "state": "TASK_STATE_COMPLETED" },
        "artifacts": [{ "artifactId": "secret", "parts": [{ "text": "not yours" }] }] })
}

#[tokio::test]
async fn another_task_than_the_one_asked_for_is_no_answer() {
    let (_, peers) = start(|_, _| Says::Result(other()), json!([])).await;
    for answered in [peers.look("north", &remote()).await, peers.cancel("north", &remote()).await] {
        assert!(matches!(answered, Err(Trouble::Malformed { .. })), "{answered:?}");
    }
    let (_, peers) = start_april(|_, _| Says::Result(json!({ "id": "r2", "status": { "state": "working" } }))).await;
    let found = peers.find("north", &errand()).await;
    assert!(matches!(found, Ok(Found::Unknown { .. })), "{found:?}");
}

#[tokio::test]
async fn what_a_stream_tells_of_other_tasks_is_passed_over() {
    fn script(_: &str, _: &Value) -> Says {
        let artifact = json!({ "artifactId": "secret", "parts": [{ "text": "not yours" }] });
        let status = |task: &str, state: &str| json!({ "statusUpdate": { "taskId": task, "contextId": "c1", "status": { "state": state } } });
        Says::Stream(vec![
            json!({ "task": other() }),
            json!({ "task": task("TASK_STATE_SUBMITTED") }),
            json!({ "artifactUpdate": { "taskId": "r2", "contextId": "c2", "artifact": artifact } }),
            status("r2", "TASK_STATE_COMPLETED"),
            status("r1", "TASK_STATE_WORKING"),
        ])
    }
    let (_, peers) = start(script, json!([])).await;
    let mut stream = peers.follow("north", &remote(), None).await.unwrap().unwrap();
    let mut seen = Vec::new();
    while let Some(view) = stream.next().await.unwrap() {
        seen.push((view.remote.task_id, view.native_status, view.artifacts.len()));
    }
    let ours = |state: &str| ("r1".to_owned(), state.to_owned(), 0);
    assert_eq!(seen, [ours("TASK_STATE_SUBMITTED"), ours("TASK_STATE_WORKING")]);
    assert_eq!(stream.position().as_deref(), Some("5"), "what is passed over is behind us all the same");
}

/// Ids stand in every fact about a task. One that is no id makes the answer none.
#[tokio::test]
async fn ids_have_bounds() {
    fn script(_: &str, params: &Value) -> Says {
        let bytes = params["message"]["parts"][0]["text"].as_str().unwrap().split_once(' ').unwrap();
        let long = "x".repeat(bytes.1.parse().unwrap());
        let mut task = task("TASK_STATE_WORKING");
        task["artifacts"] = json!([{ "artifactId": "a1", "parts": [{ "text": "1" }] }]);
        match bytes.0 {
            "artifact" => task["artifacts"][0]["artifactId"] = json!(long),
            field => task[field] = json!(long),
        }
        Says::Result(json!({ "task": task }))
    }
    let (_, peers) = start(script, json!([])).await;
    for (field, bytes, taken) in [
        ("id", 256, true),
        ("id", 257, false),
        ("id", 0, false),
        ("contextId", 256, true),
        ("contextId", 3_000_000, false),
        ("artifact", 256, true),
        ("artifact", 257, false),
    ] {
        let given = peers.give("north", &Errand { text: format!("{field} {bytes}"), ..errand() }).await;
        let malformed = matches!(given, Err(Trouble::Malformed { may_have_arrived: true, .. }));
        assert_eq!((given.is_ok(), malformed), (taken, !taken), "{field} of {bytes} bytes");
    }
}

/// An address is a reference; one as long as content is kept as content.
#[tokio::test]
async fn a_long_address_is_content() {
    fn script(_: &str, params: &Value) -> Says {
        let url = "u".repeat(if params["id"] == "long" { 2_049 } else { 2_048 });
        let mut task = called(params, task("TASK_STATE_COMPLETED"));
        task["artifacts"] = json!([{ "artifactId": "a1", "parts": [{ "url": url, "mediaType": "text/plain" }] }]);
        Says::Result(task)
    }
    let (_, peers) = start(script, json!([])).await;
    let look = async |id: &str| {
        let remote = Remote { task_id: id.to_owned(), context_id: None };
        peers.look("north", &remote).await.unwrap().artifacts.remove(0).content
    };
    assert!(matches!(look("short").await, ArtifactContent::Link { url, .. } if url.len() == 2_048));
    let ArtifactContent::Bytes { media_type, bytes } = look("long").await else { panic!("a link") };
    let kept: Value = serde_json::from_slice(&bytes).unwrap();
    let said = (media_type.as_str(), kept["url"].as_str().map(str::len), &kept["mediaType"]);
    assert_eq!(said, ("application/json", Some(2_049), &json!("text/plain")));
}
