//! How large what is said of a task may be: each bound by its name, and all of them together.

use factum_model::ErrorCode;
use factum_model::task::TaskStatus::*;
use factum_model::value::Failure;
use serde_json::{Value, json};

use super::board::Board;

/// What the store takes as one row.
const ROW_BYTES_MAX: usize = 1 << 20;

fn name() -> String {
    "🦀".repeat(256)
}

fn text() -> String {
    "🦀".repeat(4_000)
}

fn refs() -> Vec<String> {
    (0..64).map(|number| format!("{number:0512}")).collect()
}

fn error() -> Value {
    json!({ "category": "x".repeat(256), "message": text(), "advice": text() })
}

/// A task with as much as it may have, in the hands of a worker.
fn full() -> (Board, u64) {
    let mut board = Board::new();
    let value = "x".repeat((16 << 10) - 2);
    let criterion = json!({ "criterion_id": "c", "description": "x".repeat((64 << 10) - 100), "state": "met" });
    let params = json!({
        "title": "🦀".repeat(256),
        "objective": "🦀".repeat(16_000),
        "owner": name(),
        "assignee": name(),
        "task_kind": name(),
        "task_family": name(),
        "queue": "q",
        "scope": value,
        "constraints": value,
        "metadata": { "x": "x".repeat((16 << 10) - 8) },
        "acceptance": { "criteria": [criterion] },
        "input_refs": refs(),
        "retry_policy": { "max_attempts": 2, "non_retryable": vec![name(); 64] },
        "status": "queued",
    });
    board.task("t", params);
    board.ok("update_task", json!({ "task_id": "t", "native_status": name(), "status_reason": text() }));
    let token = board.claim("t");
    let counters: serde_json::Map<_, _> = (0..64).map(|number| (format!("{number:0256}"), json!(number))).collect();
    let outputs: Vec<Value> = refs().iter().map(|one| json!({ "output_ref": one, "offset": 1 })).collect();
    let progress = json!({ "summary": "x".repeat(16 << 10), "counters": counters, "output_refs": outputs });
    board.work("report_run", "t", token, json!({ "progress": progress, "checkpoint_refs": refs() })).expect("accepted");
    let artifact = |number: usize| json!({ "type": "artifact.changed", "payload": { "change": "created", "version": 1, "name": format!("{number:0512}") } });
    let artifacts: Vec<Value> = (0..256).map(artifact).collect();
    board.work("report_run", "t", token, json!({ "facts": artifacts })).expect("accepted");
    (board, token)
}

#[test]
fn a_task_with_as_much_as_it_may_have_leaves_room_for_its_end() {
    let (mut board, token) = full();
    let params = json!({ "error": error(), "output_refs": refs(), "checkpoint_refs": refs() });
    board.work("fail_run", "t", token, params).expect("accepted");
    board.claim("t");
    board.ok("cancel_task", json!({ "task_id": "t", "reason": text() }));
    board.expire("t");
    assert_eq!(board.status("t"), Cancelled);
    let bytes = serde_json::to_vec(&board.known("t")).expect("a row").len();
    assert!(bytes < ROW_BYTES_MAX * 3 / 4, "{bytes} bytes");
}

#[test]
fn every_field_has_a_bound_that_its_refusal_names() {
    let mut board = Board::new();
    board.task("t", json!({}));
    let (names, texts) = ("task_name_chars is 257, the limit is 256", "task_text_chars is 4001, the limit is 4000");
    let (name, text) = (name() + "x", text() + "x");
    let (many, long) = (vec!["x"; 65], vec!["x".repeat(513)]);
    let failure = json!({ "category": "x", "message": text });
    for (command, params, message) in [
        ("create_task", json!({ "owner": name }), names),
        ("create_task", json!({ "assignee": name }), names),
        ("create_task", json!({ "task_kind": name }), names),
        ("create_task", json!({ "task_family": name }), names),
        ("create_task", json!({ "retry_policy": { "non_retryable": [name] } }), names),
        ("create_task", json!({ "retry_policy": { "non_retryable": many } }), "task_refs is 65, the limit is 64"),
        ("create_task", json!({ "input_refs": many }), "task_refs is 65, the limit is 64"),
        ("create_task", json!({ "input_refs": long }), "task_ref_bytes is 513, the limit is 512"),
        (
            "create_task",
            json!({ "acceptance": { "required_artifacts": ["x".repeat(64 << 10)] } }),
            "task_acceptance_bytes is 65563, the limit is 65536",
        ),
        ("update_task", json!({ "native_status": name }), names),
        ("update_task", json!({ "status_reason": text }), texts),
        ("start_task", json!({ "worker": name }), names),
        ("start_task", json!({ "input_refs": long }), "task_ref_bytes is 513, the limit is 512"),
        ("retry_task", json!({ "reason": text }), texts),
        ("pause_task", json!({ "reason": text }), texts),
        ("resume_task", json!({ "reason": text }), texts),
        ("cancel_task", json!({ "reason": text }), texts),
        ("append_task_progress", json!({ "counters": { name.as_str(): 1 } }), names),
        (
            "append_task_progress",
            json!({ "output_refs": [{ "output_ref": long[0], "offset": 0 }] }),
            "task_ref_bytes is 513, the limit is 512",
        ),
        ("complete_task", json!({ "summary": text }), texts),
        ("complete_task", json!({ "artifacts": long }), "task_ref_bytes is 513, the limit is 512"),
        ("complete_task", json!({ "output_refs": many }), "task_refs is 65, the limit is 64"),
        ("fail_task", json!({ "error": failure }), texts),
    ] {
        let mut params = params;
        if command != "create_task" {
            params["task_id"] = json!("t");
        }
        let refusal = board.refused(command, params);
        assert_eq!((refusal.code, refusal.message.as_str()), (ErrorCode::LimitExceeded, message), "{command}");
    }
    board.world.limits.task_artifact_bytes_max = 5;
    let link = json!({ "from": "t", "to": "six666", "relationship": "evidence" });
    assert_eq!(board.refused("link_tasks", link).message, "task_artifact_bytes is 6, the limit is 5");
}

#[test]
fn what_the_runtime_says_is_cut_to_what_fits() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "agent": "demo" }));
    let error = Failure { category: name() + "x", message: text() + "x", retryable: false, advice: None };
    board.turn_fails("t", error);
    let said = board.known("t").last_error.expect("an error");
    assert_eq!((said.category, said.message), (name() + "…", text() + "…"));
}
