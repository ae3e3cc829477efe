//! Attempts: each one is a record of its own and stays as it was, however many follow.

use factum_model::task::*;
use factum_model::value::Failure;
use serde_json::json;

use super::board::Board;
use crate::session::tests::world::{CALLER, at, failure};

fn attempts(board: &Board, name: &str) -> Vec<Attempt> {
    let older = board.older(name).into_iter().map(|bytes| serde_json::from_slice(&bytes).expect("an attempt"));
    older.chain([board.attempt(name)]).collect()
}

#[test]
fn a_retry_adds_an_attempt_and_changes_none() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "input_refs": ["in:1"] }));
    board.later(10);
    board.ok("fail_task", json!({ "task_id": "t", "error": { "category": "bad", "message": "it broke" } }));
    let first = board.attempt("t");
    board.later(10);
    board.ok("retry_task", json!({ "task_id": "t", "reason": "again", "input_refs": ["in:2"] }));
    assert_eq!(board.older("t"), [serde_json::to_vec(&first).expect("an attempt")]);
    let second = board.attempt("t");
    assert_eq!((first.status, first.ended_at), (AttemptStatus::Failed, Some(at(10))));
    assert_eq!(first.last_error.map(|error| error.category), Some("bad".to_owned()));
    assert_eq!((second.status, second.cause, second.attempt_count), (AttemptStatus::Running, AttemptCause::Retry, 2));
    assert_eq!((first.input_refs, second.input_refs), (vec!["in:1".to_owned()], vec!["in:2".to_owned()]));
    assert_ne!((first.run_id, first.attempt_id), (second.run_id, second.attempt_id));
    assert_eq!(second.last_error, None, "the new one has no error yet; the task remembers the old one");
    assert!(board.known("t").last_error.is_some());
}

#[test]
fn a_retry_of_work_under_way_ends_it_first() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued" }));
    board.ok("retry_task", json!({ "task_id": "t", "reason": "wrong branch" }));
    let all = attempts(&board, "t");
    assert_eq!(
        all.iter().map(|one| one.status).collect::<Vec<_>>(),
        [AttemptStatus::Cancelled, AttemptStatus::Running]
    );
    let error = all[0].last_error.clone().expect("why it ended");
    assert_eq!((error.category.as_str(), error.message.as_str()), ("superseded", "wrong branch"));
    assert_eq!(all[1].cause, AttemptCause::Rerun);
}

#[test]
fn a_retry_takes_the_run_from_its_worker() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "queue": "q" }));
    let token = board.claim("t");
    let old = board.attempt("t").run_id;
    board.ok("retry_task", json!({ "task_id": "t", "reason": "too slow" }));
    let late = board.refused("complete_run", json!({ "run_id": old, "lease_token": token }));
    assert_eq!(late.details["cause"], json!("late_report"));
    assert_eq!(board.ready("q"), [board.attempt("t").run_id]);
}

#[test]
fn a_new_attempt_goes_on_where_the_last_checkpoint_was() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "queue": "q" }));
    let token = board.claim("t");
    let report = json!({ "checkpoint_refs": ["cp:1", "cp:2", "cp:1"] });
    board.work("report_run", "t", token, report).expect("accepted");
    assert_eq!(board.attempt("t").checkpoint_refs, ["cp:2", "cp:1"], "the newest stands last");
    let failed = json!({ "error": { "category": "bad" }, "output_refs": ["out:1"], "checkpoint_refs": ["cp:3"] });
    board.work("fail_run", "t", token, failed).expect("accepted");
    board.ok("retry_task", json!({ "task_id": "t", "reason": "again" }));
    let second = board.attempt("t");
    assert_eq!(second.checkpoint_refs, ["cp:2", "cp:1", "cp:3"]);
    assert_eq!(second.output_refs, Vec::<String>::new(), "output is of the attempt that made it");
    let claimed = board.claim_run(&second.run_id).expect("claimed");
    assert_eq!((claimed.attempt_count, claimed.checkpoint_refs), (2, second.checkpoint_refs));
}

#[test]
fn whoever_is_named_does_it_and_otherwise_whoever_is_responsible() {
    let mut board = Board::new();
    let worker = |board: &Board| board.attempt("t").worker.expect("a worker");
    let cases = [
        (json!({}), json!({}), CALLER),
        (json!({ "owner": "owner" }), json!({}), "owner"),
        (json!({ "owner": "owner", "assignee": "assignee" }), json!({}), "assignee"),
        (json!({ "assignee": "assignee" }), json!({ "worker": "named" }), "named"),
    ];
    for (created, mut started, expected) in cases {
        board = Board::new();
        board.task("t", created);
        started["task_id"] = json!("t");
        board.ok("start_task", started);
        assert_eq!(worker(&board), expected);
    }
    board.ok("retry_task", json!({ "task_id": "t", "reason": "again", "worker": "second" }));
    assert_eq!(worker(&board), "second");
}

#[test]
fn start_task_begins_the_first_attempt_only() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "queue": "q" }));
    let token = board.claim("t");
    board.work("complete_run", "t", token, json!({})).expect("accepted");
    for status in [TaskStatus::WaitingResource, TaskStatus::Blocked] {
        board.ok("update_task", json!({ "task_id": "t", "status": status }));
        let refusal = board.refused("start_task", json!({ "task_id": "t" }));
        assert_eq!(refusal.details["status"], json!(status));
    }
    board.ok("retry_task", json!({ "task_id": "t", "reason": "again" }));
    assert_eq!((board.status("t"), board.attempt("t").cause), (TaskStatus::Queued, AttemptCause::Rerun));
}

#[test]
fn a_task_that_waited_before_it_began_can_be_started() {
    for status in ["waiting_input", "waiting_permission", "waiting_resource", "blocked"] {
        let mut board = Board::new();
        board.task("t", json!({}));
        board.ok("update_task", json!({ "task_id": "t", "status": status }));
        board.ok("start_task", json!({ "task_id": "t" }));
        assert_eq!(board.status("t"), TaskStatus::Running, "{status}");
    }
}

#[test]
fn of_what_never_began_everything_is_known() {
    let mut board = Board::new();
    board.task("t", json!({}));
    board.ok("pause_task", json!({ "task_id": "t" }));
    for status in ["stale", "unknown"] {
        let refusal = board.refused("update_task", json!({ "task_id": "t", "status": status }));
        assert_eq!(refusal.details["status"], json!("paused"), "{status}");
    }
}

#[test]
fn a_draft_is_accepted_before_it_begins() {
    for (command, params) in [("start_task", json!({})), ("update_task", json!({ "status": "queued" }))] {
        let mut board = Board::new();
        board.task("t", json!({ "status": "draft" }));
        let mut params = params;
        params["task_id"] = json!("t");
        board.ok(command, params);
        let facts: Vec<_> = board.last.iter().map(|event| event.fact.type_name()).collect();
        assert_eq!(facts, ["task.accepted", "task.attempt.started", "task.started"], "{command}");
    }
}

#[test]
fn what_failed_before_it_began_can_be_begun() {
    let mut board = Board::new();
    board.task("t", json!({}));
    board.ok("fail_task", json!({ "task_id": "t", "error": { "category": "refused" } }));
    let result = board.ok("retry_task", json!({ "task_id": "t", "reason": "try it" }));
    assert_eq!((result["attempt_count"].clone(), board.attempt("t").cause), (json!(1), AttemptCause::First));
}

/// CONTRACT: a new attempt for each crash recovery. It is the same turn that goes on, and no retry policy counts it.
#[test]
fn a_crash_in_the_middle_of_an_agent_s_turn_is_another_attempt() {
    let mut board = Board::new();
    let policy = json!({ "max_attempts": 2 });
    board.task("t", json!({ "status": "queued", "agent": "demo", "retry_policy": policy }));
    let first = board.attempt("t");
    board.crash();
    let second = board.attempt("t");
    let cut_off = attempts(&board, "t").remove(0);
    assert_eq!((cut_off.run_id, cut_off.status), (first.run_id.clone(), AttemptStatus::Failed));
    assert_eq!(cut_off.last_error.map(|error| error.category), Some("process_ended".to_owned()));
    assert_eq!((second.cause, second.attempt_count), (AttemptCause::CrashRecovery, 2));
    assert_eq!((&second.turn_id, &second.thread_id), (&first.turn_id, &first.thread_id));
    assert_ne!((second.run_id, second.attempt_id), (first.run_id, first.attempt_id));
    assert_eq!(board.status("t"), TaskStatus::Running);
    let flaky = Failure { retryable: true, ..failure("flaky") };
    board.turn_fails("t", flaky.clone());
    assert_eq!((board.attempt("t").cause, board.status("t")), (AttemptCause::Retry, TaskStatus::Running));
    board.turn_fails("t", flaky);
    assert_eq!((attempts(&board, "t").len(), board.status("t")), (3, TaskStatus::Failed), "both tries are used up");
}

#[test]
fn an_attempt_that_goes_to_somebody_else_says_so() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "assignee": "ann", "retry_policy": { "max_attempts": 2 } }));
    let error = json!({ "category": "bad" });
    board.ok("update_task", json!({ "task_id": "t", "assignee": "bob" }));
    board.ok("fail_task", json!({ "task_id": "t", "error": error }));
    let second = board.attempt("t");
    assert_eq!((second.cause, second.worker.as_deref()), (AttemptCause::RoutingChanged, Some("bob")));
    board.ok("fail_task", json!({ "task_id": "t", "error": error }));
    board.ok("retry_task", json!({ "task_id": "t", "reason": "again" }));
    assert_eq!(board.attempt("t").cause, AttemptCause::Retry, "the same does it again");
    board.ok("retry_task", json!({ "task_id": "t", "reason": "again", "worker": "cid" }));
    let fourth = board.attempt("t");
    assert_eq!((fourth.cause, fourth.worker.as_deref()), (AttemptCause::RoutingChanged, Some("cid")));
}
