//! Tasks may be large: what follows from a fact by itself goes on in as many commits as it takes, each of a bounded size.

use std::collections::BTreeSet;

use factum_model::id::TaskId;
use factum_model::task::{AttemptCause, TaskStatus::*};
use serde_json::json;

use super::super::weight::REACH_BYTES_MAX;
use super::board::Board;
use crate::session::tasks;

/// Of the objective of a large task.
const LARGE: usize = 6 << 10;
const COUNT: usize = 20;

fn large(board: &mut Board, name: &str, mut params: serde_json::Value) {
    params["objective"] = json!("x".repeat(LARGE));
    board.task(name, params);
}

/// About what the last commit takes: its facts, and the rows of the tasks they are about.
fn last_bytes(board: &Board) -> usize {
    let facts: usize = board.last.iter().map(|event| event.encode().expect("an event").len()).sum();
    let touched: BTreeSet<&TaskId> = board.last.iter().filter_map(|event| event.scope.task_id.as_ref()).collect();
    facts + touched.len() * LARGE
}

/// Carries on piece by piece. No piece is much larger than the bound: that it has room is known before a step is taken.
fn carry_on(board: &mut Board) {
    assert!(board.world.state.has_agenda(), "more than one commit may have");
    loop {
        assert!(last_bytes(board) < REACH_BYTES_MAX + 4 * LARGE, "{} bytes in one commit", last_bytes(board));
        if !board.world.state.has_agenda() {
            return;
        }
        board.decide(tasks::continue_tasks).expect("goes on");
        assert!(!board.last.is_empty(), "it comes to an end");
    }
}

fn names(prefix: &str) -> Vec<String> {
    (0..COUNT).map(|number| format!("{prefix}{number:02}")).collect()
}

#[test]
fn large_tasks_behind_one_start_in_pieces() {
    let mut board = Board::new();
    board.task("first", json!({}));
    names("t").iter().for_each(|name| large(&mut board, name, json!({ "blocked_by": ["first"], "agent": "demo" })));
    board.ok("complete_task", json!({ "task_id": "first" }));
    carry_on(&mut board);
    assert!(names("t").iter().all(|name| board.status(name) == Running));
}

#[test]
fn large_tasks_are_cancelled_and_settle_in_pieces() {
    let mut board = Board::new();
    large(&mut board, "root", json!({}));
    names("wide").iter().for_each(|name| large(&mut board, name, json!({ "parent_task_id": "root" })));
    board.ok("cancel_task", json!({ "task_id": "root", "propagation": "descendants" }));
    carry_on(&mut board);
    assert!(names("wide").iter().all(|name| board.status(name) == Cancelled));
    assert_eq!(board.status("root"), Cancelled);

    // One below the other: the last one ends, and with it all that only waited for it.
    let mut board = Board::new();
    let mut above = json!(null);
    for name in names("deep") {
        large(&mut board, &name, json!({ "parent_task_id": above }));
        above = json!(name);
    }
    board.ok("start_task", json!({ "task_id": "deep19" }));
    board.ok("cancel_task", json!({ "task_id": "deep00", "propagation": "none" }));
    carry_on(&mut board);
    assert_eq!(board.status("deep00"), Cancelling);
    board.ok("complete_task", json!({ "task_id": "deep19" }));
    board.crash();
    carry_on(&mut board);
    assert!(names("deep")[..19].iter().all(|name| board.status(name) == Cancelled));
}

#[test]
fn all_turns_of_large_tasks_are_carried_on_in_one_commit() {
    const MANY: usize = 120;
    let mut board = Board::new();
    board.world.limits.task_objective_chars_max = usize::MAX;
    for number in 0..MANY {
        let params = json!({ "status": "queued", "agent": "demo", "objective": "x".repeat(100 << 10) });
        board.task(&format!("t{number:03}"), params);
    }
    board.crash();
    let again = |number: &usize| board.attempt(&format!("t{number:03}")).cause == AttemptCause::CrashRecovery;
    let again = (0..MANY).filter(again).count();
    assert!((20..60).contains(&again), "{again} rows of 100 KiB were written");
    let going: BTreeSet<_> = board.last.iter().filter_map(|event| event.scope.turn_id.clone()).collect();
    assert_eq!(going.len(), MANY, "the attempts of the others go on as they are");
}
