//! Tasks that wait for others: they start by themselves when the last one is complete, and not before.

use factum_model::task::*;
use serde_json::json;

use super::super::agenda::REACH_MAX;
use super::board::Board;

/// `a` and `b` are accepted, `t` waits for both.
fn behind_two() -> Board {
    let mut board = Board::new();
    board.task("a", json!({ "status": "queued" }));
    board.task("b", json!({ "status": "queued" }));
    board.task("t", json!({ "blocked_by": ["a", "b"] }));
    assert_eq!(board.status("t"), TaskStatus::Blocked);
    board
}

fn complete(board: &mut Board, name: &str) {
    board.ok("complete_task", json!({ "task_id": name }));
}

#[test]
fn a_blocked_task_starts_with_its_last_blocker() {
    let mut board = behind_two();
    let refusal = board.refused("start_task", json!({ "task_id": "t" }));
    assert_eq!(refusal.details["status"], json!("blocked"));
    assert_eq!(refusal.details["blockers"].as_array().map(Vec::len), Some(2));
    board.later(5);
    complete(&mut board, "a");
    assert_eq!(board.status("t"), TaskStatus::Blocked);
    complete(&mut board, "b");
    assert_eq!((board.status("t"), board.attempt("t").attempt_count), (TaskStatus::Running, 1));
    for (task, relationship, other) in [("a", Relationship::Blocks, "t"), ("t", Relationship::BlockedBy, "a")] {
        let edge = board.edge_row(task, relationship, other).expect("an edge");
        assert_eq!((edge.status, edge.from.as_str(), edge.to.as_str()), (EdgeStatus::Satisfied, "a", "t"));
        assert_eq!(edge.updated_at.as_millisecond() - edge.created_at.as_millisecond(), 5);
    }
}

#[test]
fn a_blocker_that_did_not_complete_keeps_it_blocked_until_it_does() {
    let mut board = behind_two();
    complete(&mut board, "a");
    board.ok("fail_task", json!({ "task_id": "b", "error": { "category": "bad" } }));
    assert_eq!(board.status("t"), TaskStatus::Blocked);
    board.ok("retry_task", json!({ "task_id": "b", "reason": "again" }));
    assert_eq!(board.status("t"), TaskStatus::Blocked);
    complete(&mut board, "b");
    assert_eq!(board.status("t"), TaskStatus::Running);

    let mut board = behind_two();
    complete(&mut board, "b");
    board.ok("cancel_task", json!({ "task_id": "a" }));
    board.pass(60_000);
    assert_eq!(board.statuses(&["a", "t"]), [TaskStatus::Cancelled, TaskStatus::Blocked]);
}

#[test]
fn unlinking_the_last_blocker_starts_it() {
    let mut board = behind_two();
    board.ok("unlink_tasks", json!({ "from": "a", "to": "t", "relationship": "blocks" }));
    assert_eq!(board.status("t"), TaskStatus::Blocked);
    board.ok("unlink_tasks", json!({ "from": "t", "to": "b", "relationship": "blocked_by" }));
    assert_eq!(board.status("t"), TaskStatus::Running);
    assert_eq!(board.edge_row("a", Relationship::Blocks, "t"), None);
    let refusal = board.refused("unlink_tasks", json!({ "from": "a", "to": "t", "relationship": "blocks" }));
    assert_eq!(refusal.message, "there is no such edge");
}

#[test]
fn a_blocker_that_is_complete_already_does_not_block() {
    let mut board = Board::new();
    board.task("a", json!({ "status": "queued" }));
    complete(&mut board, "a");
    board.task("t", json!({ "status": "queued", "blocked_by": ["a", "a"] }));
    assert_eq!((board.status("t"), board.known("t").edges, board.known("a").edges), (TaskStatus::Running, 1, 1));
    board.task("u", json!({}));
    board.ok("link_tasks", json!({ "from": "a", "to": "u", "relationship": "blocks" }));
    assert_eq!(board.status("u"), TaskStatus::Accepted);
    let edge = board.edge_row("u", Relationship::BlockedBy, "a").expect("an edge");
    assert_eq!(edge.status, EdgeStatus::Satisfied);
}

#[test]
fn a_draft_and_what_was_put_aside_do_not_start_by_themselves() {
    let mut board = Board::new();
    board.task("a", json!({ "status": "queued" }));
    board.task("draft", json!({ "status": "draft", "blocked_by": ["a"] }));
    board.task("aside", json!({ "blocked_by": ["a"] }));
    board.ok("pause_task", json!({ "task_id": "aside" }));
    complete(&mut board, "a");
    assert_eq!(board.statuses(&["draft", "aside"]), [TaskStatus::Draft, TaskStatus::Paused]);
    board.ok("resume_task", json!({ "task_id": "aside" }));
    board.ok("start_task", json!({ "task_id": "draft" }));
    assert_eq!(board.statuses(&["draft", "aside"]), [TaskStatus::Running, TaskStatus::Running]);
}

#[test]
fn a_blocker_linked_to_a_paused_task_leaves_it_paused() {
    let mut board = Board::new();
    board.task("a", json!({ "status": "queued" }));
    board.task("t", json!({}));
    board.ok("pause_task", json!({ "task_id": "t" }));
    board.ok("link_tasks", json!({ "from": "a", "to": "t", "relationship": "blocks" }));
    assert_eq!(board.status("t"), TaskStatus::Paused);
    board.ok("resume_task", json!({ "task_id": "t" }));
    assert_eq!(board.status("t"), TaskStatus::Blocked);
    complete(&mut board, "a");
    assert_eq!(board.status("t"), TaskStatus::Running);
}

#[test]
fn what_is_blocked_while_it_works_is_not_begun_twice() {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued" }));
    board.ok("update_task", json!({ "task_id": "t", "status": "blocked", "status_reason": "no credential" }));
    board.ok("pause_task", json!({ "task_id": "t" }));
    board.ok("resume_task", json!({ "task_id": "t" }));
    assert_eq!((board.status("t"), board.attempt("t").attempt_count), (TaskStatus::Blocked, 1));
    board.ok("update_task", json!({ "task_id": "t", "status": "running" }));
    assert_eq!(board.attempt("t").attempt_count, 1);
}

#[test]
fn only_what_has_not_begun_can_be_made_to_wait() {
    let mut board = Board::new();
    board.task("a", json!({}));
    board.task("t", json!({ "status": "queued" }));
    let refusal = board.refused("link_tasks", json!({ "from": "a", "to": "t", "relationship": "blocks" }));
    assert_eq!(refusal.details["status"], json!("running"));
}

#[test]
fn one_completion_reaches_any_number_of_tasks_in_pieces() {
    let mut board = Board::new();
    let count = REACH_MAX * 2 + 7;
    board.task("a", json!({ "status": "queued" }));
    let names: Vec<String> = (0..count).map(|n| format!("t{n:03}")).collect();
    for name in &names {
        board.task(name, json!({ "blocked_by": ["a"], "queue": "q" }));
    }
    complete(&mut board, "a");
    assert_eq!(board.ready("q").len(), REACH_MAX);
    assert!(board.world.state.unfinished(), "the rest is not forgotten");
    board.snapshot();
    board.crash();
    assert_eq!(board.ready("q").len(), REACH_MAX * 2, "recovery carries on");
    board.carry_on();
    assert_eq!(board.ready("q").len(), count);
    assert!(names.iter().all(|name| board.status(name) == TaskStatus::Queued));
}

#[test]
fn an_edge_that_is_satisfied_keeps_why_and_since_when_it_is_there() {
    let mut board = Board::new();
    board.task("a", json!({ "status": "queued" }));
    board.task("b", json!({}));
    board.later(5);
    board.ok("link_tasks", json!({ "from": "a", "to": "b", "relationship": "blocks", "reason": "needs the numbers" }));
    let before = board.edge_row("a", Relationship::Blocks, "b").expect("an edge");
    board.later(5);
    board.snapshot();
    board.crash();
    board.ok("complete_task", json!({ "task_id": "a" }));
    let after = board.edge_row("a", Relationship::Blocks, "b").expect("an edge");
    let expected = Edge { status: EdgeStatus::Satisfied, updated_at: board.world.now, ..before };
    assert_eq!(after, expected);
    assert_eq!(after.reason.as_deref(), Some("needs the numbers"));
}

/// Where a task waits for others nobody can talk it out of that.
#[test]
fn what_waits_for_others_is_not_said_to_wait_for_something_else() {
    let mut board = Board::new();
    board.task("b", json!({}));
    board.task("t", json!({ "blocked_by": ["b"] }));
    for word in ["waiting_input", "waiting_permission", "waiting_resource", "running", "queued"] {
        let refusal = board.call("update_task", json!({ "task_id": "t", "status": word })).expect_err("refused");
        assert_eq!(refusal.details["status"], "blocked", "{word}: {refusal:?}");
    }
    let refusal = board.call("complete_task", json!({ "task_id": "t" })).expect_err("refused");
    assert_eq!(refusal.details["missing"], json!([{ "kind": "blocker", "task_id": "b", "status": "accepted" }]));
}

#[test]
fn a_task_says_that_what_it_waits_for_will_not_complete() {
    let reason = |board: &Board, name: &str| board.known(name).status_reason.expect("a reason");
    let mut board = behind_two();
    assert_eq!(reason(&board, "t"), "waits for other tasks to complete");
    board.ok("fail_task", json!({ "task_id": "a", "error": { "category": "bad" } }));
    assert_eq!(
        reason(&board, "t"),
        "waits for a, which failed; retry_task tries that again, unlink_tasks lets this one go on without it"
    );
    board.ok("retry_task", json!({ "task_id": "a", "reason": "again" }));
    assert_eq!(reason(&board, "t"), "waits for other tasks to complete");
    board.ok("cancel_task", json!({ "task_id": "b" }));
    board.ok("complete_task", json!({ "task_id": "b" }));
    assert_eq!(reason(&board, "t"), "waits for b, which was cancelled; unlink_tasks lets this one go on without it");
    // Also one that comes to wait for it only then, and however long ago it ended.
    for name in ["c", "d", "e", "f", "g"] {
        board.task(name, json!({}));
        complete(&mut board, name);
    }
    board.task("u", json!({ "blocked_by": ["b"] }));
    assert!(reason(&board, "u").starts_with("waits for b, which was cancelled"));
    board.task("v", json!({}));
    board.ok("link_tasks", json!({ "from": "b", "to": "v", "relationship": "blocks" }));
    assert!(reason(&board, "v").starts_with("waits for b, which was cancelled"));
    board.ok("unlink_tasks", json!({ "from": "b", "to": "v", "relationship": "blocks" }));
    assert_eq!(board.status("v"), TaskStatus::Running);
}

#[test]
fn all_that_wait_for_it_say_so_however_many() {
    let mut board = Board::new();
    board.task("first", json!({ "status": "queued" }));
    let names: Vec<String> = (0..REACH_MAX * 3).map(|number| format!("t{number:02}")).collect();
    names.iter().for_each(|name| board.task(name, json!({ "blocked_by": ["first"] })));
    board.ok("fail_task", json!({ "task_id": "first", "error": { "category": "bad" } }));
    board.snapshot();
    board.crash();
    board.carry_on();
    let told =
        |name: &String| board.known(name).status_reason.is_some_and(|reason| reason.contains("first, which failed"));
    assert!(names.iter().all(told));
}
