//! What a job should do, said in the plainest way: every item in a list, every rule a line. Kept apart from the engine, so
//! that neither can hide the other's mistakes.

use factum_model::job::{JobItemStatus, JobStatus};

/// Where an item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// Never handed out, or to be handed out again.
    Waits,
    /// Handed out; nobody has it yet.
    Ready,
    Running,
    /// At work, with a result.
    Reported,
    /// Cut off behind its result.
    LeftReported,
    /// Until then.
    Backoff(i64),
    Completed,
    Failed,
}

#[derive(Clone, Debug)]
pub(super) struct ModelItem {
    pub(super) at: At,
    pub(super) attempts: u32,
    /// Attempts that a crash is the reason of.
    recoveries: u32,
    /// It was handed out before, and goes first.
    pub(super) again: bool,
    /// The job will come to it by itself.
    pub(super) comes: bool,
}

#[derive(Clone, Debug)]
pub(super) struct ModelJob {
    pub(super) items: Vec<ModelItem>,
    pub(super) concurrency: usize,
    pub(super) attempts_max: u32,
    pub(super) workers: bool,
    pub(super) status: JobStatus,
    /// What it had come to before an item was taken up again.
    before: Option<JobStatus>,
    settle_until: i64,
}

impl ModelJob {
    pub(super) fn new(items: usize, concurrency: usize, attempts_max: u32, workers: bool) -> Self {
        let item = ModelItem { at: At::Waits, attempts: 0, recoveries: 0, again: false, comes: true };
        let items = vec![item; items];
        let mut job = Self {
            items,
            concurrency,
            attempts_max,
            workers,
            status: JobStatus::Running,
            before: None,
            settle_until: 0,
        };
        job.go_on();
        job
    }

    pub(super) fn count(&self, is: impl Fn(At) -> bool) -> usize {
        self.items.iter().filter(|item| is(item.at)).count()
    }

    pub(super) fn is_open(&self) -> bool {
        !self.status.is_terminal()
    }

    fn go_on(&mut self) {
        if self.status == JobStatus::Cancelling {
            if self.count(At::is_held) == 0 {
                self.stop(JobStatus::Cancelled);
            }
            return;
        }
        while self.count(|at| at == At::Ready || at.is_held()) < self.concurrency {
            let waits = |item: &ModelItem| item.at == At::Waits && item.comes;
            let again = self.items.iter().position(|item| waits(item) && item.again);
            let Some(next) = again.or_else(|| self.items.iter().position(waits)) else { break };
            let item = &mut self.items[next];
            item.again = true;
            match self.workers {
                true => item.at = At::Ready,
                false => (item.at, item.attempts) = (At::Running, item.attempts + 1),
            }
        }
        let busy = |item: &ModelItem| {
            matches!(item.at, At::Ready | At::Running | At::Reported | At::Backoff(_))
                || item.at == At::Waits && item.comes
        };
        if !self.items.iter().any(busy) {
            let undone = self.count(|at| at == At::Waits) > 0;
            self.status = match self.before.filter(|_| undone) {
                Some(before) => before,
                None if self.count(|at| at == At::Completed) > 0 => JobStatus::Completed,
                None => JobStatus::Failed,
            };
        }
    }

    /// What is not done when a job is stopped is not done at all.
    fn stop(&mut self, status: JobStatus) {
        self.status = status;
        for item in &mut self.items {
            item.comes = false;
            if matches!(item.at, At::Ready | At::Backoff(_)) {
                item.at = At::Waits;
            }
        }
    }

    pub(super) fn claim(&mut self, item: usize) {
        let item = &mut self.items[item];
        (item.at, item.attempts) = (At::Running, item.attempts + 1);
    }

    pub(super) fn report(&mut self, item: usize) {
        self.items[item].at = At::Reported;
    }

    /// The worker vanished.
    pub(super) fn lose(&mut self, item: usize, now: i64) {
        match self.items[item].at {
            At::Reported => {
                self.items[item].at = At::LeftReported;
                self.go_on();
            }
            _ => self.fail(item, true, now),
        }
    }

    /// Agents carry on what they were doing, each in another attempt.
    pub(super) fn crash(&mut self, attempts_max: u32) {
        if self.workers {
            return;
        }
        let at_work = self.items.iter_mut().filter(|item| item.at == At::Running && item.attempts < attempts_max);
        at_work.for_each(|item| (item.attempts, item.recoveries) = (item.attempts + 1, item.recoveries + 1));
    }

    pub(super) fn complete(&mut self, item: usize) {
        self.items[item].at = At::Completed;
        self.go_on();
    }

    pub(super) fn fail(&mut self, item: usize, retryable: bool, now: i64) {
        let goes_on = self.status == JobStatus::Running;
        let item = &mut self.items[item];
        let tries = item.attempts - item.recoveries;
        let again = retryable && goes_on && tries < self.attempts_max;
        let wait = (1_000_i64 << (tries - 1)).min(60_000);
        item.at = if again { At::Backoff(now + wait) } else { At::Failed };
        self.go_on();
    }

    pub(super) fn release(&mut self, item: usize) {
        let item = &mut self.items[item];
        (item.at, item.attempts) = (At::Waits, item.attempts - 1);
        self.go_on();
    }

    pub(super) fn cancel(&mut self, now: i64, settle_ms: i64) {
        if self.status == JobStatus::Cancelling {
            return;
        }
        self.status = JobStatus::Cancelling;
        self.settle_until = now + settle_ms;
        if !self.workers {
            self.give_up();
        }
        self.go_on();
        if self.is_open() {
            // Nobody gets what was ready.
            self.items.iter_mut().filter(|item| item.at == At::Ready).for_each(|item| item.at = At::Waits);
        }
    }

    fn give_up(&mut self) {
        for item in &mut self.items {
            item.at = match item.at {
                At::Running => At::Failed,
                At::Reported => At::LeftReported,
                at => at,
            };
        }
    }

    /// The time passes.
    pub(super) fn pass(&mut self, now: i64) {
        if self.status == JobStatus::Cancelling && self.settle_until <= now {
            self.give_up();
            self.go_on();
        }
        if self.status != JobStatus::Running {
            return;
        }
        for item in &mut self.items {
            if matches!(item.at, At::Backoff(due) if due <= now) {
                item.at = At::Waits;
            }
        }
        self.go_on();
    }

    /// Whether `retry_job_item` takes the item up again.
    pub(super) fn retry(&mut self, number: usize) -> bool {
        let item = &self.items[number];
        let waits_for_ever = item.at == At::Waits && !item.comes;
        if self.status == JobStatus::Cancelling || !(matches!(item.at, At::Failed | At::LeftReported) || waits_for_ever)
        {
            return false;
        }
        if !self.is_open() {
            self.before = Some(self.status);
            self.status = JobStatus::Running;
        }
        let item = &mut self.items[number];
        (item.at, item.again, item.comes, item.recoveries) = (At::Waits, true, true, 0);
        self.go_on();
        true
    }
}

impl At {
    /// Whether somebody is at work on it.
    pub(super) fn is_held(self) -> bool {
        matches!(self, At::Running | At::Reported)
    }

    pub(super) fn status(self) -> JobItemStatus {
        match self {
            At::Waits | At::Ready | At::Backoff(_) => JobItemStatus::Pending,
            At::Running => JobItemStatus::Running,
            At::Reported | At::LeftReported => JobItemStatus::Reported,
            At::Completed => JobItemStatus::Completed,
            At::Failed => JobItemStatus::Failed,
        }
    }
}
