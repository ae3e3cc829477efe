//! Times that run out: of an attempt, of its silence, of the grace of a cancellation.

use factum_model::task::*;
use serde_json::{Value, json};

use super::board::Board;
use crate::session::TimerKind::*;

fn with_policy(policy: Value) -> Board {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "queue": "q", "retry_policy": policy }));
    board
}

fn named(kind: crate::session::TimerKind, due: i64) -> (crate::session::TimerKind, String, i64) {
    (kind, "t".to_owned(), due)
}

#[test]
fn an_attempt_has_its_time_from_when_somebody_works_on_it() {
    let mut board = with_policy(json!({ "timeout_ms": 100 }));
    board.pass(1_000);
    assert_eq!((board.status("t"), board.timers()), (TaskStatus::Queued, vec![]), "waiting for a worker is not work");
    board.claim("t");
    assert_eq!(board.timers(), [named(TaskTimeout, 1_100)]);
    board.pass(99);
    assert_eq!(board.status("t"), TaskStatus::Running);
    board.pass(1);
    let row = board.known("t");
    assert_eq!(row.status, TaskStatus::TimedOut);
    assert_eq!(row.attempt.map(|attempt| attempt.status), Some(AttemptStatus::TimedOut));
    assert_eq!(row.last_error.map(|error| error.category), Some("timeout".to_owned()));
    assert_eq!(board.timers(), []);
}

#[test]
fn silence_has_a_bound_of_its_own_and_every_report_begins_it_anew() {
    let mut board = with_policy(json!({ "inactivity_timeout_ms": 100 }));
    let token = board.claim("t");
    for _ in 0..3 {
        board.pass(90);
        board.work("report_run", "t", token, json!({ "progress": { "percent": 1 } })).expect("accepted");
    }
    assert_eq!(board.timers(), [named(TaskInactivity, 370)]);
    board.ok("update_task", json!({ "task_id": "t", "title": "renamed" }));
    assert_eq!(board.timers(), [named(TaskInactivity, 370)], "that somebody else changed it is no sign of life");
    board.pass(100);
    let row = board.known("t");
    assert_eq!(
        (row.status, row.last_error.map(|error| error.category)),
        (TaskStatus::TimedOut, Some("inactivity_timeout".into()))
    );
    let late = board.work("report_run", "t", token, json!({})).expect_err("refused");
    assert_eq!(late.details["cause"], json!("late_report"));
}

#[test]
fn a_time_that_is_over_is_followed_by_another_attempt_where_the_policy_says_so() {
    let mut board = with_policy(json!({ "timeout_ms": 100, "max_attempts": 2 }));
    for count in [1, 2] {
        assert_eq!((board.status("t"), board.attempt("t").attempt_count), (TaskStatus::Queued, count));
        board.claim("t");
        board.pass(100);
    }
    assert_eq!((board.status("t"), board.older("t").len()), (TaskStatus::TimedOut, 1));
    board.ok("retry_task", json!({ "task_id": "t", "reason": "once more" }));
    assert_eq!((board.status("t"), board.attempt("t").attempt_count), (TaskStatus::Queued, 3));
}

#[test]
fn a_run_that_is_given_back_has_its_whole_time_again() {
    let mut board = with_policy(json!({ "timeout_ms": 100, "inactivity_timeout_ms": 50 }));
    let token = board.claim("t");
    assert_eq!(board.timers(), [named(TaskInactivity, 50), named(TaskTimeout, 100)]);
    board.pass(40);
    board.work("release_run", "t", token, json!({})).expect("accepted");
    assert_eq!(board.timers(), []);
    board.pass(1_000);
    board.claim("t");
    assert_eq!(board.timers(), [named(TaskInactivity, 1_090), named(TaskTimeout, 1_140)]);
}

#[test]
fn timers_survive_a_crash_and_none_fires_for_what_is_over() {
    let mut board = with_policy(json!({ "timeout_ms": 100, "inactivity_timeout_ms": 70 }));
    let token = board.claim("t");
    let timers = board.timer_rows();
    board.crash();
    assert_eq!(board.timer_rows(), timers);
    board.work("complete_run", "t", token, json!({})).expect("accepted");
    assert_eq!(board.timers(), []);
    board.later(1_000);
    for timer in timers {
        board.fire(&timer);
        assert_eq!((board.last.len(), board.status("t")), (0, TaskStatus::WaitingInput));
    }
}

#[test]
fn a_time_in_the_far_future_is_the_end_of_time() {
    let mut board = with_policy(json!({ "timeout_ms": u64::MAX }));
    board.claim("t");
    assert_eq!(
        board.timer_rows()[0].due,
        factum_model::Timestamp::from_millisecond(253_402_207_200_000).expect("the end")
    );
}

/// Whoever is asked may take their time; the question is not taken away from them.
#[test]
fn silence_does_not_count_while_somebody_is_asked() {
    let mut board = Board::new();
    let policy = json!({ "inactivity_timeout_ms": 100, "timeout_ms": 10_000 });
    board.task("t", json!({ "status": "queued", "agent": "demo", "retry_policy": policy }));
    let asked = board.turn_asks("t");
    assert_eq!((board.status("t"), board.timers()), (TaskStatus::WaitingPermission, vec![named(TaskTimeout, 10_000)]));
    board.pass(5_000);
    // Nor while it is put aside in between.
    board.ok("pause_task", json!({ "task_id": "t" }));
    board.ok("resume_task", json!({ "task_id": "t" }));
    assert_eq!((board.status("t"), board.timers().len()), (TaskStatus::WaitingPermission, 1));
    board.allow(&asked);
    assert_eq!(board.status("t"), TaskStatus::Running);
    assert_eq!(
        board.timers(),
        [named(TaskInactivity, 5_100), named(TaskTimeout, 10_000)],
        "it has its whole time again"
    );
    board.pass(100);
    assert_eq!(board.status("t"), TaskStatus::TimedOut);
}

#[test]
fn what_was_decided_while_a_task_was_put_aside_is_not_waited_for() {
    let mut board = Board::new();
    let policy = json!({ "inactivity_timeout_ms": 100 });
    board.task("t", json!({ "status": "queued", "agent": "demo", "retry_policy": policy }));
    let asked = board.turn_asks("t");
    board.ok("pause_task", json!({ "task_id": "t" }));
    board.allow(&asked);
    board.ok("resume_task", json!({ "task_id": "t" }));
    assert_eq!((board.status("t"), board.timers()), (TaskStatus::Running, vec![named(TaskInactivity, 100)]));
}
