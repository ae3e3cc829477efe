//! The fold of ends: a task that ended lets go of everything, stays while something below it is open, and leaves once enough
//! others ended after it.

use factum_model::Timestamp;
use factum_model::id::TaskId;
use factum_model::task::TaskStatus;
use imbl::{OrdMap, OrdSet};

use super::graph;
use super::state::{ENDED_KEPT_MAX, Spilled, Tasks};

/// A task ended.
pub(super) fn end(tasks: &mut Tasks, task_id: &TaskId, at: Timestamp) {
    let Some(task) = tasks.get_mut(task_id) else { return };
    task.row.ended_at = Some(at);
    (task.ready_since, task.ready_sequence) = (None, 0);
    task.lease = None;
    task.due = Default::default();
    task.left = None;
    task.paused_from = None;
    let status = task.row.status;
    let blockers = std::mem::take(&mut task.blockers);
    tasks.agenda.forget(task_id);
    tasks.helpers.task_ended(task_id);
    for blocker in blockers.keys() {
        leave(&mut tasks.waiting, blocker, task_id);
    }
    if status == TaskStatus::Completed {
        for dependent in tasks.waiting.get(task_id).cloned().unwrap_or_default() {
            tasks.agenda.unblock.entry(dependent).or_default().insert(task_id.clone());
        }
    } else {
        retell(tasks, task_id);
    }
    retire_from(tasks, task_id);
}

/// A task that had ended begins again.
pub(super) fn reopen(tasks: &mut Tasks, task_id: &TaskId) {
    tasks.ended.retain(|ended| ended != task_id);
    graph::rejoin(tasks, task_id);
    retell(tasks, task_id);
}

/// Whoever waits for a task says what has become of it.
fn retell(tasks: &mut Tasks, blocker: &TaskId) {
    for dependent in tasks.waiting.get(blocker).cloned().unwrap_or_default() {
        if tasks.get(&dependent).is_some_and(|task| task.row.status == TaskStatus::Blocked) {
            tasks.agenda.retell.insert(dependent);
        }
    }
}

/// Retires a task that ended once nothing below it is open, and with it those above that ended and only stayed for it.
pub(super) fn retire_from(tasks: &mut Tasks, task_id: &TaskId) {
    let mut over = Some(task_id.clone());
    while let Some(task_id) = over {
        let Some(task) = tasks.get(&task_id) else { return };
        if tasks.open_below(&task_id) > 0 {
            return;
        }
        if task.is_open() {
            if task.only_settles() {
                tasks.agenda.settle.insert(task_id);
            }
            return;
        }
        over = task.row.parent_task_id.clone();
        if let Some(parent) = &over {
            leave(&mut tasks.children, parent, &task_id);
        }
        retire(tasks, task_id);
    }
}

/// Takes `member` out of the set of `key`, and the set out of the map where it was the last.
pub(super) fn leave(map: &mut OrdMap<TaskId, OrdSet<TaskId>>, key: &TaskId, member: &TaskId) {
    let Some(set) = map.get_mut(key) else { return };
    set.remove(member);
    if set.is_empty() {
        map.remove(key);
    }
}

/// Puts a task among those that ended; the one that ended first leaves when there are too many.
pub(super) fn retire(tasks: &mut Tasks, task_id: TaskId) {
    if tasks.ended.contains(&task_id) {
        return;
    }
    tasks.cancelled.remove(&task_id);
    tasks.ended.push_back(task_id);
    if tasks.ended.len() > ENDED_KEPT_MAX {
        let gone = tasks.ended.pop_front().and_then(|oldest| tasks.tasks.remove(&oldest));
        tasks.spilled.0.extend(gone.map(Spilled::Task));
    }
}
