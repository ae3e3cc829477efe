//! Pausing: nothing begins meanwhile, what runs may end, and everything goes on where it stood.

use factum_model::report::{Report, Runner};
use factum_model::task::TaskStatus::*;
use serde_json::json;

use super::super::agenda::REACH_MAX;
use super::board::Board;
use crate::session::tests::world::model_requested;
use crate::session::workers::holder;
use crate::session::{OpenModelRequest, TimerKind, decide_report};

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
fn a_run_that_ends_badly_meanwhile_ends_the_task_unless_its_policy_has_another() {
    for (attempts, lost, before, after) in
        [(1, false, Failed, None), (1, true, Lost, None), (5, false, Paused, Some(2)), (5, true, Paused, Some(2))]
    {
        let mut board = Board::new();
        let policy = json!({ "max_attempts": attempts, "on_lost": "retry" });
        board.task("t", json!({ "status": "queued", "queue": "q", "retry_policy": policy }));
        let token = board.claim("t");
        pause(&mut board, "t", "none");
        match lost {
            true => board.expire("t"),
            false => drop(board.work("fail_run", "t", token, json!({ "error": { "category": "x" } })).expect("ok")),
        }
        assert_eq!((board.status("t"), board.attempt("t").attempt_count), (before, 1), "nothing begins meanwhile");
        match after {
            Some(count) => {
                board.crash();
                resume(&mut board, "t", "none");
                assert_eq!((board.status("t"), board.attempt("t").attempt_count), (Queued, count));
            }
            None => drop(board.ok("retry_task", json!({ "task_id": "t", "reason": "again" }))),
        }
        assert_eq!(board.status("t"), Queued);
    }
}

/// The model is asked again, as after a crash; a report of the run that was cut off changes nothing.
#[test]
fn an_agent_stops_at_the_next_safe_point_and_goes_on_from_there() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "agent": "demo" }));
    let attempt = board.attempt("t");
    let (thread_id, turn_id) = (attempt.thread_id.expect("a thread"), attempt.turn_id.expect("a turn"));
    let runner = Runner { thread_id: thread_id.clone(), turn_id, attempt: 1 };
    let report = |board: &mut Board, runner: &Runner, report: Report| {
        board.decide(|state, context| decide_report(state, runner, report, context))
    };
    report(&mut board, &runner, model_requested()).expect("an intent");
    let active = |board: &Board| board.world.state.thread(&thread_id).and_then(|thread| thread.active.clone());
    let OpenModelRequest { request_id, step_id } = active(&board).and_then(|turn| turn.model_request).expect("open");
    pause(&mut board, "t", "none");
    let streamed = Report::ModelStreamed { request_id, step_id, chunks: Vec::new() };
    for next in [streamed.clone(), model_requested()] {
        let refusal = report(&mut board, &runner, next).expect_err("it is put aside");
        assert_eq!(refusal.details["cause"], json!("paused"));
    }
    board.crash();
    resume(&mut board, "t", "none");
    let attempt = active(&board).expect("a turn").attempt;
    assert!(attempt > 1, "another run of the turn");
    report(&mut board, &runner, streamed).expect_err("the run before is over");
    report(&mut board, &Runner { attempt, ..runner }, model_requested()).expect("it goes on");
    assert_eq!(board.status("t"), Running);
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

#[test]
fn no_time_passes_for_what_is_put_aside() {
    let mut board = Board::new();
    let policy = json!({ "timeout_ms": 100, "inactivity_timeout_ms": 60 });
    board.task("t", json!({ "status": "queued", "retry_policy": policy }));
    board.later(40);
    pause(&mut board, "t", "none");
    assert_eq!(board.timers(), []);
    board.pass(1_000);
    assert_eq!(board.status("t"), Paused);
    board.crash();
    resume(&mut board, "t", "none");
    let left = [(TimerKind::TaskInactivity, "t".to_owned(), 1_060), (TimerKind::TaskTimeout, "t".to_owned(), 1_100)];
    assert_eq!(board.timers(), left, "20 and 60 were left");
    board.pass(20);
    assert_eq!(board.status("t"), TimedOut);
}

/// Somebody else's order is not a word of the agent that it passes.
#[test]
fn an_order_that_passes_by_an_agent_at_work_is_no_sign_of_its_life() {
    let mut board = Board::new();
    board.task("root", json!({ "status": "queued" }));
    let policy = json!({ "inactivity_timeout_ms": 60 });
    let child = json!({ "status": "queued", "agent": "demo", "parent_task_id": "root", "retry_policy": policy });
    board.task("t", child);
    pause(&mut board, "root", "none");
    board.later(40);
    resume(&mut board, "root", "children");
    assert_eq!(board.timers(), [(TimerKind::TaskInactivity, "t".to_owned(), 60)]);
}

/// A worker may go on and speak while its task is put aside; it is heard.
#[test]
fn a_sign_of_life_meanwhile_counts() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "retry_policy": { "inactivity_timeout_ms": 60 } }));
    board.later(40);
    pause(&mut board, "t", "none");
    let run_id = board.attempt("t").run_id;
    board.ok("append_task_progress", json!({ "task_id": "t", "run_id": run_id, "percent": 5 }));
    resume(&mut board, "t", "none");
    assert_eq!(board.timers(), [(TimerKind::TaskInactivity, "t".to_owned(), 100)]);
}
