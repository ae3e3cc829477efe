//! The index rows of tasks. What a task puts into the index is a function of the task alone; a commit writes the difference
//! between before and after.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use factum_model::events::EdgeChange;
use factum_model::id::{RunId, SessionId, TaskId};
use factum_model::task::*;
use factum_model::{Event, Fact, Timestamp};
use serde::Serialize;

use super::state::{Spilled, Task, Tasks};
use crate::few::FewMap;
use crate::key::{IndexChange, Key, row_bytes};
use crate::session::index::{TimerKind, keys as session_keys};
use crate::session::owners::is_of_turn;
use crate::session::state::Shell;
use crate::session::workers::{Ready, RunRow, keys as worker_keys, lease_row, ready_row};

/// The keys.
pub mod keys {
    use super::*;

    /// What is known of a task: a [`TaskRow`].
    pub fn task(account: &str, task_id: &TaskId) -> Vec<u8> {
        Key::table("task").text(account).text(task_id.as_str()).into_bytes()
    }

    /// Tasks of an account that stand somewhere, newest first.
    pub fn by_status(account: &str, status: TaskStatus) -> Key {
        Key::table("task_status").text(account).text(status.as_str())
    }

    /// The same of one session.
    pub fn by_session(account: &str, session_id: &SessionId, status: TaskStatus) -> Key {
        Key::table("task_session").text(account).text(session_id.as_str()).text(status.as_str())
    }

    /// The same below one task.
    pub fn by_parent(account: &str, parent: &TaskId) -> Key {
        Key::table("task_parent").text(account).text(parent.as_str())
    }

    /// The same of one assignee. Assignees are free text: a digest keeps keys short.
    pub fn by_assignee(account: &str, assignee: &str) -> Key {
        Key::table("task_assignee").text(account).text(&crate::digest::sha256(assignee.as_bytes()))
    }

    /// The end of a key of a list: newest first, also among those of one session that are of the same instant.
    pub fn listed(list: Key, row: &TaskRow) -> Vec<u8> {
        let list = list.instant_reversed(row.created_at).number(u64::MAX - row.created_sequence);
        list.text(row.task_id.as_str()).into_bytes()
    }

    /// An older attempt of a task, from 1.
    pub fn attempt(account: &str, task_id: &TaskId, attempt_count: u32) -> Vec<u8> {
        Key::table("task_attempt").text(account).text(task_id.as_str()).number(attempt_count.into()).into_bytes()
    }

    pub fn attempts(account: &str, task_id: &TaskId) -> Vec<u8> {
        Key::table("task_attempt").text(account).text(task_id.as_str()).into_bytes()
    }

    /// An edge as seen from one of its ends: an [`Edge`].
    pub fn edge(account: &str, task_id: &str, relationship: Relationship, other: &str) -> Vec<u8> {
        Key::table("task_edge").text(account).text(task_id).text(relationship.as_str()).text(other).into_bytes()
    }

    pub fn edges(account: &str, task_id: &TaskId) -> Vec<u8> {
        Key::table("task_edge").text(account).text(task_id.as_str()).into_bytes()
    }
}

/// What a commit changes in the index.
pub(in super::super) struct RowDiff {
    before: FewMap<TaskId, Arc<Task>>,
    /// Tasks that may have changed; each may be named more than once.
    touched: Vec<TaskId>,
    /// Tasks as they were when they came back.
    recalled: BTreeMap<TaskId, Task>,
    /// Tasks as they were when they left the state.
    left: BTreeMap<TaskId, Arc<Task>>,
    attempts: Vec<(TaskId, Attempt)>,
}

impl RowDiff {
    pub(in super::super) fn begin(tasks: &Tasks) -> Self {
        Self {
            before: tasks.tasks.clone(),
            touched: Vec::new(),
            recalled: BTreeMap::new(),
            left: BTreeMap::new(),
            attempts: Vec::new(),
        }
    }

    /// An event was applied.
    pub(in super::super) fn saw(&mut self, tasks: &Tasks, event: &Event) {
        self.saw_spilled(tasks);
        let Some(task_id) = event.scope.task_id.as_ref().filter(|_| !is_of_turn(&event.scope, &event.fact)) else {
            if let Some(heard) = tasks.of_turn(event.scope.turn_id.as_ref()) {
                self.touch(&heard.row.task_id);
            }
            return;
        };
        self.touch(task_id);
        match &event.fact {
            Fact::TaskCreated(fact) => fact.parent_task_id.iter().for_each(|parent| self.touch(parent)),
            Fact::TaskDependencyUpdated(fact) => {
                self.touch(&fact.edge.from);
                if fact.edge.relationship == Relationship::Parent {
                    // The root of everything below changed.
                    self.touched.extend(super::graph::subtree(tasks, task_id));
                }
            }
            // Its rows are those it left behind.
            Fact::TaskRecalled(fact) => {
                self.recalled.entry(task_id.clone()).or_insert_with(|| Task::at_rest(fact.record.clone()));
            }
            _ => {}
        }
    }

    /// Facts about one task mostly follow each other.
    fn touch(&mut self, task_id: &TaskId) {
        if self.touched.last() != Some(task_id) {
            self.touched.push(task_id.clone());
        }
    }

    fn saw_spilled(&mut self, tasks: &Tasks) {
        for spilled in &tasks.spilled.0 {
            match spilled {
                Spilled::Task(task) => {
                    self.left.insert(task.row.task_id.clone(), task.clone());
                }
                Spilled::Attempt(task_id, attempt) => self.attempts.push((task_id.clone(), (**attempt).clone())),
            }
        }
    }

    /// Behind all events of the commit, which are `events`.
    pub(in super::super) fn end(
        mut self,
        tasks: &Tasks,
        shell: &Shell,
        events: &[Event],
        changes: &mut Vec<IndexChange>,
    ) {
        self.touched.sort_unstable();
        self.touched.dedup();
        for task_id in &self.touched {
            let before = self.before.get(task_id).map(|task| &**task);
            let before = before.or_else(|| self.recalled.get(task_id));
            let after = tasks.get(task_id).or_else(|| self.left.get(task_id).map(|task| &**task));
            let before = before.map(|task| rows(task, shell)).unwrap_or_default();
            difference(before, after.map(|task| rows(task, shell)).unwrap_or_default(), changes);
        }
        let account = shell.account.as_str();
        for (task_id, attempt) in &self.attempts {
            put(changes, keys::attempt(account, task_id, attempt.attempt_count), attempt);
        }
        let runs: BTreeSet<&RunId> = about_tasks(events).filter_map(begun_run).collect();
        for run_id in runs {
            put(changes, worker_keys::run(account, run_id), &RunRow { session_id: shell.session_id.clone() });
        }
        for (change, edge) in changed_edges(events) {
            edge_rows(account, change, &edge, changes);
        }
    }
}

fn about_tasks(events: &[Event]) -> impl DoubleEndedIterator<Item = &Event> {
    events.iter().filter(|event| event.scope.task_id.is_some())
}

/// The run of a task that this fact begins.
fn begun_run(event: &Event) -> Option<&RunId> {
    event.scope.run_id.as_ref().filter(|_| matches!(event.fact, Fact::TaskAttemptStarted(_)))
}

/// The last word on each edge that changed, in the order of the edges.
fn changed_edges(events: &[Event]) -> Vec<(EdgeChange, Cow<'_, Edge>)> {
    let mut edges: Vec<_> = about_tasks(events).rev().filter_map(changed_edge).collect();
    fn key<'a>((_, edge): &'a (EdgeChange, Cow<'_, Edge>)) -> (&'a TaskId, Relationship, &'a str) {
        (&edge.from, edge.relationship, &edge.to)
    }
    // Stable, so that the last of those about one edge stands first.
    edges.sort_by(|one, other| key(one).cmp(&key(other)));
    edges.dedup_by(|older, newer| key(older) == key(newer));
    edges
}

/// The edge that a fact of a task changes.
fn changed_edge(event: &Event) -> Option<(EdgeChange, Cow<'_, Edge>)> {
    match &event.fact {
        Fact::TaskCreated(fact) => {
            let edge = Edge {
                from: fact.parent_task_id.clone()?,
                to: event.scope.task_id.as_ref()?.as_str().to_owned(),
                relationship: Relationship::Parent,
                status: EdgeStatus::Active,
                reason: None,
                created_at: event.timestamp,
                updated_at: event.timestamp,
            };
            Some((EdgeChange::Added, Cow::Owned(edge)))
        }
        Fact::TaskDependencyUpdated(fact) => Some((fact.change, Cow::Borrowed(&fact.edge))),
        _ => None,
    }
}

/// How many rows a task has that nothing is due for.
const ROWS: usize = 5;

/// Everything a task has in the index while it stands as it does.
pub(super) fn rows(task: &Task, shell: &Shell) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (row, account) = (&task.row, shell.account.as_str());
    let mut rows = Vec::with_capacity(ROWS);
    rows.push((keys::task(account, &row.task_id), row_bytes(row)));
    let mut list = |list: Key| rows.push((keys::listed(list, row), Vec::new()));
    list(keys::by_status(account, row.status));
    list(keys::by_session(account, &row.session_id, row.status));
    if let Some(parent) = &row.parent_task_id {
        list(keys::by_parent(account, parent));
    }
    if let Some(assignee) = &row.assignee {
        list(keys::by_assignee(account, assignee));
    }
    let mut timer = |due: Option<Timestamp>, kind| {
        if let Some(due) = due {
            let timer = shell.timer(due, kind, row.task_id.as_str());
            rows.push((session_keys::timer(&timer), Vec::new()));
        }
    };
    // What was put aside does not begin by itself, and its attempt has no time running against it.
    timer(task.due.retry.filter(|_| row.status == TaskStatus::Retrying), TimerKind::TaskRetry);
    timer(task.due.timeout, TimerKind::TaskTimeout);
    timer(task.due.inactivity, TimerKind::TaskInactivity);
    timer(task.due.cancel, TimerKind::TaskCancel);
    if let (Some(since), Some(queue), Some(attempt), TaskStatus::Queued) =
        (task.ready_since, &row.execution.queue, task.open_run(), row.status)
    {
        let capabilities = &row.execution.required_capabilities;
        let since = Ready { at: since, sequence: task.ready_sequence };
        rows.push(ready_row(shell, queue, capabilities, row.priority, since, &attempt.run_id));
    }
    if let (Some(lease), Some(attempt)) = (&task.lease, task.open_run()) {
        rows.push(lease_row(shell, &attempt.run_id, lease.token, lease.lease_ms));
    }
    rows
}

/// Puts what is new or different and deletes what is gone.
fn difference(before: Vec<(Vec<u8>, Vec<u8>)>, after: Vec<(Vec<u8>, Vec<u8>)>, changes: &mut Vec<IndexChange>) {
    for (key, _) in &before {
        if !after.iter().any(|(kept, _)| kept == key) {
            changes.push(IndexChange::Delete { key: key.clone() });
        }
    }
    for (key, value) in after {
        if !before.iter().any(|(known, same)| *known == key && *same == value) {
            changes.push(IndexChange::Put { key, value });
        }
    }
}

/// An edge has a row at each end that is a task.
fn edge_rows(account: &str, change: EdgeChange, edge: &Edge, changes: &mut Vec<IndexChange>) {
    let forth = keys::edge(account, edge.from.as_str(), edge.relationship, &edge.to);
    let back = edge.relationship.inverse().map(|inverse| keys::edge(account, &edge.to, inverse, edge.from.as_str()));
    for key in std::iter::once(forth).chain(back) {
        if change == EdgeChange::Removed {
            changes.push(IndexChange::Delete { key });
        } else {
            put(changes, key, edge);
        }
    }
}

fn put(changes: &mut Vec<IndexChange>, key: Vec<u8>, row: &impl Serialize) {
    changes.push(IndexChange::Put { key, value: row_bytes(row) });
}

#[cfg(test)]
mod tests {
    use factum_model::events::TaskDependencyUpdated;
    use factum_model::{Scope, Trace};

    use super::*;
    use crate::session::tests::world::id;

    fn changed(sequence: u64, edge: (&str, &str), change: EdgeChange) -> Event {
        let at = Timestamp::UNIX_EPOCH;
        let edge = Edge {
            from: id(edge.0),
            to: edge.1.to_owned(),
            relationship: Relationship::Blocks,
            status: EdgeStatus::Active,
            reason: Some(sequence.to_string()),
            created_at: at,
            updated_at: at,
        };
        Event {
            event_id: id("evt"),
            timestamp: at,
            sequence,
            schema_version: "v".into(),
            runtime_id: id("rt"),
            scope: Scope::default().task_id(&edge.from),
            trace: Trace::default(),
            fact: TaskDependencyUpdated { change, changed_by: "ann".to_owned(), edge }.into(),
            refs: Default::default(),
        }
    }

    #[test]
    fn the_last_word_on_each_edge_is_written_in_the_order_of_the_edges() {
        let events = [
            changed(1, ("b", "c"), EdgeChange::Added),
            changed(2, ("a", "c"), EdgeChange::Removed),
            changed(3, ("b", "c"), EdgeChange::Satisfied),
            changed(4, ("a", "c"), EdgeChange::Added),
            changed(5, ("a", "b"), EdgeChange::Added),
        ];
        let words: Vec<_> = changed_edges(&events).into_iter().map(|(_, edge)| edge.reason.clone()).collect();
        assert_eq!(words, ["5", "4", "3"].map(|sequence| Some(sequence.to_owned())));
    }
}
