//! Child agents and jobs that work for a task are a part of its graph: they hold it open, are cancelled with it, and are not
//! added where nothing is.

use factum_model::ErrorCode;
use factum_model::task::TaskStatus::*;
use factum_model::task::{EdgeStatus, Relationship};
use serde_json::{Value, json};

use super::board::Board;
use crate::session::tests::world::id;

/// A task with a child agent and a job at work for it.
fn helped() -> Board {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued" }));
    board.spawn_for("t", "child").expect("spawned");
    board.create_job_for("t", "batch").expect("created");
    board
}

fn edge(board: &Board, to: &str) -> Option<EdgeStatus> {
    board.edge_row("t", Relationship::SpawnedSubagent, to).map(|edge| edge.status)
}

fn missing(board: &mut Board) -> Vec<Value> {
    let refusal = board.refused("complete_task", json!({ "task_id": "t" }));
    refusal.details["missing"].as_array().expect("a list").clone()
}

#[test]
fn a_task_does_not_complete_while_somebody_works_for_it() {
    let mut board = helped();
    assert_eq!(edge(&board, "child"), Some(EdgeStatus::Active));
    let child = json!({ "kind": "subagent", "subagent_id": "child", "status": "running" });
    let batch = json!({ "kind": "job", "job_id": "batch", "status": "running" });
    assert_eq!(missing(&mut board), [child, batch.clone()]);
    board.helper_ends("child");
    assert_eq!((missing(&mut board), edge(&board, "child")), (vec![batch], Some(EdgeStatus::Satisfied)));
    board.helper_ends("batch");
    board.ok("complete_task", json!({ "task_id": "t" }));
    assert_eq!(board.status("t"), Completed);
    board.crash_without_a_snapshot();
}

#[test]
fn one_that_completes_by_itself_waits_for_the_last_of_them() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "agent": "demo", "auto_complete": true }));
    board.spawn_for("t", "child").expect("spawned");
    board.create_job_for("t", "batch").expect("created");
    board.turn_completes("t");
    board.helper_ends("batch");
    assert_eq!(board.status("t"), WaitingInput);
    board.helper_ends("child");
    assert_eq!(board.status("t"), Completed);
}

#[test]
fn an_order_to_cancel_reaches_them_as_far_as_it_says() {
    for (propagation, stops) in [("none", false), ("children", true), ("descendants", true)] {
        let mut board = helped();
        board.ok("cancel_task", json!({ "task_id": "t", "propagation": propagation }));
        board.ok("fail_task", json!({ "task_id": "t", "error": { "category": "x" } }));
        assert_eq!(board.status("t"), Cancelling, "it settles with those who work for it");
        // Whatever the process was about to do is in the log.
        board.crash();
        board.carry_on();
        let open = |board: &Board| {
            let state = &board.world.state;
            (state.subagents.is_open(&id("child")), state.jobs.is_open(&id("batch")))
        };
        assert_eq!(open(&board), (!stops, !stops), "{propagation}");
        if !stops {
            board.helper_ends("child");
            board.helper_ends("batch");
        }
        assert_eq!(board.status("t"), Cancelled, "{propagation}");
        assert_eq!(edge(&board, "child"), Some(EdgeStatus::Satisfied));
    }
}

#[test]
fn a_child_agent_that_rests_is_closed_with_its_task() {
    let mut board = helped();
    board.helper_ends("child");
    board.ok("cancel_task", json!({ "task_id": "t", "propagation": "children" }));
    board.carry_on();
    assert!(!board.world.state.subagents.is_open(&id("child")));
}

/// An order passes through what ended to what is open below it, and that is also who works for it.
#[test]
fn what_failed_is_a_part_of_the_graph_until_its_helpers_rest() {
    let mut board = Board::new();
    board.task("p", json!({}));
    board.task("t", json!({ "status": "queued", "parent_task_id": "p" }));
    board.spawn_for("t", "child").expect("spawned");
    board.ok("fail_task", json!({ "task_id": "t", "error": { "category": "x" } }));
    let refusal = board.refused("complete_task", json!({ "task_id": "p" }));
    assert_eq!(refusal.details["missing"], json!([{ "kind": "child", "task_id": "t", "status": "failed" }]));
    board.ok("cancel_task", json!({ "task_id": "p", "propagation": "descendants" }));
    board.carry_on();
    assert_eq!((board.status("p"), board.world.state.subagents.is_open(&id("child"))), (Cancelled, false));
}

#[test]
fn nothing_is_added_below_a_task_that_is_cancelled_or_over() {
    let mut board = helped();
    board.task("below", json!({ "parent_task_id": "t", "status": "queued" }));
    board.ok("cancel_task", json!({ "task_id": "t" }));
    for task in ["t", "below"] {
        for refusal in [board.spawn_for(task, "other"), board.create_job_for(task, "other")] {
            let refusal = refusal.expect_err("it is being cancelled");
            assert_eq!(
                (refusal.code, &refusal.details["cancelled_task_id"]),
                (ErrorCode::PreconditionFailed, &json!("t"))
            );
        }
    }
    board.task("done", json!({}));
    board.ok("complete_task", json!({ "task_id": "done" }));
    for refusal in [board.spawn_for("done", "other"), board.create_job_for("done", "other")] {
        assert_eq!(refusal.expect_err("it ended").details["status"], json!("completed"));
    }
}

#[test]
fn an_edge_that_is_taken_away_lets_its_task_go() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued" }));
    board.spawn_for("t", "child").expect("spawned");
    board.ok("unlink_tasks", json!({ "from": "t", "to": "child", "relationship": "spawned_subagent" }));
    board.ok("complete_task", json!({ "task_id": "t" }));
    board.helper_ends("child");
    assert_eq!(edge(&board, "child"), None, "it does not come back");
}

#[test]
fn the_thread_of_its_agent_is_an_edge() {
    let mut board = Board::new();
    let policy = json!({ "max_attempts": 2 });
    board.task("t", json!({ "status": "queued", "agent": "demo", "retry_policy": policy }));
    let thread_id = board.attempt("t").thread_id.expect("a thread");
    board.turn_fails(
        "t",
        factum_model::value::Failure { retryable: true, ..crate::session::tests::world::failure("x") },
    );
    assert_eq!(board.attempt("t").attempt_count, 2);
    let edge = board.edge_row("t", Relationship::AssignedThread, thread_id.as_str()).expect("an edge");
    assert_eq!(
        (edge.status, board.known("t").edges),
        (EdgeStatus::Active, 1),
        "the second attempt is in the same thread"
    );
}

/// The end of a job concerns its own thread and the thread of its task; of those that rest the oldest leaves, and not twice.
#[test]
fn a_thread_that_leaves_because_of_another_does_not_come_back() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "draft", "agent": "demo" }));
    board.create_job_for("t", "batch").expect("created");
    board.ok("start_task", json!({ "task_id": "t" }));
    board.turn_fails("t", crate::session::tests::world::failure("broken"));
    board.task("u", json!({ "status": "queued", "agent": "demo" }));
    board.turn_fails("u", crate::session::tests::world::failure("broken"));
    assert_eq!((board.status("t"), board.status("u")), (Failed, Failed));
    board.helper_ends("batch");
    let resting = board.world.state.resting.len();
    assert_eq!((resting, board.world.state.threads.len()), (2, 3), "the invariants look at the rest");
}

fn link(board: &mut Board, from: &str, to: &str) -> Value {
    board.ok("link_tasks", json!({ "from": from, "to": to, "relationship": "spawned_subagent" }))
}

#[test]
fn a_child_agent_that_is_linked_works_for_the_task() {
    let mut board = helped();
    board.task("other", json!({ "status": "queued" }));
    let edge_of = |from: &str| json!({ "from": from, "to": "child", "relationship": "spawned_subagent" });
    let refusal = board.refused("link_tasks", edge_of("other"));
    assert_eq!((refusal.code, &refusal.details["task_id"]), (ErrorCode::Conflict, &json!("t")), "it has one already");
    board.ok("unlink_tasks", edge_of("t"));
    link(&mut board, "other", "child");
    let refusal = board.refused("complete_task", json!({ "task_id": "other" }));
    assert_eq!(refusal.details["missing"][0]["subagent_id"], json!("child"));
    board.ok("cancel_task", json!({ "task_id": "other", "propagation": "children" }));
    board.carry_on();
    assert!(!board.world.state.subagents.is_open(&id("child")), "it is stopped with its task");
    board.crash_without_a_snapshot();
}

#[test]
fn a_child_agent_that_rests_holds_nothing_up_until_it_works_again() {
    let mut board = helped();
    board.task("other", json!({ "status": "queued" }));
    board.helper_ends("child");
    board.ok("unlink_tasks", json!({ "from": "t", "to": "child", "relationship": "spawned_subagent" }));
    link(&mut board, "other", "child");
    let edge = board.edge_row("other", Relationship::SpawnedSubagent, "child").expect("an edge");
    assert_eq!(edge.status, EdgeStatus::Satisfied);
    let input = json!([{ "type": "text", "text": "more" }]);
    board.ok("send_subagent_input", json!({ "subagent_id": "child", "input": input }));
    board.refused("complete_task", json!({ "task_id": "other" }));
    board.helper_ends("child");
    board.ok("complete_task", json!({ "task_id": "other" }));
}

#[test]
fn a_child_agent_is_not_linked_to_a_task_that_is_cancelled_or_over() {
    let mut board = helped();
    board.ok("unlink_tasks", json!({ "from": "t", "to": "child", "relationship": "spawned_subagent" }));
    board.task("done", json!({}));
    board.ok("complete_task", json!({ "task_id": "done" }));
    board.ok("cancel_task", json!({ "task_id": "t" }));
    for from in ["t", "done"] {
        let params = json!({ "from": from, "to": "child", "relationship": "spawned_subagent" });
        assert_eq!(board.refused("link_tasks", params).code, ErrorCode::PreconditionFailed, "{from}");
    }
    board.ok("close_subagent", json!({ "subagent_id": "child" }));
    link(&mut board, "done", "child");
    let edge = board.edge_row("done", Relationship::SpawnedSubagent, "child").expect("an edge");
    assert_eq!(edge.status, EdgeStatus::Satisfied, "that a closed one worked for it can be told");
}
