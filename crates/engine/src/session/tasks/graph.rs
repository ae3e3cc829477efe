//! The graph of tasks: the fold of its edges, and the questions a decision asks of it.

use factum_model::events::{EdgeChange, TaskDependencyUpdated};
use factum_model::id::TaskId;
use factum_model::task::*;
use factum_model::{Scope, Timestamp};

use super::apply::remember;
use super::endings::{leave, retire_from};
use super::helpers;
use super::state::{Since, Tasks};

/// Applies a change of an edge. Edges are recorded in one direction only: parents and blockers stand on the left.
pub(super) fn apply_edge(tasks: &mut Tasks, scope: &Scope, fact: &TaskDependencyUpdated, at: Timestamp) {
    let edge = &fact.edge;
    let joins_tasks = matches!(edge.relationship, Relationship::Blocks | Relationship::Parent);
    let to: Option<TaskId> = if joins_tasks { edge.to.parse().ok() } else { None };
    match (edge.relationship, fact.change, to) {
        (Relationship::Blocks, EdgeChange::Added, Some(to)) => {
            count(tasks, &edge.from, &to, true);
            if edge.status == EdgeStatus::Active
                && let Some(task) = tasks.get_mut(&to)
            {
                let since = Since { at, reason: edge.reason.clone() };
                task.blockers.insert(edge.from.clone(), since);
                tasks.waiting.entry(edge.from.clone()).or_default().insert(to);
            }
        }
        (Relationship::Blocks, EdgeChange::Satisfied, Some(to)) => unblock(tasks, &edge.from, &to),
        (Relationship::Blocks, EdgeChange::Removed, Some(to)) => {
            count(tasks, &edge.from, &to, false);
            unblock(tasks, &edge.from, &to);
        }
        (Relationship::Parent, EdgeChange::Added, Some(to)) => {
            if let Some(task) = tasks.get_mut(&to) {
                task.row.parent_task_id = Some(edge.from.clone());
            }
            adopt(tasks, &edge.from, &to);
            let root = tasks.get(&edge.from).map(|task| task.row.root_task_id.clone());
            move_below(tasks, &to, &root.unwrap_or_else(|| edge.from.clone()));
        }
        (Relationship::Parent, EdgeChange::Removed, Some(to)) => {
            count(tasks, &edge.from, &to, false);
            leave(&mut tasks.children, &edge.from, &to);
            if let Some(task) = tasks.get_mut(&to) {
                task.row.parent_task_id = None;
            }
            retire_from(tasks, &edge.from);
            move_below(tasks, &to, &to);
        }
        (relationship, change, _) => apply_other(tasks, scope, edge, relationship, change),
    }
}

fn apply_other(tasks: &mut Tasks, scope: &Scope, edge: &Edge, relationship: Relationship, change: EdgeChange) {
    let Some(task) = tasks.get_mut(&edge.from) else { return };
    let list = match relationship {
        Relationship::ProducedArtifact => Some(&mut task.row.artifacts),
        Relationship::Evidence => Some(&mut task.row.evidence_refs),
        _ => None,
    };
    match (change, list) {
        (EdgeChange::Added, Some(list)) => remember(list, Some(edge.to.clone())),
        (EdgeChange::Removed, Some(list)) => list.retain(|name| *name != edge.to),
        _ => {}
    }
    match change {
        EdgeChange::Added => task.row.edges += 1,
        EdgeChange::Removed => task.row.edges = task.row.edges.saturating_sub(1),
        EdgeChange::Updated | EdgeChange::Satisfied => {}
    }
    if relationship == Relationship::SpawnedSubagent {
        helpers::apply_edge(tasks, scope, edge, change);
    }
}

/// A child below a task.
pub(super) fn adopt(tasks: &mut Tasks, parent: &TaskId, child: &TaskId) {
    count(tasks, parent, child, true);
    let above = above_child(tasks, parent);
    if let Some(task) = tasks.get_mut(child) {
        task.above = above;
    }
    attach(tasks, child);
}

/// A task that had ended is a part of its graph again, which may have got another root meanwhile.
pub(super) fn rejoin(tasks: &mut Tasks, task_id: &TaskId) {
    attach(tasks, task_id);
    let parent = tasks.get(task_id).and_then(|task| tasks.get(task.row.parent_task_id.as_ref()?));
    if let Some(root) = parent.map(|parent| parent.row.root_task_id.clone()) {
        move_below(tasks, task_id, &root);
    }
}

/// Says to everything above a task that there is something open below it, if that is so.
pub(super) fn attach(tasks: &mut Tasks, task_id: &TaskId) {
    let mut below = task_id.clone();
    while let Some(task) = tasks.get(&below) {
        let alive = task.is_open() || tasks.open_below(&below) > 0;
        let Some(parent) = task.row.parent_task_id.clone().filter(|parent| alive && tasks.get(parent).is_some()) else {
            return;
        };
        tasks.ended.retain(|ended| *ended != parent);
        mark_cancelled(tasks, &parent);
        let known = tasks.children.entry(parent.clone()).or_default().insert(below).is_some();
        if known {
            return;
        }
        below = parent;
    }
}

fn count(tasks: &mut Tasks, from: &TaskId, to: &TaskId, more: bool) {
    for end in [from, to] {
        if let Some(task) = tasks.get_mut(end) {
            task.row.edges = if more { task.row.edges + 1 } else { task.row.edges.saturating_sub(1) };
        }
    }
}

fn unblock(tasks: &mut Tasks, from: &TaskId, to: &TaskId) {
    if let Some(task) = tasks.get_mut(to) {
        task.blockers.remove(from);
    }
    leave(&mut tasks.waiting, from, to);
    leave(&mut tasks.agenda.unblock, to, from);
}

/// Says which graph a task and everything below it that is in the state belong to, and how deep in it they are.
fn move_below(tasks: &mut Tasks, task_id: &TaskId, root: &TaskId) {
    for task_id in subtree(tasks, task_id) {
        let parent = tasks.get(&task_id).and_then(|task| task.row.parent_task_id.as_ref());
        let above = parent.map_or(0, |parent| above_child(tasks, parent));
        if let Some(task) = tasks.get_mut(&task_id) {
            task.row.root_task_id = root.clone();
            task.above = above;
        }
    }
}

/// How many tasks are above a child of this one.
fn above_child(tasks: &Tasks, parent: &TaskId) -> u32 {
    tasks.get(parent).map_or(1, |parent| parent.above.saturating_add(1))
}

/// A task and everything below it on the way to what is open, parents first.
pub(super) fn subtree(tasks: &Tasks, task_id: &TaskId) -> Vec<TaskId> {
    let mut found = vec![task_id.clone()];
    let mut at = 0;
    while at < found.len() {
        let children = tasks.children.get(&found[at]).cloned().unwrap_or_default();
        found.extend(children);
        at += 1;
    }
    found
}

/// A task and those above it, nearest first. Those above an open task never leave the state.
fn lineage<'a>(tasks: &'a Tasks, task_id: &TaskId) -> impl Iterator<Item = &'a TaskRow> {
    let row = |task_id: &TaskId| tasks.get(task_id).map(|task| &task.row);
    std::iter::successors(row(task_id), move |below| row(below.parent_task_id.as_ref()?))
}

/// Whether nothing may be added below a task any more.
fn is_cancelled(row: &TaskRow) -> bool {
    matches!(row.status, TaskStatus::Cancelling | TaskStatus::Cancelled)
}

/// The task below which nothing may be added any more: this one, or the nearest above it that is being cancelled. Graphs are
/// deep, so those above are looked at only where one of them may be.
pub(super) fn cancelled_above(tasks: &Tasks, task_id: &TaskId) -> Option<TaskId> {
    let reach = if tasks.cancelled.is_empty() { 1 } else { usize::MAX };
    lineage(tasks, task_id).take(reach).find(|row| is_cancelled(row)).map(|row| row.task_id.clone())
}

/// Notes whether a task is among those that nothing is added below. One that ended with nothing open below it is not: whoever
/// adds something below it looks at it first.
pub(super) fn mark_cancelled(tasks: &mut Tasks, task_id: &TaskId) {
    let cancelled = tasks.get(task_id).is_some_and(|task| is_cancelled(&task.row));
    if cancelled && !tasks.ended.contains(task_id) {
        tasks.cancelled.insert(task_id.clone());
    } else if !tasks.cancelled.is_empty() {
        tasks.cancelled.remove(task_id);
    }
}

/// Whether `first` waits for `last`, directly or through others: a blocked task waits for its blockers, a parent for its
/// children.
pub(super) fn waits_for(tasks: &Tasks, first: &TaskId, last: &TaskId) -> bool {
    let mut seen = std::collections::BTreeSet::from([last.clone()]);
    let mut todo = vec![last.clone()];
    while let Some(task_id) = todo.pop() {
        if task_id == *first {
            return true;
        }
        let waiting = tasks.waiting.get(&task_id).into_iter().flatten();
        // One above that ended counts too: it may be retried, and what is above it waits for what is open below it.
        let parent = tasks.get(&task_id).and_then(|task| task.row.parent_task_id.as_ref());
        for next in waiting.chain(parent) {
            if seen.insert(next.clone()) {
                todo.push(next.clone());
            }
        }
    }
    false
}
