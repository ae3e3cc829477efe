//! Cancellation: the intent sticks, spreads by policy, and lets work under way settle.

use factum_model::task::TaskStatus::*;
use factum_model::task::*;
use serde_json::{Value, json};

use super::super::agenda::REACH_MAX;
use super::board::Board;
use crate::session::{TimerKind, interrupt_turn};

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
        ["c", "g"].iter().for_each(|name| drop(board.ok("start_task", json!({ "task_id": name }))));
        cancel(&mut board, "p", propagation);
        board.statuses(&["p", "c", "g"])
    };
    assert_eq!(reached("none"), [Cancelling, Running, Running]);
    assert_eq!(reached("children"), [Cancelling, Cancelling, Running]);
    assert_eq!(reached("descendants"), [Cancelling, Cancelling, Cancelling]);
}

/// What has not begun is not under way: it would never begin, and keep what is above it from settling for ever.
#[test]
fn what_has_not_begun_is_cancelled_however_far_the_order_reaches() {
    let mut board = family();
    cancel(&mut board, "p", "none");
    assert_eq!(board.statuses(&["p", "c", "g"]), [Cancelled, Cancelled, Cancelled]);
    assert_eq!(board.known("g").status_reason.as_deref(), Some("enough"));

    let mut board = family();
    board.ok("start_task", json!({ "task_id": "c" }));
    let backoff = json!({ "max_attempts": 3, "backoff": { "initial_ms": 1_000 } });
    for (name, params) in [
        ("draft", json!({ "status": "draft" })),
        ("queued", json!({ "status": "queued", "queue": "q" })),
        ("behind", json!({ "blocked_by": ["c"] })),
        ("retries", json!({ "status": "queued", "retry_policy": backoff })),
        ("waits", json!({ "status": "queued" })),
    ] {
        let mut params = params;
        params["parent_task_id"] = json!("p");
        board.task(name, params);
    }
    board.ok("fail_task", json!({ "task_id": "retries", "error": { "category": "bad" } }));
    board.ok("update_task", json!({ "task_id": "waits", "status": "waiting_input" }));
    board.ok("cancel_task", json!({ "task_id": "p" }));
    board.carry_on();
    assert_eq!(board.statuses(&["draft", "queued", "behind", "retries", "g"]), [Cancelled; 5]);
    assert_eq!(board.statuses(&["p", "c", "waits"]), [Cancelling, Running, WaitingInput], "what is under way settles");
    assert!(board.known("queued").status_reason.is_some_and(|reason| reason.contains("above")));
    assert_eq!((board.ready("q"), board.timers()), (vec![], vec![]));
    board.ok("complete_task", json!({ "task_id": "c" }));
    board.ok("complete_task", json!({ "task_id": "waits" }));
    assert_eq!(board.status("p"), Cancelled);
}

#[test]
fn nothing_follows_an_attempt_below_a_task_that_is_being_cancelled() {
    let policy = json!({ "max_attempts": 9, "on_lost": "retry" });
    let end = |how: &dyn Fn(&mut Board)| {
        let mut board = Board::new();
        board.task("p", json!({}));
        board.task("w", json!({ "parent_task_id": "p", "status": "queued", "queue": "q", "retry_policy": policy }));
        board.claim("w");
        cancel(&mut board, "p", "none");
        assert_eq!(board.statuses(&["p", "w"]), [Cancelling, Running]);
        how(&mut board);
        assert_eq!(board.ready("q"), []);
        board.statuses(&["p", "w"])
    };
    let error = json!({ "error": { "category": "bad" } });
    let fails = |board: &mut Board| drop(board.work("fail_run", "w", board.token("w"), error.clone()).expect("an end"));
    assert_eq!(end(&fails), [Cancelled, Failed]);
    let gives_back =
        |board: &mut Board| drop(board.work("release_run", "w", board.token("w"), json!({})).expect("an end"));
    assert_eq!(end(&gives_back), [Cancelled, Cancelled]);
    assert_eq!(end(&|board| board.expire("w")), [Cancelling, Lost], "nobody knows whether it is still at work");
}

#[test]
fn an_agent_that_is_stopped_ends_its_task_when_what_is_below_it_has_settled() {
    let mut board = Board::new();
    board.task("p", json!({ "status": "queued", "agent": "demo" }));
    board.task("c", json!({ "parent_task_id": "p", "status": "queued" }));
    board.task("d", json!({ "parent_task_id": "p" }));
    let params = json!({ "session_id": "s1", "turn_id": board.attempt("p").turn_id });
    let command = serde_json::from_value(params).expect("params");
    board.decide(|state, context| interrupt_turn(state, &command, context)).expect("accepted");
    board.carry_on();
    assert_eq!(board.statuses(&["p", "c", "d"]), [Cancelling, Running, Cancelled]);
    board.ok("complete_task", json!({ "task_id": "c" }));
    assert_eq!(board.status("p"), Cancelled);
}

/// Failing it would let it be retried, as if nobody had wanted it to end.
#[test]
fn a_task_that_only_settles_is_not_failed() {
    let mut board = family();
    board.ok("start_task", json!({ "task_id": "c" }));
    cancel(&mut board, "p", "none");
    let refusal = board.refused("fail_task", json!({ "task_id": "p", "error": { "category": "bad" } }));
    assert_eq!(refusal.details["status"], json!("cancelling"));
    board.ok("complete_task", json!({ "task_id": "c" }));
    assert_eq!(board.status("p"), Cancelled);
}

#[test]
fn what_is_above_ends_when_what_is_below_has_settled() {
    let mut board = family();
    board.ok("start_task", json!({ "task_id": "g" }));
    cancel(&mut board, "p", "children");
    board.ok("complete_task", json!({ "task_id": "g" }));
    assert_eq!(board.statuses(&["p", "c", "g"]), [Cancelled, Cancelled, Completed]);
    assert_eq!(board.known("p").status_reason.as_deref(), Some("enough"));
}

#[test]
fn nothing_is_added_below_a_task_that_is_being_cancelled() {
    let mut board = family();
    board.ok("start_task", json!({ "task_id": "c" }));
    board.ok("start_task", json!({ "task_id": "g" }));
    board.task("h", json!({ "parent_task_id": "g", "status": "queued" }));
    cancel(&mut board, "p", "none");
    for parent in ["p", "c", "g"] {
        let refusal = board.refused("create_task", json!({ "parent_task_id": parent }));
        assert_eq!(refusal.details["cancelled_task_id"], json!("p"), "below {parent}");
    }
    board.task("n", json!({}));
    let link = json!({ "from": "g", "to": "n", "relationship": "parent" });
    assert_eq!(board.refused("link_tasks", link).details["cancelled_task_id"], json!("p"));
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
    board.ok("start_task", json!({ "task_id": "g" }));
    cancel(&mut board, "p", "none");
    assert_eq!(board.statuses(&["p", "c", "g"]), [Cancelling, Cancelling, Running]);
    cancel(&mut board, "p", "descendants");
    assert_eq!(board.statuses(&["p", "c", "g"]), [Cancelling, Cancelling, Cancelling]);
}

#[test]
fn an_order_reaches_what_is_open_below_one_that_ended() {
    let mut board = family();
    board.ok("fail_task", json!({ "task_id": "c", "error": { "category": "bad" } }));
    cancel(&mut board, "p", "descendants");
    assert_eq!(board.statuses(&["p", "c", "g"]), [Cancelled, Failed, Cancelled]);

    let mut board = family();
    board.ok("start_task", json!({ "task_id": "g" }));
    board.ok("fail_task", json!({ "task_id": "c", "error": { "category": "bad" } }));
    cancel(&mut board, "p", "none");
    assert_eq!(board.status("p"), Cancelling, "what is open below it settles first");
    board.ok("complete_task", json!({ "task_id": "g" }));
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
