//! The reference model: what the contract says of tasks, in plain structs and naive loops. Nothing here is shared with the
//! engine but the table of moves, which is a part of the contract, and the words for statuses.
//!
//! Here is what a task is and what is asked of it; `model_runs` has the life of attempts, `model_graph` edges and orders.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use factum_model::task::{AttemptCause, AttemptStatus, TaskStatus};

use super::super::moves::may_move;
use super::model_helpers::Helper;

/// How long cancelled work may settle.
pub(super) const GRACE: i64 = 40;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Who {
    Assignee,
    Queue,
    Agent,
}

/// For whom a turn in the thread of a task's agent is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Whose {
    /// The task's open run.
    Own,
    /// Somebody talks to the agent there.
    Beside,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policy {
    pub max_attempts: usize,
    pub wait: i64,
    pub timeout: Option<i64>,
    pub silence: Option<i64>,
    pub retry_lost: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    pub status: TaskStatus,
    pub parent: Option<String>,
    /// Those not done yet.
    pub blockers: BTreeSet<String>,
    pub who: Who,
    pub auto: bool,
    pub policy: Policy,
    pub attempts: Vec<(AttemptStatus, AttemptCause)>,
    pub held: bool,
    /// The turns of its agent's thread, the one at work in front.
    pub thread: VecDeque<Whose>,
    pub paused_from: Option<TaskStatus>,
    pub retry_at: Option<i64>,
    pub timeout_at: Option<i64>,
    pub silent_at: Option<i64>,
    pub cancel_at: Option<i64>,
    /// What is left of the two times above while it is put aside.
    pub left: Option<(Option<i64>, Option<i64>)>,
    pub helpers: Vec<Helper>,
}

#[derive(Default)]
pub(super) struct Model {
    pub now: i64,
    pub tasks: BTreeMap<String, Task>,
    /// `(blocker, task)` and whether it is satisfied.
    pub blocks: BTreeMap<(String, String), bool>,
    /// `(task, child agent)` and whether it is satisfied.
    pub spawned: BTreeMap<(String, String), bool>,
}

pub(super) fn open(status: TaskStatus) -> bool {
    use TaskStatus::*;
    !matches!(status, Completed | Failed | Cancelled | TimedOut | Archived)
}

impl Task {
    pub(super) fn run(&self) -> Option<AttemptStatus> {
        let last = self.attempts.last().map(|(status, _)| *status);
        last.filter(|status| matches!(status, AttemptStatus::Queued | AttemptStatus::Running))
    }

    /// Attempts that a retry policy counts.
    pub(super) fn tries(&self) -> usize {
        self.attempts.iter().filter(|(_, cause)| *cause != AttemptCause::CrashRecovery).count()
    }

    /// Whether somebody has worked on it, and nothing new has to begin for it to go on.
    pub(super) fn begun(&self) -> bool {
        let retries = [Some(self.status), self.paused_from].contains(&Some(TaskStatus::Retrying));
        match self.attempts.last() {
            None | Some((AttemptStatus::Queued, _)) => false,
            Some((AttemptStatus::Running, _)) => true,
            Some(_) => !retries,
        }
    }

    pub(super) fn may(&self, to: TaskStatus) -> bool {
        may_move(self.status, to)
    }
}

impl Model {
    pub(super) fn get(&self, name: &str) -> &Task {
        &self.tasks[name]
    }

    pub(super) fn task(&mut self, name: &str) -> &mut Task {
        self.tasks.get_mut(name).expect("a task of the model")
    }

    pub(super) fn children(&self, name: &str) -> Vec<String> {
        let of = |task: &Task| task.parent.as_deref() == Some(name);
        self.tasks.iter().filter(|(_, task)| of(task)).map(|(child, _)| child.clone()).collect()
    }

    /// Whether a task is open, or something below it is.
    pub(super) fn alive(&self, name: &str) -> bool {
        open(self.get(name).status) || self.busy_below(name)
    }

    pub(super) fn busy_below(&self, name: &str) -> bool {
        self.get(name).helpers.iter().any(|helper| helper.at_work)
            || self.children(name).iter().any(|child| self.alive(child))
    }

    /// Whether it or one above it is being cancelled.
    pub(super) fn cancelled_above(&self, name: &str) -> bool {
        let task = self.get(name);
        matches!(task.status, TaskStatus::Cancelling | TaskStatus::Cancelled)
            || task.parent.as_ref().is_some_and(|parent| self.cancelled_above(parent))
    }

    /// Whether `first` cannot end before `last` does.
    pub(super) fn waits(&self, first: &str, last: &str) -> bool {
        if first == last {
            return true;
        }
        let below = self.children(first).into_iter().filter(|child| self.alive(child));
        let before = self.get(first).blockers.iter().cloned();
        below.chain(before).any(|next| self.waits(&next, last))
    }

    pub(super) fn set(&mut self, name: &str, status: TaskStatus) {
        let now = self.now;
        let task = self.task(name);
        if task.status == TaskStatus::Paused && status != TaskStatus::Paused {
            task.paused_from = None;
            if let Some((timeout, silence)) = task.left.take() {
                (task.timeout_at, task.silent_at) = (timeout.map(|ms| now + ms), silence.map(|ms| now + ms));
            }
        }
        task.status = status;
        if !open(status) {
            task.blockers.clear();
            task.held = false;
            task.helpers.retain(|helper| helper.at_work);
            (task.retry_at, task.timeout_at, task.silent_at, task.cancel_at) = (None, None, None, None);
        }
    }

    /// Ends a task, and then whatever only waited for that.
    pub(super) fn end(&mut self, name: &str, status: TaskStatus) {
        self.set(name, status);
        self.settle_above(name);
        if status == TaskStatus::Completed {
            let done: Vec<String> =
                self.blocks.keys().filter(|(blocker, _)| blocker == name).map(|(_, task)| task.clone()).collect();
            for task in done {
                if self.task(&task).blockers.remove(name) {
                    self.blocks.insert((name.to_owned(), task.clone()), true);
                    self.start_unblocked(&task);
                }
            }
        }
    }

    pub(super) fn settle_above(&mut self, name: &str) {
        if let Some(parent) = self.get(name).parent.clone() {
            self.settle(&parent);
        }
    }

    /// A task whose last open child is gone.
    pub(super) fn settle(&mut self, name: &str) {
        if self.busy_below(name) {
            return;
        }
        let task = self.get(name);
        if !open(task.status) {
            self.settle_above(name);
        } else if task.status == TaskStatus::Cancelling && task.run().is_none() {
            self.end(name, TaskStatus::Cancelled);
        } else {
            self.complete_if_enough(name);
        }
    }

    /// The owner said beforehand that a run that completes is enough.
    pub(super) fn complete_if_enough(&mut self, name: &str) {
        let task = self.get(name);
        let ran = task.attempts.last().is_some_and(|(status, _)| *status == AttemptStatus::Completed);
        if task.auto && ran && task.status == TaskStatus::WaitingInput && !self.busy_below(name) {
            self.end(name, TaskStatus::Completed);
        }
    }

    pub(super) fn start_unblocked(&mut self, name: &str) {
        let task = self.get(name);
        if task.status == TaskStatus::Blocked && task.blockers.is_empty() && task.attempts.is_empty() {
            self.begin(name, AttemptCause::First);
        }
    }
}
