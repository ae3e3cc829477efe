//! What the README promises, walked through: hello, an approval, a question and a queue that outlive `kill -9`, and an
//! answer that is carried on.

use factum_testkit::{Client, Reader, run};
use serde_json::json;

use crate::support::*;

#[tokio::test]
async fn hello_is_streamed_back() {
    let (dir, mut server) = dev().await;
    let session = submit(&server.http(None), "hello").await;
    let reader = completed(&server, &session).await;
    let kinds = reader.kinds();
    let at =
        |kind: &str| kinds.iter().position(|found| *found == kind).unwrap_or_else(|| panic!("{kind} in {kinds:?}"));
    assert!(at("turn.submitted") < at("turn.started") && at("turn.started") < at("model.delta"));
    assert!(at("model.delta") < at("turn.completed"));
    assert_eq!(streamed(&reader), "hello");
    server.term().await;
    let data = dir.path().join("data");
    let verified = run(BINARY, ["verify", "--data-dir", data.to_str().unwrap()]).await;
    assert_eq!((verified.code, verified.stdout.lines().last()), (Some(0), Some("sound")), "{verified:?}");
}

#[tokio::test]
async fn an_approval_outlives_a_crash_and_is_never_assumed() {
    let (_dir, mut server) = dev().await;
    let session = submit(&server.http(None), "approve: deploy").await;
    let mut reader = Reader::session(&server.http(None), &session, None).await;
    let action = reader.wait_for("action.required").await;
    server.kill_and_restart().await;

    let http = server.http(None);
    let thread = http.call("get_thread_read", json!({ "session_id": session })).await.unwrap();
    assert_eq!(thread["status"], "waiting_permission");
    assert_eq!(thread["pending_actions"][0]["action_id"], action.data["action_id"]);
    let answer = json!({ "action_id": action.data["action_id"], "decision": "allow" });
    http.call("respond_action", answer).await.unwrap();

    let mut rest = Reader::session(&http, &session, reader.last_id().as_deref()).await;
    rest.wait_for("turn.completed").await;
    assert_eq!(rest.seen[0].sequence(), action.sequence() + 1);
    assert_eq!(rest.kinds().iter().filter(|kind| **kind == "action.resolved").count(), 1);
    assert_eq!(streamed(&rest), "Allowed. The tool did: deploy");
    assert_contiguous(&all_events(&http, &session).await);
}

#[tokio::test]
async fn a_question_outlives_a_crash() {
    let (_dir, mut server) = dev().await;
    let session = submit(&server.http(None), "ask: what colour?").await;
    let action = wait_for(&server.http(None), &session, "action.required", 1).await;
    assert_eq!(action["payload"]["prompt"], "what colour?");
    server.kill_and_restart().await;
    let http = server.http(None);
    let answer = json!({ "action_id": action["action_id"], "decision": "answer", "payload": { "text": "blue" } });
    http.call("respond_action", answer).await.unwrap();
    assert_eq!(streamed(&completed(&server, &session).await), "You said: blue");
}

#[tokio::test]
async fn a_queue_outlives_a_crash_in_its_order() {
    let (_dir, mut server) = dev().await;
    let http = server.http(None);
    let first = http.call("submit_turn", json!({ "agent": "waiting", "input": text("work") })).await.unwrap();
    let session = field(&first, "session_id");
    for name in ["a", "b", "c"] {
        let turn = json!({ "session_id": session, "turn_id": name, "agent": "demo", "input": text(name) });
        assert_eq!(http.call("submit_turn", turn).await.unwrap()["status"], "queued");
    }
    http.call("promote_queued_turn", json!({ "session_id": session, "turn_id": "c" })).await.unwrap();
    server.kill_and_restart().await;
    let http = server.http(None);
    let queue = http.call("get_queue", json!({ "session_id": session })).await.unwrap();
    let order: Vec<&str> =
        queue["queued_turns"].as_array().unwrap().iter().map(|turn| turn["turn_id"].as_str().unwrap()).collect();
    assert_eq!((order, &queue["active_turn_id"]), (vec!["c", "a", "b"], &first["turn_id"]));
    http.call("interrupt_turn", json!({ "session_id": session })).await.unwrap();
    wait_for(&http, &session, "turn.completed", 3).await;
    let events = all_events(&http, &session).await;
    let done: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "turn.completed")
        .map(|event| event["turn_id"].as_str().unwrap())
        .collect();
    assert_eq!(done, ["c", "a", "b"]);
    assert_contiguous(&events);
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_given_again_and_ends() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = launch_quick(&dir).start().await;
    let said = "a story of some length, told slowly";
    let turn = json!({ "agent": "quick", "input": text(&format!("slow: {said}")) });
    let session = field(&server.http(None).call("submit_turn", turn).await.unwrap(), "session_id");
    let mut reader = Reader::session(&server.http(None), &session, None).await;
    for _ in 0..3 {
        reader.wait_for("model.delta").await;
    }
    server.kill_and_restart().await;
    let mut rest = Reader::session(&server.http(None), &session, reader.last_id().as_deref()).await;
    let cut = rest.wait_for("model.failed").await;
    assert_eq!(
        (&cut.data["payload"]["will_retry"], &cut.data["payload"]["error"]["category"]),
        (&json!(true), &json!("interrupted"))
    );
    let behind = rest.seen.len();
    rest.wait_for("turn.completed").await;
    let again: String = rest.seen[behind..]
        .iter()
        .filter_map(|event| event.data["payload"]["text"].as_str().filter(|_| event.kind() == "model.delta"))
        .collect();
    assert_eq!(again, said);
    assert_contiguous(&all_events(&server.http(None), &session).await);
}

#[tokio::test]
async fn a_call_that_may_happen_once_is_lost_in_a_crash_and_a_person_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = launch_quick(&dir).start().await;
    let turn = json!({ "agent": "quick", "input": text("once: now") });
    let session = field(&server.http(None).call("submit_turn", turn).await.unwrap(), "session_id");
    let running = |event: &factum_testkit::Event| event.kind() == "tool.progress" || event.kind() == "tool.started";
    let mut reader = Reader::session(&server.http(None), &session, None).await;
    reader.wait_for("tool.started").await;
    assert!(reader.seen.iter().any(running));
    let thread = factum_testkit::eventually("a running call", async || {
        let thread = server.http(None).call("get_thread_read", json!({ "session_id": session })).await.unwrap();
        Some(thread).filter(|thread| thread["active_turn"]["tool_calls"][0]["status"] == "running")
    });
    thread.await;
    server.kill_and_restart().await;
    let http = server.http(None);
    let action = wait_for(&http, &session, "action.required", 1).await;
    assert_eq!(action["payload"]["action_type"], "review", "{action}");
    http.call("respond_action", json!({ "action_id": action["action_id"], "decision": "skip" })).await.unwrap();
    assert_eq!(streamed(&completed(&server, &session).await), "The launch lost.");
}
