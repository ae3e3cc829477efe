//! The named bounds of tasks, each met at its value and refused one above.

use factum_model::ErrorCode;
use serde_json::{Value, json};

use super::board::Board;

fn over(board: &mut Board, command: &str, params: Value, message: &str) {
    let refusal = board.refused(command, params);
    assert_eq!((refusal.code, refusal.message.as_str()), (ErrorCode::LimitExceeded, message), "{command}");
}

fn invalid(board: &mut Board, params: Value) {
    let told = params.to_string();
    assert_eq!(board.refused("create_task", params).code, ErrorCode::InvalidParams, "{told}");
}

#[test]
fn how_many_are_in_memory() {
    let mut board = Board::new();
    board.world.limits.open_tasks_max = 2;
    board.task("a", json!({}));
    board.task("b", json!({}));
    over(&mut board, "create_task", json!({}), "open_tasks is 3, the limit is 2");
}

#[test]
fn how_deep_and_how_many_edges() {
    let mut board = Board::new();
    board.world.limits.task_depth_max = 3;
    board.world.limits.task_edges_max = 2;
    board.task("a", json!({}));
    board.task("b", json!({ "parent_task_id": "a" }));
    board.task("c", json!({ "parent_task_id": "b" }));
    over(&mut board, "create_task", json!({ "parent_task_id": "c" }), "task_depth is 4, the limit is 3");
    board.task("d", json!({}));
    let link = json!({ "from": "c", "to": "d", "relationship": "parent" });
    over(&mut board, "link_tasks", link, "task_depth is 4, the limit is 3");
    over(&mut board, "create_task", json!({ "parent_task_id": "b" }), "task_edges is 3, the limit is 2");
    over(&mut board, "create_task", json!({ "blocked_by": ["b"] }), "task_edges is 3, the limit is 2");
    let link = json!({ "from": "d", "to": "b", "relationship": "blocks" });
    over(&mut board, "link_tasks", link, "task_edges is 3, the limit is 2");
    let three = json!({ "blocked_by": ["a", "c", "d"] });
    over(&mut board, "create_task", three, "task_edges is 3, the limit is 2");
    let link = json!({ "from": "b", "to": "x", "relationship": "evidence" });
    over(&mut board, "link_tasks", link, "task_edges is 3, the limit is 2");
}

#[test]
fn how_long_texts_are() {
    let mut board = Board::new();
    board.world.limits.task_objective_chars_max = 5;
    board.task("t", json!({ "objective": "ärger" }));
    let long = json!({ "objective": "longer" });
    over(&mut board, "create_task", long, "task_objective_chars is 6, the limit is 5");
    let long = json!({ "task_id": "t", "objective": "longer" });
    over(&mut board, "update_task", long, "task_objective_chars is 6, the limit is 5");
    board.world.limits.metadata_bytes_max = 10;
    let scope = json!({ "objective": "x", "scope": "0123456789" });
    over(&mut board, "create_task", scope, "metadata_bytes is 12, the limit is 10");
    invalid(&mut board, json!({ "objective": " " }));
}

#[test]
fn what_a_new_task_may_say() {
    let mut board = Board::new();
    invalid(&mut board, json!({ "status": "running" }));
    invalid(&mut board, json!({ "queue": "q", "agent": "demo" }));
    invalid(&mut board, json!({ "required_capabilities": ["gpu"] }));
    invalid(&mut board, json!({ "queue": "a b" }));
    invalid(&mut board, json!({ "queue": "" }));
    invalid(&mut board, json!({ "queue": "q", "required_capabilities": ["a,b"] }));
    invalid(&mut board, json!({ "retry_policy": { "max_attempts": 0 } }));
    invalid(&mut board, json!({ "retry_policy": { "backoff": { "factor_percent": 99 } } }));
    invalid(&mut board, json!({ "retry_policy": { "backoff": { "jitter_percent": 101 } } }));
    let names: Vec<String> = (0..17).map(|n| format!("c{n}")).collect();
    let many = json!({ "queue": "q", "required_capabilities": names });
    over(&mut board, "create_task", many, "required_capabilities is 17, the limit is 16");
    let long = json!({ "queue": "q", "required_capabilities": ["a".repeat(64), "b".repeat(64), "c".repeat(64), "d".repeat(8)] });
    over(&mut board, "create_task", long, "required_capabilities_bytes is 204, the limit is 200");
    let unknown = board.refused("create_task", json!({ "parent_task_id": "nobody" }));
    assert_eq!(unknown.code, ErrorCode::NotFound);
    let unknown = board.refused("create_task", json!({ "blocked_by": ["nobody"] }));
    assert_eq!(unknown.code, ErrorCode::NotFound);
}

#[test]
fn what_a_worker_can_make_a_task_remember() {
    let mut board = Board::new();
    board.world.limits.task_edges_max = 2;
    board.world.limits.report_facts_max = 3;
    board.task("t", json!({ "status": "queued", "queue": "q" }));
    let token = board.claim("t");
    let status = json!({ "type": "run.status", "payload": { "phase": "working", "title": "x" } });
    let refused = |told: Result<Value, factum_model::Refusal>| told.expect_err("over a bound").message;
    let report = json!({ "facts": [status, status, status, status] });
    let message = refused(board.work("report_run", "t", token, report));
    assert_eq!(message, "report_facts is 4, the limit is 3");
    let done = json!({ "artifacts": ["a", "b", "c"] });
    let message = refused(board.work("complete_run", "t", token, done));
    assert_eq!(message, "task_edges is 3, the limit is 2");
    for half in 0..2 {
        let counters: serde_json::Map<_, _> = (0..32).map(|n| (format!("c{half}_{n}"), json!(n))).collect();
        board.work("report_run", "t", token, json!({ "progress": { "counters": counters } })).expect("accepted");
    }
    let message = refused(board.work("report_run", "t", token, json!({ "progress": { "counters": { "more": 1 } } })));
    assert_eq!(message, "progress_counters is 65, the limit is 64");
    let known = json!({ "progress": { "counters": { "c0_0": 9 } } });
    board.work("report_run", "t", token, known).expect("one that is known is counted once");
}

#[test]
fn the_thread_and_the_turn_it_comes_from_are_the_session_s() {
    let mut board = Board::new();
    board.task("a", json!({ "status": "queued", "agent": "demo" }));
    let attempt = board.attempt("a");
    let main = board.world.state.threads[0].thread_id.clone();
    let table = [
        (json!({ "thread_id": main }), true),
        (json!({ "thread_id": "thr_none" }), false),
        (json!({ "turn_id": attempt.turn_id }), true),
        (json!({ "turn_id": attempt.turn_id, "thread_id": attempt.thread_id }), true),
        (json!({ "turn_id": attempt.turn_id, "thread_id": main }), false),
        (json!({ "turn_id": "turn_none" }), false),
    ];
    for (mut params, known) in table {
        params["objective"] = json!("do it");
        let told = board.call("create_task", params.clone());
        let expected = if known { None } else { Some(factum_model::Refusal::not_found()) };
        assert_eq!(told.err(), expected, "{params}");
    }
}

/// CONTRACT names it `timeout`, and units stand last here.
#[test]
fn the_contract_s_name_of_a_timeout_is_understood() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "retry_policy": { "timeout": 5 } }));
    assert_eq!(board.timers(), [(crate::session::TimerKind::TaskTimeout, "t".to_owned(), 5)]);
}
