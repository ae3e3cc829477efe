//! Pausing: nothing begins meanwhile, what runs may end, and everything goes on where it stood.

use factum_model::task::TaskStatus::*;
use serde_json::json;

use super::super::agenda::REACH_MAX;
use super::board::Board;
use crate::session::workers::holder;

fn pause(board: &mut Board, name: &str, propagation: &str) {
    board.ok("pause_task", json!({ "task_id": name, "propagation": propagation }));
}

fn resume(board: &mut Board, name: &str, propagation: &str) {
    board.ok("resume_task", json!({ "task_id": name, "propagation": propagation }));
}

#[test]
fn a_run_that_waits_is_not_claimed_meanwhile() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "queue": "q" }));
    let run_id = board.attempt("t").run_id;
    pause(&mut board, "t", "none");
    assert_eq!(board.ready("q"), []);
    board.claim_run(&run_id).expect_err("it is put aside");
    resume(&mut board, "t", "none");
    assert_eq!((board.status("t"), board.ready("q")), (Queued, vec![run_id]));
}

#[test]
fn a_worker_hears_of_it_and_may_finish() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "queue": "q", "auto_complete": true }));
    let token = board.claim("t");
    pause(&mut board, "t", "none");
    assert!(holder(&board.world.state, &board.attempt("t").run_id).expect("held").paused);
    board.work("complete_run", "t", token, json!({})).expect("accepted");
    assert_eq!(board.status("t"), Paused);
    resume(&mut board, "t", "none");
    assert_eq!(board.status("t"), Completed, "its owner said beforehand that this is enough");
}

#[test]
fn a_run_that_is_given_back_meanwhile_waits_once_it_goes_on() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "queue": "q" }));
    let token = board.claim("t");
    pause(&mut board, "t", "none");
    board.work("release_run", "t", token, json!({})).expect("accepted");
    assert_eq!((board.status("t"), board.ready("q").len()), (Paused, 0));
    resume(&mut board, "t", "none");
    assert_eq!((board.status("t"), board.ready("q").len()), (Queued, 1));
}

#[test]
fn a_run_that_ends_badly_meanwhile_ends_the_task() {
    let mut board = Board::new();
    for (name, expected) in [("failed", Failed), ("lost", Lost)] {
        let policy = json!({ "max_attempts": 5, "on_lost": "retry" });
        board.task(name, json!({ "status": "queued", "queue": "q", "retry_policy": policy }));
        let token = board.claim(name);
        pause(&mut board, name, "none");
        match expected {
            Lost => board.expire(name),
            _ => drop(board.work("fail_run", name, token, json!({ "error": { "category": "x" } })).expect("accepted")),
        }
        assert_eq!(board.status(name), expected, "nothing begins while it is put aside");
        board.ok("retry_task", json!({ "task_id": name, "reason": "again" }));
        assert_eq!(board.status(name), Queued);
    }
}

#[test]
fn an_order_reaches_as_far_as_it_says_and_passes_over_what_it_does_not_fit() {
    let mut board = Board::new();
    board.task("p", json!({}));
    board.task("c", json!({ "parent_task_id": "p", "status": "draft" }));
    board.task("g", json!({ "parent_task_id": "c", "status": "queued" }));
    let all = ["p", "c", "g"];
    pause(&mut board, "p", "descendants");
    assert_eq!(board.statuses(&all), [Paused, Draft, Paused]);
    resume(&mut board, "p", "children");
    assert_eq!(board.statuses(&all), [Accepted, Draft, Paused]);
    let refusal = board.refused("resume_task", json!({ "task_id": "p" }));
    assert_eq!(refusal.details["status"], json!("accepted"));
    resume(&mut board, "g", "none");
    board.ok("cancel_task", json!({ "task_id": "g", "reason": "enough" }));
    pause(&mut board, "p", "descendants");
    assert_eq!(board.known("g").status_reason.as_deref(), Some("enough"), "an order that passes by changes nothing");
    assert_eq!(board.status("g"), Cancelling);
}

#[test]
fn an_order_to_go_on_does_not_begin_what_was_not_put_aside() {
    let mut board = Board::new();
    board.task("p", json!({}));
    board.task("c", json!({ "parent_task_id": "p" }));
    board.ok("update_task", json!({ "task_id": "c", "status": "blocked", "status_reason": "no credential" }));
    pause(&mut board, "p", "none");
    resume(&mut board, "p", "descendants");
    assert_eq!(board.statuses(&["p", "c"]), [Accepted, Blocked]);
}

/// The newer order wins, however far the older one has come.
#[test]
fn a_pause_overtakes_an_order_to_go_on_that_is_on_its_way() {
    let mut board = Board::new();
    board.task("root", json!({}));
    let names: Vec<String> = (0..REACH_MAX + 50).map(|n| format!("t{n:03}")).collect();
    names.iter().for_each(|name| board.task(name, json!({ "parent_task_id": "root" })));
    pause(&mut board, "root", "descendants");
    board.carry_on();
    assert!(names.iter().all(|name| board.status(name) == Paused));
    resume(&mut board, "root", "descendants");
    assert!(board.world.state.has_agenda());
    pause(&mut board, "root", "descendants");
    board.carry_on();
    assert!(names.iter().all(|name| board.status(name) == Paused), "somebody paused it last");
}
