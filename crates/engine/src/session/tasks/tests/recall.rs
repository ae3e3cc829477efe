//! Tasks that ended leave the state; a command that names one brings it back as it was.

use factum_model::task::TaskStatus::*;
use factum_model::task::*;
use factum_model::{ErrorCode, Fact};
use serde_json::json;

use super::super::state::ENDED_KEPT_MAX;
use super::board::Board;
use super::invariants::check_index;
use crate::session::tasks::{self, keys};
use crate::session::tests::world::{ACCOUNT, id};

/// Ends so many tasks that whatever ended before has left.
fn crowd_out(board: &mut Board) {
    for n in 0..=ENDED_KEPT_MAX {
        let name = format!("x{}_{n}", board.world.state.sequence);
        board.task(&name, json!({}));
        board.ok("cancel_task", json!({ "task_id": name }));
    }
}

fn is_at_hand(board: &Board, name: &str) -> bool {
    board.world.state.tasks.get(&id(name)).is_some()
}

/// A task that failed once and has left.
fn gone() -> Board {
    let mut board = Board::new();
    board.task("t", json!({ "status": "queued", "assignee": "bob", "title": "Gone" }));
    board.ok("fail_task", json!({ "task_id": "t", "error": { "category": "bad" } }));
    let row = board.known("t");
    crowd_out(&mut board);
    assert!(!is_at_hand(&board, "t"));
    assert_eq!(board.known("t"), row, "its row is all there is of it");
    board
}

#[test]
fn it_comes_back_as_it_was_and_its_old_rows_go() {
    let mut board = gone();
    board.ok("retry_task", json!({ "task_id": "t", "reason": "again" }));
    assert!(matches!(board.last[0].fact, Fact::TaskRecalled(_)));
    let row = board.known("t");
    assert_eq!((row.status, row.title.as_deref(), board.older("t").len()), (Running, Some("Gone"), 1));
    let listed = |status| {
        let key = keys::listed(keys::by_status(ACCOUNT, status), &row);
        board.world.index.contains_key(&key)
    };
    assert!(listed(Running) && !listed(Failed), "it is in one list");
    check_index(&board);
    board.crash_without_a_snapshot();
}

#[test]
fn it_is_archived_like_any_other() {
    let mut board = gone();
    board.ok("update_task", json!({ "task_id": "t", "status": "archived" }));
    assert_eq!(board.status("t"), Archived);
    check_index(&board);
    crowd_out(&mut board);
    let refusal = board.refused("update_task", json!({ "task_id": "t", "title": "New" }));
    assert_eq!(refusal.details["status"], json!("archived"));
}

#[test]
fn what_waits_for_it_is_not_forgotten() {
    let mut board = Board::new();
    board.task("b", json!({ "status": "queued" }));
    board.task("t", json!({ "blocked_by": ["b"] }));
    board.ok("fail_task", json!({ "task_id": "b", "error": { "category": "bad" } }));
    crowd_out(&mut board);
    assert!(!is_at_hand(&board, "b"));
    assert_eq!(board.status("t"), Blocked);
    board.ok("retry_task", json!({ "task_id": "b", "reason": "again" }));
    board.ok("complete_task", json!({ "task_id": "b" }));
    assert_eq!(board.status("t"), Running);
}

#[test]
fn an_edge_to_it_counts_at_both_ends() {
    let mut board = gone();
    board.task("u", json!({ "blocked_by": ["t"] }));
    assert_eq!((board.known("t").edges, board.known("u").edges), (1, 1));
    crowd_out(&mut board);
    board.ok("unlink_tasks", json!({ "from": "t", "to": "u", "relationship": "blocks" }));
    assert_eq!((board.known("t").edges, board.known("u").edges, board.status("u")), (0, 0, Running));
}

/// The one that is next to leave is not pushed out by the other that comes back.
#[test]
fn both_ends_of_an_edge_are_there_when_it_changes() {
    let mut board = gone();
    board.task("p", json!({}));
    board.ok("link_tasks", json!({ "from": "p", "to": "t", "relationship": "parent" }));
    crowd_out(&mut board);
    board.ok("cancel_task", json!({ "task_id": "p" }));
    for n in 1..ENDED_KEPT_MAX {
        board.task(&format!("y{n}"), json!({}));
        board.ok("cancel_task", json!({ "task_id": format!("y{n}") }));
    }
    assert!(is_at_hand(&board, "p") && !is_at_hand(&board, "t"));
    board.ok("unlink_tasks", json!({ "from": "p", "to": "t", "relationship": "parent" }));
    assert_eq!((board.known("p").edges, board.known("t").edges), (0, 0));
}

#[test]
fn one_with_something_open_below_it_stays() {
    let mut board = Board::new();
    board.task("p", json!({}));
    board.task("c", json!({ "parent_task_id": "p" }));
    board.task("g", json!({ "parent_task_id": "c" }));
    for name in ["c", "p"] {
        board.ok("fail_task", json!({ "task_id": name, "error": { "category": "bad" } }));
    }
    crowd_out(&mut board);
    assert!(is_at_hand(&board, "p") && is_at_hand(&board, "c"));
    board.ok("unlink_tasks", json!({ "from": "c", "to": "g", "relationship": "parent" }));
    crowd_out(&mut board);
    assert!(!is_at_hand(&board, "p") && !is_at_hand(&board, "c"), "nothing holds them any more");
}

#[test]
fn its_id_is_taken_and_a_row_that_is_behind_is_told_apart() {
    let mut board = gone();
    let refusal = board.refused("create_task", json!({ "task_id": "t" }));
    assert_eq!(refusal.code, ErrorCode::Conflict);
    let stale = TaskRow { status: Running, ..board.known("t") };
    let retry = serde_json::from_value(json!({ "task_id": "t", "reason": "again" })).expect("params");
    let refusal =
        board.decide(|state, context| tasks::retry_task(state, std::slice::from_ref(&stale), &retry, context));
    assert_eq!(refusal.expect_err("behind").details["cause"], json!("stale_row"));
    let create = serde_json::from_value(json!({ "task_id": "t", "objective": "x" })).expect("params");
    let refusal = board
        .decide(|state, context| tasks::create_task(state, &id("s1"), "demo", &[stale], &create, context))
        .expect_err("behind");
    assert_eq!(refusal.details["cause"], json!("stale_row"), "and it is not made a second time");
    let elsewhere = TaskRow { session_id: id("s2"), ..board.known("t") };
    let refusal = board.decide(|state, context| tasks::retry_task(state, &[elsewhere], &retry, context));
    assert_eq!(refusal.expect_err("of another session").code, ErrorCode::NotFound);
}

#[test]
fn the_state_stays_small_however_many_there_were() {
    let mut board = Board::new();
    (0..20).for_each(|_| crowd_out(&mut board));
    assert_eq!(board.world.state.tasks.in_memory(), ENDED_KEPT_MAX);
    let total: u64 = board.world.state.tasks.counts.values().sum();
    assert_eq!(total as usize, 20 * (ENDED_KEPT_MAX + 1), "all of them are counted");
}
