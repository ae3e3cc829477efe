//! The reference model of the graph: new tasks, edges, moves said by hand, and orders that spread.

use std::collections::BTreeSet;

use factum_model::task::{AttemptCause, AttemptStatus, Propagation, TaskStatus};

use super::model::{Model, Policy, Task, Who, open};

/// What a new task is asked to be.
#[derive(Clone, Debug)]
pub(super) struct New {
    pub status: TaskStatus,
    pub parent: Option<String>,
    pub blocked_by: BTreeSet<String>,
    pub who: Who,
    pub auto: bool,
    pub policy: Policy,
}

impl Model {
    pub(super) fn create(&mut self, name: &str, new: &New) -> bool {
        let closed = |parent: &String| !open(self.get(parent).status) || self.cancelled_above(parent);
        if new.parent.as_ref().is_some_and(closed) {
            return false;
        }
        let task = Task {
            status: new.status,
            parent: new.parent.clone(),
            blockers: BTreeSet::new(),
            who: new.who,
            auto: new.auto,
            policy: new.policy,
            attempts: Vec::new(),
            held: false,
            thread: Default::default(),
            paused_from: None,
            retry_at: None,
            timeout_at: None,
            silent_at: None,
            cancel_at: None,
            left: None,
            helpers: Vec::new(),
        };
        self.tasks.insert(name.to_owned(), task);
        if new.blocked_by.iter().any(|blocker| self.waits(blocker, name)) {
            self.tasks.remove(name);
            return false;
        }
        for blocker in &new.blocked_by {
            self.block(blocker, name);
        }
        let blocked = !self.get(name).blockers.is_empty();
        match new.status {
            TaskStatus::Draft => {}
            _ if blocked => self.set(name, TaskStatus::Blocked),
            TaskStatus::Queued => self.begin(name, AttemptCause::First),
            _ => {}
        }
        true
    }

    fn block(&mut self, blocker: &str, name: &str) {
        let done = self.get(blocker).status == TaskStatus::Completed;
        self.blocks.insert((blocker.to_owned(), name.to_owned()), done);
        if !done {
            self.task(name).blockers.insert(blocker.to_owned());
        }
    }

    pub(super) fn link_blocks(&mut self, blocker: &str, name: &str) -> bool {
        if self.blocks.contains_key(&(blocker.to_owned(), name.to_owned())) {
            return true;
        }
        let task = self.get(name);
        if !open(task.status) || !task.attempts.is_empty() || self.waits(blocker, name) {
            return false;
        }
        self.block(blocker, name);
        let task = self.get(name);
        let asleep = matches!(task.status, TaskStatus::Draft | TaskStatus::Paused | TaskStatus::Cancelling);
        if !task.blockers.is_empty() && task.blockers.contains(blocker) && !asleep {
            self.set(name, TaskStatus::Blocked);
        }
        true
    }

    pub(super) fn unlink_blocks(&mut self, blocker: &str, name: &str) -> bool {
        if self.blocks.remove(&(blocker.to_owned(), name.to_owned())).is_none() {
            return false;
        }
        if self.task(name).blockers.remove(blocker) {
            self.start_unblocked(name);
        }
        true
    }

    pub(super) fn link_parent(&mut self, parent: &str, child: &str) -> bool {
        if self.get(child).parent.as_deref() == Some(parent) {
            return true;
        }
        let free = self.get(child).parent.is_none() && open(self.get(parent).status);
        if !free || self.cancelled_above(parent) || self.waits(child, parent) {
            return false;
        }
        self.task(child).parent = Some(parent.to_owned());
        true
    }

    pub(super) fn unlink_parent(&mut self, parent: &str, child: &str) -> bool {
        if self.get(child).parent.as_deref() != Some(parent) {
            return false;
        }
        self.task(child).parent = None;
        self.settle(parent);
        true
    }

    /// `update_task` with a status.
    pub(super) fn update(&mut self, name: &str, to: TaskStatus) -> bool {
        use TaskStatus::*;
        let task = self.get(name).clone();
        if task.status == Archived || (to != task.status && !task.may(to)) {
            return false;
        }
        let by_agent = task.who == Who::Agent && task.run().is_some();
        let waits = matches!(to, WaitingInput | WaitingPermission | WaitingResource) && !task.blockers.is_empty();
        if to != task.status && to != Archived && (matches!(task.status, Paused | Retrying) || by_agent || waits) {
            return false;
        }
        match to {
            _ if to == task.status => {}
            Accepted if task.attempts.is_empty() => self.accept(name),
            Queued if matches!(task.status, Draft | Accepted) => match task.blockers.is_empty() {
                true if self.cancelled_above(name) => return false,
                true => self.begin(name, AttemptCause::First),
                false => self.accept(name),
            },
            Queued if task.run() == Some(AttemptStatus::Queued) => self.set(name, Queued),
            Preparing | Running if task.run() == Some(AttemptStatus::Running) => self.set(name, to),
            WaitingInput | WaitingPermission | WaitingResource | Blocked | Archived => self.set(name, to),
            Stale | Unknown if !task.attempts.is_empty() => self.set(name, to),
            _ => return false,
        }
        self.complete_if_enough(name);
        true
    }

    fn accept(&mut self, name: &str) {
        let blocked = !self.get(name).blockers.is_empty();
        self.set(name, if blocked { TaskStatus::Blocked } else { TaskStatus::Accepted });
    }

    /// Everything an order reaches below a task: what is open there, through what ended too.
    pub(super) fn below(&self, name: &str, propagation: Propagation) -> Vec<String> {
        if propagation == Propagation::None {
            return Vec::new();
        }
        let mut reached = Vec::new();
        for child in self.children(name).into_iter().filter(|child| self.alive(child)) {
            if propagation == Propagation::Descendants {
                reached.extend(self.below(&child, propagation));
            }
            reached.push(child);
        }
        reached
    }

    pub(super) fn pause(&mut self, name: &str, propagation: Propagation) -> bool {
        if !self.get(name).may(TaskStatus::Paused) {
            return false;
        }
        for reached in self.below(name, propagation).into_iter().chain([name.to_owned()]) {
            let task = self.get(&reached);
            if task.may(TaskStatus::Paused) {
                let before = task.status;
                self.set(&reached, TaskStatus::Paused);
                let now = self.now;
                let task = self.task(&reached);
                task.paused_from = Some(before);
                let [timeout, silence] =
                    [&mut task.timeout_at, &mut task.silent_at].map(|due| due.take().map(|due| (due - now).max(0)));
                task.left = Some((timeout, silence));
            }
        }
        true
    }

    pub(super) fn resume(&mut self, name: &str, propagation: Propagation) -> bool {
        match self.get(name).status {
            TaskStatus::Paused => {}
            TaskStatus::Lost if !self.cancelled_above(name) => {
                self.begin(name, AttemptCause::WorkerLost);
                return true;
            }
            _ => return false,
        }
        let below = self.below(name, propagation);
        for reached in [name.to_owned()].into_iter().chain(below) {
            let Some(before) = self.get(&reached).paused_from else { continue };
            let blocked = !self.get(&reached).blockers.is_empty();
            self.set(&reached, if blocked { TaskStatus::Blocked } else { before });
            self.start_unblocked(&reached);
            self.complete_if_enough(&reached);
            self.goes_on(&reached);
        }
        true
    }

    pub(super) fn cancel(&mut self, name: &str, propagation: Propagation) -> bool {
        let task = self.get(name);
        let again = task.status == TaskStatus::Cancelling && propagation != Propagation::None;
        if !again && !task.may(TaskStatus::Cancelling) {
            return false;
        }
        let mut below = self.below(name, propagation);
        let unbegun = self.below(name, Propagation::Descendants).into_iter().filter(|name| !self.get(name).begun());
        below.extend(unbegun.filter(|name| !below.contains(name)).collect::<Vec<_>>());
        // The intent is everywhere before anything ends.
        let reached: Vec<String> = [name.to_owned()].into_iter().chain(below).collect();
        let reached: Vec<String> =
            reached.into_iter().filter(|reached| self.get(reached).may(TaskStatus::Cancelling)).collect();
        let helped = self.helped_below(name, propagation);
        for reached in &reached {
            self.set(reached, TaskStatus::Cancelling);
            self.task(reached).retry_at = None;
        }
        for reached in reached {
            let (settle_by, task) = (self.settle_by(), self.get(&reached));
            match (task.run(), task.who) {
                _ if !open(task.status) => {}
                (None, _) => self.settle(&reached),
                (Some(AttemptStatus::Running), Who::Assignee | Who::Queue) => {
                    self.task(&reached).cancel_at = Some(settle_by);
                }
                _ => self.attempt_failed(&reached, AttemptStatus::Cancelled, false),
            }
        }
        helped.iter().for_each(|(task, helper)| self.helper_closes(task, helper));
        true
    }
}
