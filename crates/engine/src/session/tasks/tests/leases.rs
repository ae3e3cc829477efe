//! Workers: claims, leases that run out, tokens that are old, runs that are given back.

use factum_model::task::*;
use serde_json::{Value, json};

use super::board::{Board, LEASE_MS, OTHER_WORKER, WORKER};
use crate::session::tests::world::{CALLER, at, id};
use crate::session::workers::{self, holder};

fn queued(params: Value) -> Board {
    let mut board = Board::new();
    let mut task = json!({ "status": "queued", "queue": "q" });
    task.as_object_mut().expect("params").extend(params.as_object().cloned().unwrap_or_default());
    board.task("t", task);
    board
}

#[test]
fn a_claim_gives_the_run_to_one_worker() {
    let mut board =
        queued(json!({ "title": "Title", "scope": { "dir": "src" }, "retry_policy": { "timeout_ms": 500 } }));
    let run_id = board.attempt("t").run_id;
    let claimed = board.claim_run(&run_id).expect("claimed");
    assert_eq!((claimed.run_id.clone(), claimed.attempt_count, claimed.queue.as_str()), (run_id.clone(), 1, "q"));
    assert_eq!((claimed.lease_expires_at, claimed.timeout_at), (at(LEASE_MS as i64), Some(at(500))));
    assert_eq!((claimed.title.as_deref(), claimed.objective.as_str()), (Some("Title"), "do it"));
    assert_eq!((board.status("t"), board.attempt("t").worker.as_deref()), (TaskStatus::Running, Some(WORKER)));
    assert_eq!(board.ready("q"), []);
    let refusal = board.claim_run(&run_id).expect_err("somebody was faster");
    assert_eq!(refusal.details["cause"], json!("late_report"));
    let held = holder(&board.world.state, &run_id).expect("held");
    assert_eq!(
        (held.lease.token, held.worker.as_str(), held.cancel_requested, held.paused),
        (claimed.lease_token, WORKER, false, false)
    );
}

#[test]
fn only_the_holder_s_token_counts_and_only_from_the_holder() {
    let mut board = queued(json!({}));
    let token = board.claim("t");
    for command in ["report_run", "complete_run", "release_run"] {
        let refusal = board.work(command, "t", token + 1, json!({})).expect_err("refused");
        assert_eq!(refusal.details["cause"], json!("late_report"), "{command}");
    }
    let run_id = board.attempt("t").run_id;
    let params = json!({ "run_id": run_id, "lease_token": token });
    let command: factum_model::commands::CompleteRun = serde_json::from_value(params).expect("params");
    board.world.caller = OTHER_WORKER;
    let refusal = board.decide(|state, context| workers::complete_run(state, &command, context)).expect_err("refused");
    board.world.caller = CALLER;
    assert_eq!(refusal.details["cause"], json!("late_report"), "a token that was overheard is of no use");
    for command in ["complete_task", "append_task_progress"] {
        let refusal = board.refused(command, json!({ "task_id": "t", "run_id": run_id }));
        assert_eq!(refusal.details["cause"], json!("late_report"), "{command} without the token");
    }
    board.work("complete_run", "t", token, json!({})).expect("the holder's own word");
}

#[test]
fn a_worker_that_vanishes_makes_its_task_lost_and_nothing_begins_by_itself() {
    let mut board = queued(json!({ "retry_policy": { "max_attempts": 5 } }));
    let token = board.claim("t");
    board.expire("t");
    let row = board.known("t");
    assert_eq!((row.status, board.ready("q")), (TaskStatus::Lost, vec![]), "what it did may not bear repeating");
    let attempt = row.attempt.expect("an attempt");
    assert_eq!((attempt.status, attempt.worker.as_deref()), (AttemptStatus::Lost, Some(WORKER)));
    assert_eq!(row.ended_at, None, "lost is not an end");
    for command in ["report_run", "complete_run", "release_run"] {
        let late = board.work(command, "t", token, json!({})).expect_err("late");
        assert_eq!(late.details["cause"], json!("late_report"), "{command}");
    }
    let run_id = attempt.run_id;
    board
        .decide(|state, context| workers::record_late_report(state, &run_id, token, "complete_run", context))
        .expect("recorded");
    assert_eq!(board.last[0].fact.type_name(), "runtime.warning");
    board.ok("resume_task", json!({ "task_id": "t" }));
    let second = board.attempt("t");
    assert_eq!(
        (second.attempt_count, second.cause, board.ready("q")),
        (2, AttemptCause::WorkerLost, vec![second.run_id])
    );
}

#[test]
fn a_policy_may_say_that_a_lost_run_is_done_again() {
    let backoff = json!({ "initial_ms": 50, "jitter_percent": 0 });
    let policy = json!({ "max_attempts": 3, "on_lost": "retry", "backoff": backoff });
    let mut board = queued(json!({ "retry_policy": policy }));
    board.claim("t");
    board.expire("t");
    assert_eq!(board.status("t"), TaskStatus::Retrying);
    board.pass(50);
    assert_eq!((board.status("t"), board.attempt("t").cause), (TaskStatus::Queued, AttemptCause::WorkerLost));
    board.claim("t");
    board.expire("t");
    board.pass(100);
    board.claim("t");
    board.expire("t");
    assert_eq!((board.status("t"), board.older("t").len()), (TaskStatus::Lost, 2), "no attempt is left");
}

#[test]
fn what_is_lost_can_be_recovered_retried_or_failed() {
    let ends = [
        ("retry_task", json!({ "reason": "again" }), TaskStatus::Queued),
        ("resume_task", json!({}), TaskStatus::Queued),
        ("fail_task", json!({ "error": { "category": "gone" } }), TaskStatus::Failed),
        ("complete_task", json!({}), TaskStatus::Completed),
        ("cancel_task", json!({}), TaskStatus::Cancelled),
    ];
    for (command, mut params, expected) in ends {
        let mut board = queued(json!({}));
        board.claim("t");
        board.expire("t");
        params["task_id"] = json!("t");
        board.ok(command, params);
        assert_eq!(board.status("t"), expected, "{command}");
    }
}

#[test]
fn a_lease_that_was_replaced_expires_for_nobody() {
    let mut board = queued(json!({}));
    let first = board.claim("t");
    let run_id = board.attempt("t").run_id;
    board.work("release_run", "t", first, json!({ "reason": "not mine" })).expect("accepted");
    assert_eq!((board.status("t"), board.ready("q")), (TaskStatus::Queued, vec![run_id.clone()]));
    assert_eq!(board.attempt("t").worker, None);
    let second = board.claim("t");
    assert!(second > first, "tokens rise");
    board.last.clear();
    board.decide(|state, context| workers::expire_lease(state, &run_id, first, context)).expect("nothing");
    assert_eq!((board.last.len(), board.status("t")), (0, TaskStatus::Running));
    board.work("complete_run", "t", first, json!({})).expect_err("the old token is old");
    board.work("complete_run", "t", second, json!({})).expect("accepted");
    assert_eq!(board.attempt("t").attempt_count, 1, "a run that was given back is the same attempt");
}

#[test]
fn leases_and_waiting_runs_survive_a_crash() {
    let mut board = queued(json!({}));
    board.task("u", json!({ "status": "queued", "queue": "q", "priority": "high" }));
    let token = board.claim("t");
    let ready = board.ready("q");
    board.crash();
    assert_eq!((board.ready("q"), board.token("t")), (ready, token));
    board.work("complete_run", "t", token, json!({})).expect("accepted");
    assert_eq!(holder(&board.world.state, &id("run_none")).map(|held| held.worker), None);
}

#[test]
fn urgent_runs_are_claimed_first_and_then_the_oldest() {
    let mut board = Board::new();
    for (name, priority) in [("a", "low"), ("b", "normal"), ("c", "urgent"), ("d", "normal")] {
        board.task(name, json!({ "status": "queued", "queue": "q", "priority": priority }));
        board.later(1);
    }
    let order = ["c", "b", "d", "a"].map(|name| board.attempt(name).run_id);
    assert_eq!(board.ready("q"), order);
    board.ok("update_task", json!({ "task_id": "a", "priority": "urgent" }));
    let order = ["a", "c", "b", "d"].map(|name| board.attempt(name).run_id);
    assert_eq!(board.ready("q"), order);
}

#[test]
fn a_worker_reports_what_it_sees_and_never_what_a_task_is() {
    let mut board = queued(json!({}));
    let token = board.claim("t");
    let fact = json!({ "type": "run.status", "payload": { "phase": "working", "title": "Reading" } });
    board.work("report_run", "t", token, json!({ "facts": [fact] })).expect("accepted");
    let scope = &board.last[0].scope;
    assert_eq!((scope.task_id.clone(), scope.run_id.clone()), (Some(id("t")), Some(board.attempt("t").run_id)));
    for class in ["task.completed", "session.updated", "turn.completed", "no.such"] {
        let refusal = board.work("report_run", "t", token, json!({ "facts": [{ "type": class, "payload": {} }] }));
        assert_eq!(refusal.expect_err("refused").details["type"], json!(class));
    }
}

#[test]
fn a_worker_that_is_told_to_stop_may_settle_as_it_likes() {
    for command in ["complete_run", "fail_run", "release_run"] {
        let mut board = queued(json!({ "retry_policy": { "max_attempts": 5 } }));
        let token = board.claim("t");
        board.ok("cancel_task", json!({ "task_id": "t", "reason": "enough" }));
        assert_eq!(board.status("t"), TaskStatus::Cancelling);
        assert!(holder(&board.world.state, &board.attempt("t").run_id).expect("held").cancel_requested);
        let params = if command == "fail_run" { json!({ "error": { "category": "stopped" } }) } else { json!({}) };
        let result = board.work(command, "t", token, params).expect("accepted");
        assert_eq!(
            (board.status("t"), result["task_status"].clone()),
            (TaskStatus::Cancelled, json!("cancelled")),
            "{command}"
        );
        assert_eq!(board.known("t").status_reason.as_deref(), Some("enough"), "{command}");
    }
}

/// A worker that goes on as if nothing had been said keeps its lease alive, and the task does not wait for it.
#[test]
fn a_worker_that_does_not_stop_is_given_up() {
    let mut board = queued(json!({}));
    let token = board.claim("t");
    board.ok("cancel_task", json!({ "task_id": "t" }));
    let grace = i64::try_from(board.world.limits.task_cancel_grace_ms).expect("a short time");
    board.pass(grace - 1);
    assert_eq!(board.status("t"), TaskStatus::Cancelling, "it has some time");
    board.pass(1);
    assert_eq!(board.status("t"), TaskStatus::Cancelled);
    let late = board.work("complete_run", "t", token, json!({})).expect_err("it holds nothing any more");
    assert_eq!(late.details.get("cause"), Some(&json!("late_report")), "{late:?}");
}

/// Ids are no order, and a millisecond is long.
#[test]
fn runs_of_one_instant_wait_in_the_order_they_came() {
    let mut board = Board::new();
    let names: Vec<String> = (0..20).map(|number| format!("t{number:02}")).collect();
    names.iter().for_each(|name| board.task(name, json!({ "status": "queued", "queue": "q" })));
    let runs: Vec<_> = names.iter().map(|name| board.attempt(name).run_id).collect();
    assert_eq!(board.ready("q"), runs);
    let token = board.claim("t00");
    board.work("release_run", "t00", token, json!({})).expect("given back");
    assert_eq!(board.ready("q").last(), Some(&runs[0]), "one that is given back waits behind the others");
}
