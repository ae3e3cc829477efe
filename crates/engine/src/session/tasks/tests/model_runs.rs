//! The reference model of attempts: how they begin, what workers and agents say of them, what time does to them.

use factum_model::task::{AttemptCause, AttemptStatus, Propagation, TaskStatus};

use super::model::{GRACE, Model, Who, Whose, open};
use crate::session::TimerKind;

impl Model {
    pub(super) fn begin(&mut self, name: &str, cause: AttemptCause) {
        let task = self.task(name);
        let queued = task.who == Who::Queue || !task.thread.is_empty();
        if task.who == Who::Agent {
            task.thread.push_back(Whose::Own);
        }
        let status = if queued { AttemptStatus::Queued } else { AttemptStatus::Running };
        let task = self.task(name);
        task.attempts.push((status, cause));
        task.retry_at = None;
        self.set(name, if queued { TaskStatus::Queued } else { TaskStatus::Running });
        if !queued {
            self.clock(name);
        }
    }

    fn clock(&mut self, name: &str) {
        let now = self.now;
        let task = self.task(name);
        if task.status == TaskStatus::Paused {
            task.left = Some((task.policy.timeout, task.policy.silence));
            return;
        }
        task.timeout_at = task.policy.timeout.map(|ms| now + ms);
        task.silent_at = task.policy.silence.map(|ms| now + ms);
    }

    fn close(&mut self, name: &str, status: AttemptStatus) {
        let task = self.task(name);
        task.attempts.last_mut().expect("an attempt").0 = status;
        task.held = false;
        task.thread.retain(|whose| *whose != Whose::Own);
        (task.timeout_at, task.silent_at, task.cancel_at, task.left) = (None, None, None, None);
    }

    /// The process died while the attempt of this number was at work in an agent's turn: another one carries the turn on. The
    /// model may be ahead, where the engine works off an order in pieces; what came of the one came of the other then.
    pub(super) fn crashed(&mut self, name: &str, number: usize) {
        let task = self.task(name);
        let (status, cause) = task.attempts[number - 1];
        task.attempts[number - 1] = (AttemptStatus::Failed, cause);
        task.attempts.insert(number, (status, AttemptCause::CrashRecovery));
        if task.run() == Some(AttemptStatus::Running) {
            self.clock(name);
        }
    }

    /// Somebody talks to the agent in the task's thread.
    pub(super) fn beside(&mut self, name: &str) {
        self.task(name).thread.push_back(Whose::Beside);
    }

    /// What somebody asked of the agent there is done. The task's own run may have waited for that.
    pub(super) fn beside_ended(&mut self, name: &str) {
        let task = self.task(name);
        assert_eq!(task.thread.pop_front(), Some(Whose::Beside));
        if task.thread.front() != Some(&Whose::Own) {
            return;
        }
        task.attempts.last_mut().expect("an attempt").0 = AttemptStatus::Running;
        if task.paused_from == Some(TaskStatus::Queued) {
            task.paused_from = Some(TaskStatus::Running);
        }
        if task.status == TaskStatus::Queued {
            self.set(name, TaskStatus::Running);
        }
        self.clock(name);
    }

    pub(super) fn heard(&mut self, name: &str) {
        let now = self.now;
        let task = self.task(name);
        if task.silent_at.is_some() {
            task.silent_at = task.policy.silence.map(|ms| now + ms);
        }
        if let Some((_, silence)) = task.left.as_mut().filter(|(_, silence)| silence.is_some()) {
            *silence = task.policy.silence;
        }
    }

    pub(super) fn attempt_completed(&mut self, name: &str) {
        self.close(name, AttemptStatus::Completed);
        match self.get(name).status {
            TaskStatus::Cancelling => self.settle(name),
            TaskStatus::Paused => self.task(name).paused_from = Some(TaskStatus::WaitingInput),
            _ => {
                self.set(name, TaskStatus::WaitingInput);
                self.complete_if_enough(name);
            }
        }
    }

    pub(super) fn attempt_failed(&mut self, name: &str, status: AttemptStatus, may_help: bool) {
        self.close(name, status);
        let task = self.get(name);
        let kind = match status {
            AttemptStatus::Failed | AttemptStatus::TimedOut => true,
            AttemptStatus::Lost => task.policy.retry_lost,
            _ => false,
        };
        let again = kind && may_help && task.tries() < task.policy.max_attempts && !self.cancelled_above(name);
        if task.status == TaskStatus::Cancelling {
            self.settle(name);
        } else if again && task.status == TaskStatus::Paused {
            self.task(name).paused_from = Some(TaskStatus::Retrying);
        } else if again {
            self.retry_by_policy(name);
        } else {
            match status {
                AttemptStatus::Lost => self.set(name, TaskStatus::Lost),
                AttemptStatus::Cancelled if self.busy_below(name) => drop(self.cancel(name, Propagation::None)),
                AttemptStatus::Cancelled => self.end(name, TaskStatus::Cancelled),
                AttemptStatus::TimedOut => self.end(name, TaskStatus::TimedOut),
                _ => self.end(name, TaskStatus::Failed),
            }
        }
    }

    pub(super) fn retry_by_policy(&mut self, name: &str) {
        self.set(name, TaskStatus::Retrying);
        let (now, wait) = (self.now, self.get(name).policy.wait);
        if wait == 0 {
            self.retry_now(name);
        } else {
            self.task(name).retry_at = Some(now + wait);
        }
    }

    /// A task that was put aside goes on: its policy has its say about what failed meanwhile, its agent is told to carry on.
    pub(super) fn goes_on(&mut self, name: &str) {
        let task = self.get(name);
        if task.status == TaskStatus::Retrying && task.retry_at.is_none() {
            self.retry_by_policy(name);
        } else if task.who == Who::Agent && task.run() == Some(AttemptStatus::Running) {
            self.heard(name);
        }
    }

    fn retry_now(&mut self, name: &str) {
        let lost = self.get(name).attempts.last().is_some_and(|(status, _)| *status == AttemptStatus::Lost);
        self.begin(name, if lost { AttemptCause::WorkerLost } else { AttemptCause::Retry });
    }

    // Commands about one task's runs. Each says whether it is accepted.

    pub(super) fn start(&mut self, name: &str) -> bool {
        use TaskStatus::*;
        let task = self.get(name);
        let waits = matches!(task.status, WaitingInput | WaitingPermission | WaitingResource);
        let startable = waits || matches!(task.status, Draft | Accepted | Blocked);
        if !startable || !task.blockers.is_empty() || !task.attempts.is_empty() || self.cancelled_above(name) {
            return false;
        }
        self.begin(name, AttemptCause::First);
        true
    }

    pub(super) fn retry(&mut self, name: &str) -> bool {
        let task = self.get(name);
        let over = !open(task.status);
        let orphan = task.parent.as_ref().is_some_and(|parent| over && !open(self.get(parent).status));
        let at_work = task.who == Who::Agent && task.run().is_some();
        let unbegun = task.attempts.is_empty() && !over;
        if unbegun || !task.may(TaskStatus::Retrying) || at_work || orphan || self.cancelled_above(name) {
            return false;
        }
        let cause = match task.status {
            _ if task.attempts.is_empty() => AttemptCause::First,
            TaskStatus::Lost => AttemptCause::WorkerLost,
            TaskStatus::Failed | TaskStatus::TimedOut => AttemptCause::Retry,
            _ => AttemptCause::Rerun,
        };
        if task.run().is_some() {
            self.close(name, AttemptStatus::Cancelled);
        }
        self.begin(name, cause);
        true
    }

    pub(super) fn complete(&mut self, name: &str) -> bool {
        let task = self.get(name);
        let at_work = task.held || (task.who == Who::Agent && task.run().is_some());
        if !task.may(TaskStatus::Completed) || at_work || self.busy_below(name) {
            return false;
        }
        if task.run().is_some() {
            self.close(name, AttemptStatus::Completed);
        }
        match self.get(name).status {
            TaskStatus::Cancelling => self.settle(name),
            _ => self.end(name, TaskStatus::Completed),
        }
        true
    }

    pub(super) fn fail(&mut self, name: &str, may_help: bool) -> bool {
        let task = self.get(name);
        let at_work = task.held || (task.who == Who::Agent && task.run().is_some());
        let settles = task.status == TaskStatus::Cancelling && task.run().is_none();
        if !task.may(TaskStatus::Failed) || at_work || settles {
            return false;
        }
        match task.run() {
            Some(_) => self.attempt_failed(name, AttemptStatus::Failed, may_help),
            None => self.end(name, TaskStatus::Failed),
        }
        true
    }

    pub(super) fn progress(&mut self, name: &str) -> bool {
        let alive = open(self.get(name).status);
        if alive {
            self.heard(name);
        }
        alive
    }

    // Workers.

    pub(super) fn ready(&self, name: &str) -> bool {
        let task = self.get(name);
        task.who == Who::Queue && task.status == TaskStatus::Queued && task.run() == Some(AttemptStatus::Queued)
    }

    pub(super) fn claim(&mut self, name: &str) -> bool {
        if !self.ready(name) {
            return false;
        }
        let task = self.task(name);
        task.held = true;
        task.attempts.last_mut().expect("an attempt").0 = AttemptStatus::Running;
        self.set(name, TaskStatus::Running);
        self.clock(name);
        true
    }

    pub(super) fn release(&mut self, name: &str) {
        if self.cancelled_above(name) {
            return self.attempt_failed(name, AttemptStatus::Cancelled, false);
        }
        self.close(name, AttemptStatus::Queued);
        if self.get(name).status == TaskStatus::Paused {
            self.task(name).paused_from = Some(TaskStatus::Queued);
        } else {
            self.set(name, TaskStatus::Queued);
        }
    }

    // Time.

    /// What is due when, in the order it happens.
    pub(super) fn timers(&self) -> Vec<(i64, TimerKind, String)> {
        let mut timers = Vec::new();
        for (name, task) in &self.tasks {
            let retry_at = task.retry_at.filter(|_| task.status == TaskStatus::Retrying);
            let all = [
                (retry_at, TimerKind::TaskRetry),
                (task.timeout_at, TimerKind::TaskTimeout),
                (task.silent_at, TimerKind::TaskInactivity),
                (task.cancel_at, TimerKind::TaskCancel),
            ];
            timers.extend(all.into_iter().filter_map(|(due, kind)| Some((due?, kind, name.clone()))));
        }
        timers.sort_by_key(|(due, kind, name)| (*due, kind.as_str(), name.clone()));
        timers
    }

    pub(super) fn pass(&mut self, ms: i64) {
        let end = self.now + ms;
        while let Some((due, kind, name)) = self.timers().into_iter().next().filter(|(due, ..)| *due <= end) {
            self.now = self.now.max(due);
            match kind {
                TimerKind::TaskRetry => self.retry_now(&name),
                TimerKind::TaskCancel => self.attempt_failed(&name, AttemptStatus::Unknown, false),
                _ => self.attempt_failed(&name, AttemptStatus::TimedOut, true),
            }
        }
        self.now = end;
    }

    pub(super) fn settle_by(&self) -> i64 {
        self.now + GRACE
    }
}
