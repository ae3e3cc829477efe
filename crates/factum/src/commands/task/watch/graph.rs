//! A graph that moves: tasks by id, what an event changes of them, and the board that shows it. Pure.
//!
//! Events are read loosely, by the few fields that are needed, so that a newer server can be watched too.

use std::collections::{BTreeMap, BTreeSet};

use factum_model::id::TaskId;
use factum_model::task::{Progress, TaskRecord, TaskStatus};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::commands::live::{Board, Row, Total};
use crate::commands::look::Stands;
use crate::commands::task::describe::{failure, how_far, name, title};
use crate::glyphs::Glyphs;
use crate::render::shorten;
use crate::words::{parse, word};

/// What is read of an event.
#[derive(Debug, Deserialize)]
pub(super) struct Seen {
    r#type: String,
    sequence: u64,
    pub(super) timestamp: Timestamp,
    task_id: Option<TaskId>,
    #[serde(default)]
    payload: Value,
}

/// What an event changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) name: String,
    pub(super) status: TaskStatus,
    pub(super) note: String,
    /// Whether the task ended by it.
    pub(super) ended: bool,
}

struct Node {
    name: String,
    status: TaskStatus,
    progress: Option<Progress>,
    /// Facts up to here are known.
    known: u64,
}

pub(super) struct Graph {
    top: TaskId,
    nodes: BTreeMap<TaskId, Node>,
    running: BTreeSet<TaskId>,
    counts: BTreeMap<TaskStatus, u64>,
}

impl Graph {
    /// These tasks are the top and everything below it.
    pub(super) fn new(top: &TaskId, tasks: Vec<TaskRecord>) -> Self {
        let mut graph =
            Self { top: top.clone(), nodes: BTreeMap::new(), running: BTreeSet::new(), counts: BTreeMap::new() };
        for task in tasks {
            let name = title(&task);
            let node = Node { name, status: task.status, progress: task.progress, known: task.as_of_sequence };
            graph.add(task.task_id, node);
        }
        graph
    }

    /// Takes an event in. Nothing where it is not about the graph, or says nothing new.
    pub(super) fn saw(&mut self, event: &Seen) -> Option<Change> {
        let task_id = event.task_id.as_ref()?;
        if event.r#type == "task.created" && !self.nodes.contains_key(task_id) {
            return self.created(task_id, event);
        }
        let node = self.nodes.get_mut(task_id).filter(|node| node.known < event.sequence)?;
        node.known = event.sequence;
        let (before, after) = (node.status, status(event).unwrap_or(node.status));
        let progressed = event.r#type == "task.progress" && node.take_progress(&event.payload);
        if before == after && !progressed && !notable(&event.r#type) {
            return None;
        }
        self.move_to(task_id, after);
        let node = self.nodes.get(task_id)?;
        let note = if progressed { how_far(node.progress.as_ref()) } else { reason(&event.payload) };
        let ended = is_end(after) && !is_end(before);
        Some(Change { name: node.name.clone(), status: after, note, ended })
    }

    /// How the top ended, once it has.
    pub(super) fn outcome(&self) -> Option<TaskStatus> {
        self.nodes.get(&self.top).map(|node| node.status).filter(|status| is_end(*status))
    }

    /// What goes on, in so many rows at most.
    pub(super) fn board(&self, rows_max: usize) -> Board {
        let nodes = self.running.iter().filter_map(|id| Some((id, self.nodes.get(id)?)));
        let rows = nodes.take(rows_max).map(|(id, node)| Row {
            key: id.to_string(),
            name: node.name.clone(),
            percent: node.progress.as_ref().and_then(|progress| progress.percent),
            note: step(node),
        });
        Board { rows: rows.collect(), more: self.running.len().saturating_sub(rows_max), total: self.total() }
    }

    /// Where all of it stands, in a line.
    pub(super) fn stand(&self, glyphs: Glyphs) -> String {
        let Some(top) = self.nodes.get(&self.top) else { return String::new() };
        let total = self.total();
        let below = match self.nodes.len() {
            0 | 1 => String::new(),
            _ => format!("  {} of {} ended: {}", total.done, total.of, total.note),
        };
        format!("{}  {}{below}", top.status.shown(glyphs), top.name)
    }

    fn total(&self) -> Total {
        let done = self.counts.iter().filter(|(status, _)| is_end(**status)).map(|(_, number)| number).sum();
        let counted = self.counts.iter().filter(|(_, number)| **number > 0);
        let note = counted.map(|(status, number)| format!("{number} {}", word(status)));
        Total { done, of: self.nodes.len() as u64, note: note.collect::<Vec<_>>().join(", ") }
    }

    fn created(&mut self, task_id: &TaskId, event: &Seen) -> Option<Change> {
        let parent = event.payload["parent_task_id"].as_str()?;
        if !self.nodes.contains_key(&parent.parse().ok()?) {
            return None;
        }
        let text = |field: &str| event.payload[field].as_str();
        let (name, status) = (name(text("title"), text("objective").unwrap_or_default()), status(event)?);
        self.add(task_id.clone(), Node { name: name.clone(), status, progress: None, known: event.sequence });
        Some(Change { name, status, note: "new".to_owned(), ended: false })
    }

    fn add(&mut self, task_id: TaskId, node: Node) {
        *self.counts.entry(node.status).or_default() += 1;
        if is_running(node.status) {
            self.running.insert(task_id.clone());
        }
        self.nodes.insert(task_id, node);
    }

    fn move_to(&mut self, task_id: &TaskId, status: TaskStatus) {
        let Some(node) = self.nodes.get_mut(task_id) else { return };
        let before = std::mem::replace(&mut node.status, status);
        if let Some(number) = self.counts.get_mut(&before) {
            *number = number.saturating_sub(1);
        }
        *self.counts.entry(status).or_default() += 1;
        match is_running(status) {
            true => self.running.insert(task_id.clone()),
            false => self.running.remove(task_id),
        };
    }
}

impl Node {
    /// Whether that is another progress than before. What is not said stays as it was.
    fn take_progress(&mut self, payload: &Value) -> bool {
        let Ok(new) = serde_json::from_value::<Progress>(payload.clone()) else { return false };
        let before = self.progress.clone();
        let progress = self.progress.get_or_insert_default();
        progress.percent = new.percent.or(progress.percent);
        progress.phase = new.phase.or(progress.phase);
        progress.current_step = new.current_step.or_else(|| progress.current_step.take());
        progress.summary = new.summary.or_else(|| progress.summary.take());
        progress.counters.extend(new.counters);
        self.progress != before
    }
}

/// What a task does now, without the percentage, which is a bar.
fn step(node: &Node) -> String {
    let doing = node.progress.clone().map(|progress| Progress { percent: None, ..progress });
    how_far(doing.as_ref())
}

fn is_running(status: TaskStatus) -> bool {
    matches!(status, TaskStatus::Preparing | TaskStatus::Running | TaskStatus::Cancelling)
}

/// An archived task has ended before.
fn is_end(status: TaskStatus) -> bool {
    status.is_terminal() || status == TaskStatus::Archived
}

/// The status that a fact gives its task. Facts about attempts, edges and the like have one of their own in its place.
fn status(event: &Seen) -> Option<TaskStatus> {
    let class = event.r#type.strip_prefix("task.").filter(|class| !class.contains('.'))?;
    let payload = if class == "recalled" { &event.payload["record"] } else { &event.payload };
    parse(payload["status"].as_str()?).ok()
}

/// Facts that are told although the task stands where it stood.
fn notable(class: &str) -> bool {
    matches!(class, "task.attempt.started" | "task.attempt.failed")
}

/// Why it is so, or what came of it.
fn reason(payload: &Value) -> String {
    if let Ok(error) = serde_json::from_value(payload["error"].clone()) {
        return failure(&error);
    }
    let words = ["reason", "status_reason", "summary", "completion_summary", "worker"].iter();
    let found = words.filter_map(|field| payload[*field].as_str()).find(|text| !text.is_empty());
    found.map(shorten).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::commands::task::describe::tests::{task, task_with};

    fn event(sequence: u64, class: &str, task_id: &str, payload: Value) -> Seen {
        let event = json!({ "type": class, "sequence": sequence, "timestamp": "2026-11-15T10:00:00Z", "task_id": task_id,
                            "payload": payload, "something": "new" });
        serde_json::from_value(event).unwrap()
    }

    fn graph() -> Graph {
        let tasks =
            vec![task("task_1", "running"), task_with("task_2", "queued", json!({ "parent_task_id": "task_1" }))];
        Graph::new(&"task_1".parse().unwrap(), tasks)
    }

    fn change(name: &str, status: TaskStatus, note: &str) -> Option<Change> {
        Some(Change { name: name.to_owned(), status, note: note.to_owned(), ended: is_end(status) })
    }

    #[test]
    fn a_graph_moves_with_its_events_and_ends_with_its_top() {
        let mut graph = graph();
        let running = json!({ "status": "running" });
        assert_eq!(
            graph.saw(&event(2, "task.started", "task_2", running)),
            change("Task task_2", TaskStatus::Running, "")
        );
        let progress = json!({ "percent": 40, "current_step": "counting" });
        let told = change("Task task_2", TaskStatus::Running, "40% counting");
        assert_eq!(graph.saw(&event(3, "task.progress", "task_2", progress.clone())), told);
        assert_eq!(graph.saw(&event(4, "task.progress", "task_2", progress)), None, "nothing new");

        let child = json!({ "status": "accepted", "parent_task_id": "task_2", "objective": "A third" });
        assert!(graph.saw(&event(5, "task.created", "task_3", child)).is_some());
        let stranger = json!({ "status": "accepted", "parent_task_id": "task_9", "objective": "Elsewhere" });
        assert_eq!(graph.saw(&event(6, "task.created", "task_4", stranger)), None);
        assert_eq!(graph.saw(&event(7, "task.failed", "task_4", json!({ "status": "failed" }))), None);

        let board = graph.board(1);
        assert_eq!((board.rows.len(), board.more), (1, 1));
        let board = graph.board(9);
        let row = Row { key: "task_2".into(), name: "Task task_2".into(), percent: Some(40), note: "counting".into() };
        assert_eq!(board.rows[1], row);
        assert_eq!(board.total, Total { done: 0, of: 3, note: "1 accepted, 2 running".into() });

        let failed = json!({ "status": "failed", "error": { "category": "timeout", "message": "too slow" } });
        let told = change("Task task_2", TaskStatus::Failed, "timeout: too slow");
        assert_eq!(graph.saw(&event(8, "task.failed", "task_2", failed)), told);
        assert_eq!(graph.outcome(), None);
        graph.saw(&event(9, "task.completed", "task_1", json!({ "status": "completed" })));
        assert_eq!(graph.outcome(), Some(TaskStatus::Completed));
        let stand = anstream::adapter::strip_str(&graph.stand(Glyphs::Ascii)).to_string();
        assert_eq!(stand, "+ completed  Task task_1  2 of 3 ended: 1 accepted, 1 failed, 1 completed");
    }

    #[test]
    fn what_is_known_already_is_not_told_again() {
        let mut graph = graph();
        assert_eq!(graph.saw(&event(1, "task.queued", "task_2", json!({ "status": "queued" }))), None);
        assert_eq!(graph.saw(&event(1, "task.completed", "task_1", json!({ "status": "completed" }))), None);
        assert_eq!(graph.outcome(), None);
    }

    #[test]
    fn the_status_of_an_attempt_is_not_that_of_its_task() {
        let mut graph = graph();
        let failed = json!({ "status": "failed", "error": { "category": "timeout" } });
        let told = graph.saw(&event(2, "task.attempt.failed", "task_1", failed)).unwrap();
        assert_eq!((told.status, told.ended, told.note.as_str()), (TaskStatus::Running, false, "timeout"));
        assert_eq!(
            graph.saw(&event(3, "task.lost", "task_1", json!({ "status": "lost" }))).unwrap().status,
            TaskStatus::Lost
        );
        assert_eq!(graph.outcome(), None, "a lost task has not ended");
    }
}
