//! Cancellation: the intent sticks, spreads by policy, and lets work under way settle.

use factum_model::task::TaskStatus::*;
use factum_model::task::*;
use serde_json::{Value, json};

use super::super::agenda::REACH_MAX;
use super::board::Board;
use crate::session::TimerKind;

/// `p` above `c` above `g`, `p` with an attempt of its own.
fn family() -> Board {
    let mut board = Board::new();
    board.task("p", json!({}));
    board.task("c", json!({ "parent_task_id": "p" }));
    board.task("g", json!({ "parent_task_id": "c" }));
    board
}

fn cancel(board: &mut Board, name: &str, propagation: &str) -> Value {
    board.ok("cancel_task", json!({ "task_id": name, "propagation": propagation, "reason": "enough" }))
}

#[test]
fn an_order_reaches_as_far_as_it_says() {
    let reached = |propagation| {
        let mut board = family();
        cancel(&mut board, "p", propagation);
        board.statuses(&["p", "c", "g"])
    };
    assert_eq!(reached("none"), [Cancelling, Accepted, Accepted]);
    assert_eq!(reached("children"), [Cancelling, Cancelling, Accepted]);
    assert_eq!(reached("descendants"), [Cancelled, Cancelled, Cancelled]);
}

#[test]
fn what_is_above_ends_when_what_is_below_has_settled() {
    let mut board = family();
    cancel(&mut board, "p", "children");
    board.ok("start_task", json!({ "task_id": "g" }));
    board.ok("complete_task", json!({ "task_id": "g" }));
    assert_eq!(board.statuses(&["p", "c", "g"]), [Cancelled, Cancelled, Completed]);
    assert_eq!(board.known("p").status_reason.as_deref(), Some("enough"));
}

#[test]
fn nothing_is_added_below_a_task_that_is_being_cancelled() {
    let mut board = family();
    cancel(&mut board, "p", "none");
    for parent in ["p", "c", "g"] {
        let refusal = board.refused("create_task", json!({ "parent_task_id": parent }));
        assert_eq!(refusal.details["cancelled_task_id"], json!("p"), "below {parent}");
    }
    board.task("n", json!({}));
    let link = json!({ "from": "g", "to": "n", "relationship": "parent" });
    assert_eq!(board.refused("link_tasks", link).details["cancelled_task_id"], json!("p"));
    board.ok("start_task", json!({ "task_id": "g" }));
    board.ok("fail_task", json!({ "task_id": "g", "error": { "category": "bad" } }));
    let refusal = board.refused("retry_task", json!({ "task_id": "g", "reason": "again" }));
    assert_eq!(refusal.details["cancelled_task_id"], json!("p"), "nothing begins again either");
    board.crash();
    board.refused("create_task", json!({ "parent_task_id": "c" }));
}

#[test]
fn a_lost_task_below_one_that_is_being_cancelled_does_not_begin_again() {
    let mut board = family();
    board.task("w", json!({ "parent_task_id": "p", "status": "queued", "queue": "q" }));
    board.claim("w");
    board.expire("w");
    cancel(&mut board, "p", "none");
    for (command, params) in [("resume_task", json!({})), ("retry_task", json!({ "reason": "again" }))] {
        let mut params = params;
        params["task_id"] = json!("w");
        assert_eq!(board.refused(command, params).details["cancelled_task_id"], json!("p"), "{command}");
    }
}

#[test]
fn work_under_way_has_some_time_to_settle() {
    let mut board = Board::new();
    board.world.limits.task_cancel_grace_ms = 500;
    board.task("t", json!({ "status": "queued" }));
    cancel(&mut board, "t", "none");
    assert_eq!(board.timers(), [(TimerKind::TaskCancel, "t".to_owned(), 500)]);
    board.pass(300);
    let refusal = board.refused("cancel_task", json!({ "task_id": "t" }));
    assert_eq!(refusal.details["status"], json!("cancelling"));
    cancel(&mut board, "t", "descendants");
    assert_eq!(board.timers(), [(TimerKind::TaskCancel, "t".to_owned(), 500)], "asking twice gives no more time");
    board.pass(200);
    let row = board.known("t");
    assert_eq!((row.status, row.attempt.map(|attempt| attempt.status)), (Cancelled, Some(AttemptStatus::Unknown)));
}

#[test]
fn a_second_order_may_reach_further() {
    let mut board = family();
    cancel(&mut board, "p", "none");
    cancel(&mut board, "p", "descendants");
    assert_eq!(board.statuses(&["p", "c", "g"]), [Cancelled, Cancelled, Cancelled]);
}

#[test]
fn an_order_reaches_what_is_open_below_one_that_ended() {
    let mut board = family();
    board.ok("fail_task", json!({ "task_id": "c", "error": { "category": "bad" } }));
    cancel(&mut board, "p", "descendants");
    assert_eq!(board.statuses(&["p", "c", "g"]), [Cancelled, Failed, Cancelled]);

    let mut board = family();
    board.ok("fail_task", json!({ "task_id": "c", "error": { "category": "bad" } }));
    cancel(&mut board, "p", "none");
    assert_eq!(board.status("p"), Cancelling, "what is open below it settles first");
    board.ok("cancel_task", json!({ "task_id": "g" }));
    assert_eq!(board.status("p"), Cancelled);
}

#[test]
fn a_large_graph_is_cancelled_in_pieces_and_a_crash_forgets_none() {
    let mut board = Board::new();
    board.task("root", json!({}));
    let mut names = Vec::new();
    for wide in 0..6 {
        let child = format!("c{wide:02}");
        board.task(&child, json!({ "parent_task_id": "root" }));
        for deep in 0..7 {
            let name = format!("g{wide:02}_{deep:02}");
            board.task(&name, json!({ "parent_task_id": child }));
            names.push(name);
        }
        names.push(child);
    }
    assert!(names.len() > REACH_MAX * 2);
    let result = cancel(&mut board, "root", "descendants");
    assert_eq!(result["affected_total"], json!(REACH_MAX));
    assert!(board.world.state.has_agenda());
    let refusal = board.refused("create_task", json!({ "parent_task_id": "g05_06" }));
    assert!(refusal.details.contains_key("cancelled_task_id"), "also where the order has not come yet: {refusal:?}");
    board.snapshot();
    board.crash();
    board.carry_on();
    assert_eq!(board.status("root"), Cancelled);
    assert!(names.iter().all(|name| board.status(name) == Cancelled));
    super::invariants::check_index(&board);
}

/// One rule, whoever says how the work ended: the intent to cancel stays.
#[test]
fn work_that_ends_while_it_is_cancelled_ends_as_cancelled() {
    let error = json!({ "category": "x" });
    for (command, params) in [("complete_task", json!({})), ("fail_task", json!({ "error": error }))] {
        let mut board = Board::new();
        board.task("t", json!({ "status": "queued", "retry_policy": { "max_attempts": 9 } }));
        board.ok("cancel_task", json!({ "task_id": "t", "reason": "enough" }));
        let mut params = params;
        params["task_id"] = json!("t");
        assert_eq!(board.ok(command, params)["status"], json!("cancelled"), "{command}");
        assert_eq!((board.known("t").status_reason.as_deref(), board.timers()), (Some("enough"), vec![]));
    }
}
