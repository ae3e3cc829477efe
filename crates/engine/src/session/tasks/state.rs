//! What is remembered of a session's tasks between commands: the open ones, the last few that ended, and who waits for whom.
//!
//! A task that ended leaves once enough others ended after it; its row in the index is then all there is of it, and a
//! command that names it brings it back by `task.recalled`. The maps share what does not change between copies, so that a
//! decision can work on a copy of its own however many tasks there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use factum_model::id::*;
use factum_model::task::*;
use factum_model::{Scope, Timestamp};
use imbl::{OrdMap, OrdSet, Vector};
use serde::{Deserialize, Serialize};

use super::clock::Left;
use super::helpers::Helpers;
use crate::few::FewMap;

/// How many tasks that ended are kept at hand. Few in tests, so that tasks leave and come back all the time.
pub(super) const ENDED_KEPT_MAX: usize = if cfg!(test) { 4 } else { 64 };

/// The tasks of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tasks {
    pub(super) tasks: FewMap<TaskId, Arc<Task>>,
    /// Children that are open, or that ended and have something open below them, by parent: whatever is above an open
    /// task, or above a helper at work, is therefore in the state.
    pub(super) children: OrdMap<TaskId, OrdSet<TaskId>>,
    /// Open tasks that wait for another one, by the one they wait for.
    pub(super) waiting: OrdMap<TaskId, OrdSet<TaskId>>,
    /// Runs without an outcome.
    pub(super) runs: FewMap<RunId, TaskId>,
    /// The turns agents do them in.
    pub(super) turns: FewMap<TurnId, TaskId>,
    /// Those that ended and have nothing open below them, in that order.
    pub(super) ended: Vector<TaskId>,
    /// Those that are cancelled, or being so, and are not among them: only below these may there be something that nothing is
    /// added to. Almost always none, so that nobody has to look at everything above a task to know.
    pub(super) cancelled: OrdSet<TaskId>,
    /// How many tasks stand where, those that left included.
    pub(super) counts: FewMap<TaskStatus, u64>,
    #[serde(default, skip_serializing_if = "Helpers::is_empty")]
    pub(super) helpers: Helpers,
    pub(super) agenda: Agenda,
    /// What the last event pushed out of the state.
    #[serde(skip)]
    pub(super) spilled: Spill,
}

/// Not a part of the state: two that differ in it only are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Spill(pub(super) Vec<Spilled>);

impl PartialEq for Spill {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What follows from facts and is not done yet: orders that spread, tasks that settle, tasks whose blockers
/// are done, and those whose blockers never will be. Each line goes when
/// its own fact is recorded, so however much there is, it is done in pieces and a crash forgets none of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Agenda {
    pub(super) cancel: OrdMap<TaskId, Order>,
    pub(super) pause: OrdMap<TaskId, Order>,
    pub(super) resume: OrdMap<TaskId, Order>,
    /// Blockers that are done, by who waited for them.
    pub(super) unblock: OrdMap<TaskId, OrdSet<TaskId>>,
    /// Tasks that are being cancelled and wait for nothing any more.
    #[serde(default, skip_serializing_if = "OrdSet::is_empty")]
    pub(super) settle: OrdSet<TaskId>,
    /// Blocked tasks of which something they wait for ended without completing, or began again: they say so.
    #[serde(default, skip_serializing_if = "OrdSet::is_empty")]
    pub(super) retell: OrdSet<TaskId>,
    /// Child agents of tasks that are cancelled.
    #[serde(default, skip_serializing_if = "OrdMap::is_empty")]
    pub(super) close: OrdMap<SubagentId, Order>,
    /// Jobs of tasks that are cancelled.
    #[serde(default, skip_serializing_if = "OrdMap::is_empty")]
    pub(super) stop: OrdMap<JobId, Order>,
}

/// An order on its way down the graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) origin: TaskId,
    pub(super) by: String,
    pub(super) reason: Option<String>,
    pub(super) propagation: Propagation,
    /// It asks only what has not begun, and passes by what is under way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unbegun: bool,
}

/// Something that left the state and is in the index from now on.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Spilled {
    Task(Arc<Task>),
    Attempt(TaskId, Box<Attempt>),
}

/// One task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) row: TaskRow,
    /// How many tasks are above it. True of what is open; what ended may have been moved with what is above it.
    pub(super) above: u32,
    /// Tasks that have to complete first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) blockers: BTreeMap<TaskId, Since>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lease: Option<Lease>,
    /// Since when its run waits for a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ready_since: Option<Timestamp>,
    /// The sequence of the fact that says so; 0 where an older version kept none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) ready_sequence: u64,
    /// Where it stood before it was put aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) paused_from: Option<TaskStatus>,
    #[serde(default, skip_serializing_if = "Due::is_empty")]
    pub(super) due: Due,
    /// What is left of its attempt's time, while it is put aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) left: Option<Left>,
}

/// What is remembered of an edge that waits to be satisfied: an edge is told as a whole, also when it changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Since {
    pub(super) at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

/// When something happens to a task by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Due {
    pub(super) retry: Option<Timestamp>,
    pub(super) timeout: Option<Timestamp>,
    pub(super) inactivity: Option<Timestamp>,
    pub(super) cancel: Option<Timestamp>,
}

impl Due {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Tasks {
    /// Whether there never was one.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether there is something that goes on by itself, without a timer, a worker or a caller.
    pub(in super::super) fn unfinished(&self) -> bool {
        !self.agenda.is_empty()
    }

    pub(in super::super) fn is_open(&self, task_id: &TaskId) -> bool {
        self.get(task_id).is_some_and(Task::is_open)
    }

    /// How many are in memory.
    pub fn in_memory(&self) -> usize {
        self.tasks.len()
    }

    /// What a task is for, where it is in memory.
    pub(in super::super) fn objective(&self, task_id: &TaskId) -> Option<&str> {
        self.get(task_id).map(|task| task.row.objective.as_str())
    }

    pub(super) fn get(&self, task_id: &TaskId) -> Option<&Task> {
        self.tasks.get(task_id).map(|task| &**task)
    }

    /// A task as it stands now. Whoever holds on to it makes the next change of it a copy.
    pub(super) fn shared(&self, task_id: &TaskId) -> Option<Arc<Task>> {
        self.tasks.get(task_id).cloned()
    }

    pub(super) fn get_mut(&mut self, task_id: &TaskId) -> Option<&mut Task> {
        self.tasks.get_mut(task_id).map(Arc::make_mut)
    }

    /// How many children are open or have something open below them.
    pub(super) fn open_children(&self, task_id: &TaskId) -> usize {
        self.children.get(task_id).map_or(0, OrdSet::len)
    }

    /// How much is open below a task: children, and helpers at work for it.
    pub(super) fn open_below(&self, task_id: &TaskId) -> usize {
        self.open_children(task_id) + self.helpers.at_work(task_id)
    }

    /// The task a turn is done for, where its silence has a bound.
    pub(super) fn of_turn(&self, turn_id: Option<&TurnId>) -> Option<&Task> {
        let bounded = |task: &&Task| task.due.inactivity.is_some() || task.left.is_some();
        self.get(self.turns.get(turn_id?)?).filter(bounded)
    }

    pub(in super::super) fn has_turns(&self) -> bool {
        !self.turns.is_empty()
    }

    /// The ids of the task that a turn is done for, and of its run.
    pub(in super::super) fn owner_of(&self, turn_id: &TurnId) -> Option<Scope> {
        let task = self.get(self.turns.get(turn_id)?)?;
        let scope = Scope::default().task_id(&task.row.task_id);
        let attempt = task.open_run().filter(|attempt| attempt.turn_id.as_ref() == Some(turn_id));
        Some(match attempt {
            Some(attempt) => scope.run_id(&attempt.run_id).attempt_id(&attempt.attempt_id),
            None => scope,
        })
    }

    /// The turn that a task was made in.
    pub(in super::super) fn made_in(&self, task_id: &TaskId) -> Option<&TurnId> {
        self.get(task_id)?.row.turn_id.as_ref()
    }

    /// The turn whose call gave this task to a peer, if one did.
    pub(super) fn given_in(&self, task_id: &TaskId) -> Option<&TurnId> {
        let row = &self.get(task_id)?.row;
        row.turn_id.as_ref().filter(|_| row.task_kind.as_deref() == Some(super::given_away::KIND))
    }

    /// The task a run without an outcome is of.
    pub(super) fn of_run(&self, run_id: &RunId) -> Option<&Task> {
        self.get(self.runs.get(run_id)?)
    }
}

impl Agenda {
    pub(super) fn is_empty(&self) -> bool {
        let orders = self.cancel.is_empty() && self.pause.is_empty() && self.resume.is_empty();
        orders
            && self.settle.is_empty()
            && self.retell.is_empty()
            && self.unblock.is_empty()
            && self.close.is_empty()
            && self.stop.is_empty()
    }

    /// Nothing is left to be done about a task that ended.
    pub(super) fn forget(&mut self, task_id: &TaskId) {
        self.cancel.remove(task_id);
        self.pause.remove(task_id);
        self.resume.remove(task_id);
        self.unblock.remove(task_id);
        self.settle.remove(task_id);
        self.retell.remove(task_id);
    }
}

impl Task {
    /// A task of which there is nothing but its row.
    pub(super) fn at_rest(row: TaskRow) -> Self {
        let (blockers, lease, ready_since, paused_from, due, left) = Default::default();
        Self { row, above: 0, blockers, lease, ready_since, ready_sequence: 0, paused_from, due, left }
    }

    /// The attempt without an outcome.
    pub(super) fn open_run(&self) -> Option<&Attempt> {
        self.row.attempt.as_ref().filter(|attempt| attempt.is_open())
    }

    pub(super) fn attempt_count(&self) -> u32 {
        self.row.attempt.as_ref().map_or(0, |attempt| attempt.attempt_count)
    }

    /// The attempts that a retry policy counts: all but those that only carried on what a crash cut off.
    pub(super) fn tries(&self) -> u32 {
        self.attempt_count().saturating_sub(self.row.recoveries)
    }

    pub(super) fn is_open(&self) -> bool {
        is_open(self.row.status)
    }

    /// Whether somebody has worked on it, and it is not merely to begin again: what is not so is not under way.
    pub(super) fn has_begun(&self) -> bool {
        let retries = self.row.status == TaskStatus::Retrying || self.paused_from == Some(TaskStatus::Retrying);
        match &self.row.attempt {
            None => false,
            Some(attempt) if attempt.is_open() => attempt.status == AttemptStatus::Running,
            Some(_) => !retries,
        }
    }

    /// Whether it is being cancelled, and nothing of its own is under way any more.
    pub(super) fn only_settles(&self) -> bool {
        self.row.status == TaskStatus::Cancelling && self.open_run().is_none()
    }
}

fn is_zero(sequence: &u64) -> bool {
    *sequence == 0
}

/// Whether a task with this status has not ended.
pub(super) fn is_open(status: TaskStatus) -> bool {
    !status.is_terminal() && status != TaskStatus::Archived
}
