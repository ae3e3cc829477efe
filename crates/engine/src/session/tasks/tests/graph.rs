//! The graph: parents and roots, cycles, and the other things an edge may point at.

use factum_model::ErrorCode;
use factum_model::task::*;
use serde_json::{Value, json};

use super::board::Board;

fn edge(from: &str, relationship: &str, to: &str) -> Value {
    json!({ "from": from, "to": to, "relationship": relationship })
}

fn link(board: &mut Board, from: &str, relationship: &str, to: &str) {
    board.ok("link_tasks", edge(from, relationship, to));
}

fn refuse_cycle(board: &mut Board, from: &str, relationship: &str, to: &str) {
    let refusal = board.refused("link_tasks", edge(from, relationship, to));
    assert_eq!((refusal.code, &refusal.details["cause"]), (ErrorCode::Conflict, &json!("cycle")), "{from} {to}");
}

fn board_of(names: &[&str]) -> Board {
    let mut board = Board::new();
    names.iter().for_each(|name| board.task(name, json!({})));
    board
}

#[test]
fn blockers_that_wait_for_one_another_are_refused_however_long_the_way() {
    let mut board = board_of(&["a", "b", "c", "d"]);
    for (from, to) in [("a", "b"), ("b", "c"), ("c", "d")] {
        link(&mut board, from, "blocks", to);
    }
    for (from, to) in [("a", "a"), ("b", "a"), ("c", "a"), ("d", "a"), ("d", "b")] {
        refuse_cycle(&mut board, from, "blocks", to);
        refuse_cycle(&mut board, to, "blocked_by", from);
    }
    link(&mut board, "a", "blocks", "d");
}

#[test]
fn a_parent_waits_for_its_children_and_so_they_cannot_wait_for_it() {
    let mut board = board_of(&["p", "x"]);
    board.task("c", json!({ "parent_task_id": "p" }));
    board.task("g", json!({ "parent_task_id": "c" }));
    refuse_cycle(&mut board, "p", "blocks", "g");
    refuse_cycle(&mut board, "g", "parent", "p");
    refuse_cycle(&mut board, "p", "parent", "p");
    link(&mut board, "x", "blocks", "g");
    refuse_cycle(&mut board, "p", "blocks", "x");
    refuse_cycle(&mut board, "x", "parent", "p");
    let created = json!({ "task_id": "n", "parent_task_id": "p", "blocked_by": ["p"] });
    assert_eq!(board.refused("create_task", created).details["cause"], json!("cycle"));
    link(&mut board, "g", "blocks", "p");
}

/// One in the middle that ended is still in the middle.
#[test]
fn no_task_becomes_its_own_ancestor_through_one_that_ended() {
    let mut board = board_of(&["a"]);
    board.task("b", json!({ "parent_task_id": "a" }));
    board.task("c", json!({ "parent_task_id": "b" }));
    board.ok("fail_task", json!({ "task_id": "b", "error": { "category": "bad" } }));
    refuse_cycle(&mut board, "c", "parent", "a");
    refuse_cycle(&mut board, "a", "blocks", "c");
    refuse_cycle(&mut board, "b", "blocks", "c");
    board.task("top", json!({}));
    link(&mut board, "top", "parent", "a");
    assert_eq!(board.known("c").root_task_id.as_str(), "top", "and what is open below it is in the same graph");
}

#[test]
fn a_new_parent_brings_a_new_root_for_everything_below() {
    let mut board = board_of(&["p", "q"]);
    board.task("c", json!({ "parent_task_id": "q" }));
    board.task("g", json!({ "parent_task_id": "c" }));
    link(&mut board, "q", "child", "p");
    for name in ["q", "c", "g"] {
        assert_eq!(board.known(name).root_task_id.as_str(), "p", "{name}");
    }
    assert_eq!((board.known("p").edges, board.known("q").edges), (1, 2));
    let refusal = board.refused("link_tasks", edge("p", "parent", "c"));
    assert_eq!(refusal.details["parent_task_id"], json!("q"), "a task has one parent");
    board.ok("unlink_tasks", edge("p", "parent", "q"));
    assert_eq!((board.known("g").root_task_id.as_str(), board.known("p").edges), ("q", 0));
    assert_eq!(board.known("q").parent_task_id, None);
}

#[test]
fn edges_are_seen_from_both_ends_and_linking_twice_changes_nothing() {
    let mut board = board_of(&["a", "b"]);
    link(&mut board, "a", "blocks", "b");
    let sequence = board.world.state.sequence;
    link(&mut board, "a", "blocks", "b");
    link(&mut board, "b", "blocked_by", "a");
    assert_eq!(board.world.state.sequence, sequence);
    assert_eq!(board.edge_row("a", Relationship::Blocks, "b"), board.edge_row("b", Relationship::BlockedBy, "a"));
    assert_eq!(board.edge_row("a", Relationship::Blocks, "b").map(|edge| edge.status), Some(EdgeStatus::Active));
}

#[test]
fn an_edge_may_point_at_other_things_than_tasks() {
    let mut board = board_of(&["a", "b"]);
    board.task("c", json!({ "status": "queued", "agent": "demo" }));
    board.spawn_for("c", "sub_1").expect("spawned");
    board.ok("close_subagent", json!({ "subagent_id": "sub_1" }));
    let (run_id, thread_id) = (board.attempt("c").run_id, board.attempt("c").thread_id.expect("a thread"));
    let others = [
        ("source_task", "b"),
        ("source_attempt", run_id.as_str()),
        ("spawned_subagent", "sub_1"),
        ("assigned_thread", thread_id.as_str()),
        ("consumed_artifact", "art_0"),
        ("produced_artifact", "report.md"),
        ("evidence", "test:unit"),
    ];
    for (relationship, to) in others {
        link(&mut board, "a", relationship, to);
        let sequence = board.world.state.sequence;
        link(&mut board, "a", relationship, to);
        assert_eq!(board.world.state.sequence, sequence, "{relationship} again");
    }
    let row = board.known("a");
    assert_eq!(
        (row.edges, row.artifacts, row.evidence_refs),
        (7, vec!["report.md".to_owned()], vec!["test:unit".to_owned()])
    );
    for (relationship, to) in others {
        board.ok("unlink_tasks", edge("a", relationship, to));
        board.refused("unlink_tasks", edge("a", relationship, to));
    }
    let row = board.known("a");
    assert_eq!((row.edges, row.artifacts.len(), row.evidence_refs.len()), (0, 0, 0));
    for (relationship, to) in [
        ("source_task", "nobody"),
        ("source_attempt", "run_1"),
        ("spawned_subagent", "sub_2"),
        ("assigned_thread", "th_1"),
    ] {
        assert_eq!(
            board.refused("link_tasks", edge("a", relationship, to)).code,
            ErrorCode::NotFound,
            "{relationship}"
        );
    }
    assert_eq!(board.refused("link_tasks", edge("a", "evidence", "")).code, ErrorCode::InvalidParams);
}

#[test]
fn nothing_is_added_below_what_ended() {
    let mut board = board_of(&["p", "c"]);
    board.ok("fail_task", json!({ "task_id": "p", "error": { "category": "bad" } }));
    let created = board.refused("create_task", json!({ "task_id": "n", "parent_task_id": "p" }));
    assert_eq!(created.details["status"], json!("failed"));
    let linked = board.refused("link_tasks", edge("p", "parent", "c"));
    assert_eq!(linked.details["status"], json!("failed"));
}

#[test]
fn a_child_that_ended_does_not_begin_again_below_a_parent_that_ended() {
    let mut board = board_of(&["p"]);
    board.task("c", json!({ "parent_task_id": "p", "status": "queued" }));
    for name in ["c", "p"] {
        board.ok("fail_task", json!({ "task_id": name, "error": { "category": "bad" } }));
    }
    let refusal = board.refused("retry_task", json!({ "task_id": "c", "reason": "again" }));
    assert_eq!((&refusal.details["status"], &refusal.details["parent_status"]), (&json!("failed"), &json!("failed")));
    board.ok("retry_task", json!({ "task_id": "p", "reason": "again" }));
    board.ok("retry_task", json!({ "task_id": "c", "reason": "again" }));
    assert_eq!(board.statuses(&["p", "c"]), [TaskStatus::Running, TaskStatus::Running]);
}

#[test]
fn a_task_that_begins_again_is_in_the_graph_its_parent_is_in_now() {
    let mut board = board_of(&["p", "top"]);
    board.task("c", json!({ "parent_task_id": "p", "status": "queued" }));
    board.ok("fail_task", json!({ "task_id": "c", "error": { "category": "bad" } }));
    link(&mut board, "top", "parent", "p");
    board.ok("retry_task", json!({ "task_id": "c", "reason": "again" }));
    assert_eq!(board.known("c").root_task_id.as_str(), "top");
}

#[test]
fn what_is_unlinked_lets_go_of_what_waited_for_it() {
    let mut board = board_of(&["p"]);
    board.task("c", json!({ "parent_task_id": "p", "status": "queued" }));
    board.ok("cancel_task", json!({ "task_id": "p" }));
    assert_eq!(board.status("p"), TaskStatus::Cancelling, "its child is at work");
    board.ok("unlink_tasks", edge("p", "parent", "c"));
    assert_eq!(board.statuses(&["p", "c"]), [TaskStatus::Cancelled, TaskStatus::Running]);
}
