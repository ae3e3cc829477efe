//! The tasks of a graph, asked for page by page.
//!
//! A graph that fits into the bound comes as a whole, which takes few requests. A larger one is walked from the top, level
//! by level, so that what is missing is what is furthest down.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::Result;
use factum_model::commands::{GetTask, GetTaskSnapshot, TaskFilters};
use factum_model::id::{SessionId, TaskId};
use factum_model::task::{Relationship, TaskRecord};

use super::Here;
use crate::commands::task::list::{Found, find};

/// As many tasks as a tree is made of.
pub(super) const TREE_TASKS_MAX: usize = 1_000;
/// As many children of one task as a walk asks for.
const WALK_CHILDREN_MAX: usize = 200;
/// As many requests as a walk makes.
const WALK_REQUESTS_MAX: usize = 200;
/// As many tasks of each kind as a snapshot shows.
const SNAPSHOT_TASKS: u32 = 200;

/// Tasks, oldest first.
pub(in crate::commands::task) struct Graph {
    pub(in crate::commands::task) tasks: Vec<TaskRecord>,
    /// Whether these are all.
    pub(in crate::commands::task) complete: bool,
}

/// A task and everything below it.
pub(in crate::commands::task) async fn below(top: &TaskId, max: usize, here: &Here) -> Result<Graph> {
    let top = here.run(&GetTask { task_id: top.clone(), as_of: None }).await?;
    let filters = TaskFilters { root_task_id: Some(top.root_task_id.clone()), ..TaskFilters::default() };
    let found = find(filters, max, here).await?;
    if found.more {
        return walk(top, max, here).await;
    }
    Ok(Graph { tasks: cut_out(&top, found.tasks), complete: true })
}

/// The tasks of a session.
pub(super) async fn of_session(session: &SessionId, max: usize, here: &Here) -> Result<Graph> {
    let filters = TaskFilters { session_id: Some(session.clone()), ..TaskFilters::default() };
    let Found { mut tasks, more } = find(filters, max, here).await?;
    tasks.reverse();
    Ok(Graph { tasks, complete: !more })
}

/// Who waits for whom, as far as the snapshot of a session says.
pub(super) type Blockers = BTreeMap<TaskId, BTreeSet<TaskId>>;

/// The blockers of the open tasks of a session.
pub(super) async fn blockers(session_id: SessionId, here: &Here) -> Result<Blockers> {
    let snapshot = here.run(&GetTaskSnapshot { session_id, root_task_id: None, limit: Some(SNAPSHOT_TASKS) }).await?;
    let mut blockers = Blockers::new();
    for edge in snapshot.graph.into_iter().filter(|edge| edge.relationship == Relationship::Blocks) {
        blockers.entry(edge.to).or_default().insert(edge.from);
    }
    Ok(blockers)
}

/// Level by level, until it is enough.
async fn walk(top: TaskRecord, max: usize, here: &Here) -> Result<Graph> {
    let mut queue = VecDeque::from([top.task_id.clone()]);
    let (mut tasks, mut complete, mut requests) = (vec![top], true, 0);
    while let Some(parent) = queue.pop_front() {
        if tasks.len() >= max || requests >= WALK_REQUESTS_MAX {
            return Ok(Graph { tasks, complete: false });
        }
        let filters = TaskFilters { parent_task_id: Some(parent), ..TaskFilters::default() };
        let Found { tasks: mut children, more } = find(filters, WALK_CHILDREN_MAX.min(max - tasks.len()), here).await?;
        children.reverse();
        queue.extend(children.iter().map(|child| child.task_id.clone()));
        tasks.extend(children);
        complete &= !more;
        requests += 1;
    }
    Ok(Graph { tasks, complete })
}

/// Of a whole graph, newest first, what is below one task, oldest first, that task before all others.
fn cut_out(top: &TaskRecord, mut tasks: Vec<TaskRecord>) -> Vec<TaskRecord> {
    tasks.reverse();
    let mut below: BTreeSet<TaskId> = [top.task_id.clone()].into();
    // A parent is made before its children, but may be given to them later: go on until nothing more belongs to it.
    loop {
        let known = below.len();
        for task in &tasks {
            if task.parent_task_id.as_ref().is_some_and(|parent| below.contains(parent)) {
                below.insert(task.task_id.clone());
            }
        }
        if below.len() == known {
            break;
        }
    }
    tasks.retain(|task| below.contains(&task.task_id) && task.task_id != top.task_id);
    tasks.insert(0, top.clone());
    tasks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::commands::task::describe::tests::{task, task_with};

    #[test]
    fn only_what_is_below_is_cut_out() {
        let child = |id: &str, parent: &str| task_with(id, "running", json!({ "parent_task_id": parent }));
        // Newest first: task_5 became a child of task_6, which is younger.
        let all = vec![
            child("task_6", "task_2"),
            child("task_5", "task_6"),
            child("task_4", "task_2"),
            child("task_3", "task_1"),
            child("task_2", "task_1"),
            task("task_1", "running"),
        ];
        let ids: Vec<String> = cut_out(&all[4], all.clone()).iter().map(|task| task.task_id.to_string()).collect();
        assert_eq!(ids, ["task_2", "task_4", "task_5", "task_6"]);
    }
}
