//! What readers see: the record of a task now and as it was, and the snapshot of a session's tasks.

use factum_model::Event;
use factum_model::task::*;
use serde_json::json;

use super::board::Board;
use crate::session::tasks::{TaskHistory, keys, task_record, task_snapshot};
use crate::session::tests::world::{ACCOUNT, id};

/// The record as the index has it: what `get_task` answers.
pub(super) fn record(board: &Board, name: &str) -> TaskRecord {
    let older = board.older(name).iter().map(|bytes| serde_json::from_slice(bytes).expect("an attempt")).collect();
    let prefix = keys::edges(ACCOUNT, &id(name));
    let rows = board.world.index.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
    let edges = rows.map(|(_, bytes)| serde_json::from_slice(bytes).expect("an edge")).collect();
    sorted(task_record(board.known(name), older, edges))
}

/// The record as the log gives it, up to some sequence: what `get_task` answers to `as_of`.
pub(super) fn record_as_of(events: &[Event], name: &str, sequence: u64) -> Option<TaskRecord> {
    let mut history = TaskHistory::default();
    events.iter().filter(|event| event.sequence <= sequence).for_each(|event| history.apply(&id(name), event));
    history.record(&id(name)).map(sorted)
}

/// The whole log.
pub(super) fn events(board: &Board) -> Vec<Event> {
    board.world.log.iter().flatten().map(|bytes| Event::decode(bytes).expect("an event")).collect()
}

fn sorted(mut record: TaskRecord) -> TaskRecord {
    record.relationships.sort_by_key(|edge| (edge.relationship, edge.from.clone(), edge.to.clone()));
    record
}

#[test]
fn a_record_can_be_read_as_it_was_at_every_moment() {
    let mut board = Board::new();
    let mut known = Vec::new();
    let mut see = |board: &Board| known.push((board.world.state.sequence, record(board, "t")));
    board.task("b", json!({ "status": "queued" }));
    board.task("p", json!({}));
    board.task("top", json!({}));
    board.task("t", json!({ "blocked_by": ["b"], "queue": "q", "parent_task_id": "p" }));
    see(&board);
    board.later(5);
    board.ok("link_tasks", json!({ "from": "top", "to": "p", "relationship": "parent" }));
    board.ok("complete_task", json!({ "task_id": "b" }));
    see(&board);
    let token = board.claim("t");
    board.work("fail_run", "t", token, json!({ "error": { "category": "bad" } })).expect("accepted");
    see(&board);
    board.ok("retry_task", json!({ "task_id": "t", "reason": "again" }));
    board.ok("unlink_tasks", json!({ "from": "b", "to": "t", "relationship": "blocks" }));
    see(&board);
    let events = events(&board);
    assert_eq!(record_as_of(&events, "t", 1), None, "it did not exist yet");
    for (sequence, record) in known {
        assert_eq!(record_as_of(&events, "t", sequence), Some(record), "as of {sequence}");
    }
    let now = record(&board, "t");
    assert_eq!((now.attempts.len(), now.relationships_total, now.root_task_id.as_str()), (2, 1, "top"));
    assert_eq!(now.current_run_id, Some(board.attempt("t").run_id));
}

#[test]
fn a_snapshot_shows_what_goes_on() {
    let mut board = Board::new();
    board.task("root", json!({}));
    board.task("run", json!({ "parent_task_id": "root", "status": "queued", "queue": "q" }));
    board.task("wait", json!({ "parent_task_id": "root", "blocked_by": ["run"] }));
    board.task("lost", json!({ "status": "queued", "queue": "q" }));
    board.task("bad", json!({}));
    board.task("done", json!({ "status": "queued" }));
    board.task("aside", json!({}));
    board.claim("lost");
    board.expire("lost");
    board.ok("fail_task", json!({ "task_id": "bad", "error": { "category": "bad" } }));
    board.ok("complete_task", json!({ "task_id": "done" }));
    board.ok("pause_task", json!({ "task_id": "aside" }));
    let snapshot = task_snapshot(&board.world.state, None, 50).expect("a snapshot");
    let names = |list: &[factum_model::read::TaskSummary]| {
        list.iter().map(|task| task.task_id.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&snapshot.active), ["root", "run"]);
    assert_eq!((names(&snapshot.waiting), names(&snapshot.blocked)), (vec!["aside".into()], vec!["wait".into()]));
    assert_eq!((names(&snapshot.failed), names(&snapshot.lost)), (vec!["bad".into()], vec!["lost".into()]));
    assert_eq!(names(&snapshot.recent_terminal), ["done"]);
    assert_eq!((snapshot.total, snapshot.counts[&TaskStatus::Lost], snapshot.truncated), (7, 1, false));
    assert_eq!(snapshot.blocked[0].blocked_by, [id("run")]);
    assert_eq!(snapshot.active[0].open_children, 2);
    let edges: Vec<_> =
        snapshot.graph.iter().map(|edge| (edge.from.as_str(), edge.relationship, edge.to.as_str())).collect();
    assert!(
        edges.contains(&("run", Relationship::Blocks, "wait"))
            && edges.contains(&("root", Relationship::Parent, "run"))
    );
    let root = task_snapshot(&board.world.state, Some(&id("root")), 50).expect("a snapshot");
    assert_eq!((names(&root.active), root.lost.len(), root.total), (vec!["root".into(), "run".into()], 0, 7));
    let short = task_snapshot(&board.world.state, None, 1).expect("a snapshot");
    assert_eq!((names(&short.active), short.truncated), (vec!["root".into()], true));
}
