//! What is remembered of jobs and schedules: those at work, and of their items only those that have not ended.
//!
//! An item that ended is a row of the index; what it was about stays in `job.created`, in the log. So a job gets smaller as
//! it goes on, and one that ended is gone from here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use factum_model::commands::ReportedResult;
use factum_model::id::*;
use factum_model::job::{JobItemInput, JobItemStatus, JobRecord, JobStatus, ScheduleRecord};
use factum_model::task::Lease;
use factum_model::value::Failure;
use factum_model::{Scope, Timestamp};
use serde::{Deserialize, Serialize};

use super::super::state::Shell;
use super::hand_out::item_scope;

/// The jobs and schedules of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Jobs {
    /// At work, in order of creation.
    pub(super) open: Vec<Job>,
    /// Not ended, in order of creation.
    pub(super) schedules: Vec<ScheduleRecord>,
    /// How many there ever were.
    #[serde(default)]
    pub(super) created: u64,
    /// The job that ended last: its row is made from it.
    pub(super) last_ended: Option<Box<EndedJob>>,
    /// The schedule that ended last: its row is made from it.
    pub(super) last_ended_schedule: Option<Box<ScheduleRecord>>,
}

/// What the row of a job keeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EndedJob {
    pub(super) record: JobRecord,
    pub(super) created_sequence: u64,
}

/// A job at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) record: JobRecord,
    /// Where its `job.created` is.
    pub(super) created_sequence: u64,
    /// The instruction, where it came as text.
    pub(super) instruction: Option<String>,
    /// What its items are about, in bytes; counted once, when it is created.
    pub(super) input_bytes: usize,
    /// When it has taken too long, or when its workers have had their time to settle.
    pub(super) deadline: Option<Timestamp>,
    pub(super) stopping: Option<Stopping>,
    /// What it had come to before an item of it was taken up again.
    pub(super) before: Option<JobStatus>,
    /// Never handed out. The first has the number `record.item_cursor + 1`.
    pub(super) pending: VecDeque<JobItemInput>,
    /// To be handed out again before those.
    pub(super) again: BTreeMap<u64, Item>,
    /// Failed, and wait for their next attempt.
    pub(super) waiting: BTreeMap<u64, (Timestamp, Item)>,
    /// When each of them may be tried again.
    pub(super) due: BTreeSet<(Timestamp, u64)>,
    /// Handed out: at work, or ready for a worker. At most `max_concurrency`.
    pub(super) hands: Vec<Hand>,
}

/// Somebody wants the job to end, and workers still hold items of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Stopping {
    pub(super) by: String,
    pub(super) reason: Option<String>,
    /// `cancelled` or `timed_out`.
    pub(super) becomes: JobStatus,
}

/// An item that has not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Item {
    /// From 1.
    pub(super) number: u64,
    pub(super) input: JobItemInput,
    /// Attempts that began.
    pub(super) attempts: u32,
    /// Those of them that carried on what a crash cut off.
    #[serde(default)]
    pub(super) recoveries: u32,
    pub(super) last_error: Option<Failure>,
    /// Where the attempt before left off.
    pub(super) checkpoint_refs: Vec<String>,
    pub(super) updated_at: Timestamp,
}

/// An item that was handed out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Hand {
    pub(super) item: Item,
    pub(super) run_id: RunId,
    pub(super) attempt_id: AttemptId,
    pub(super) since: Timestamp,
    /// Of the fact that handed it out; 0 where an older version kept none.
    #[serde(default)]
    pub(super) sequence: u64,
    pub(super) by: By,
    /// What its worker said it came to.
    #[serde(default)]
    pub(super) result: Option<ReportedResult>,
}

/// Who has an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum By {
    /// Nobody yet: a worker may claim it.
    Ready,
    Worker {
        worker: String,
        lease: Lease,
    },
    Agent {
        thread_id: ThreadId,
        turn_id: TurnId,
    },
}

impl Jobs {
    pub(in super::super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Nothing of a job has to be carried on by hand after a restart: turns are the threads' business, and what waits for
    /// a worker, a lease or a time has a row that says so.
    pub(in super::super) fn unfinished(&self) -> bool {
        false
    }

    pub(super) fn get(&self, job_id: &JobId) -> Option<&Job> {
        self.open.iter().find(|job| job.record.job_id == *job_id)
    }

    pub(super) fn get_mut(&mut self, job_id: &JobId) -> Option<&mut Job> {
        self.open.iter_mut().find(|job| job.record.job_id == *job_id)
    }

    /// The item that was handed out as this run.
    pub(super) fn run(&self, run_id: &RunId) -> Option<(&Job, &Hand)> {
        self.hands().find(|(_, hand)| hand.run_id == *run_id)
    }

    /// The item that an agent does in this turn.
    pub(super) fn turn(&self, turn_id: &TurnId) -> Option<(&Job, &Hand)> {
        self.hands().find(|(_, hand)| matches!(&hand.by, By::Agent { turn_id: of, .. } if of == turn_id))
    }

    /// The ids of the item that a turn does, and of its run.
    pub(in super::super) fn owner_of(&self, turn_id: &TurnId) -> Option<Scope> {
        let (job, hand) = self.turn(turn_id)?;
        let scope = item_scope(job, &hand.item).run_id(&hand.run_id).attempt_id(&hand.attempt_id);
        Some(scope)
    }

    fn hands(&self) -> impl Iterator<Item = (&Job, &Hand)> {
        self.open.iter().flat_map(|job| job.hands.iter().map(move |hand| (job, hand)))
    }

    pub(super) fn schedule(&self, schedule_id: &ScheduleId) -> Option<&ScheduleRecord> {
        self.schedules.iter().find(|record| record.schedule_id == *schedule_id)
    }

    /// Whether a job is at work. One that is not has ended, or never was.
    pub fn is_open(&self, job_id: &JobId) -> bool {
        self.get(job_id).is_some()
    }

    /// Where a job at work stands.
    pub(in super::super) fn status(&self, job_id: &JobId) -> Option<JobStatus> {
        self.get(job_id).map(|job| job.record.status)
    }

    /// The jobs at work, newest first and at most `limit`, how many there ever were, and the threads their agents are at work in.
    #[allow(dead_code, reason = "get_subagent_job_summary reads it")]
    pub(in super::super) fn summary(&self, _: &Shell, limit: usize) -> (Vec<JobRecord>, u64, Vec<ThreadId>) {
        let records = self.open.iter().rev().take(limit).map(|job| job.record.clone()).collect();
        let threads = self.hands().filter_map(|(_, hand)| match &hand.by {
            By::Agent { thread_id, .. } => Some(thread_id.clone()),
            By::Ready | By::Worker { .. } => None,
        });
        (records, self.created, threads.collect())
    }
}

impl Item {
    /// An item that is handed out for the first time.
    pub(super) fn new(number: u64, input: JobItemInput, now: Timestamp) -> Self {
        let checkpoint_refs = Vec::new();
        Self { number, input, attempts: 0, recoveries: 0, last_error: None, checkpoint_refs, updated_at: now }
    }

    /// The attempts that `max_item_attempts` counts: all but those that only carried on what a crash cut off.
    pub(super) fn tries(&self) -> u32 {
        self.attempts.saturating_sub(self.recoveries)
    }
}

impl Hand {
    /// Where its item stands.
    pub(super) fn status(&self) -> JobItemStatus {
        match (&self.by, &self.result) {
            (By::Ready, _) => JobItemStatus::Pending,
            (_, Some(_)) => JobItemStatus::Reported,
            (_, None) => JobItemStatus::Running,
        }
    }
}

impl Job {
    pub(super) fn item(&self, number: u64) -> Option<&Item> {
        let handed = || self.hands.iter().map(|hand| &hand.item).find(|item| item.number == number);
        self.again.get(&number).or_else(|| self.waiting.get(&number).map(|(_, item)| item)).or_else(handed)
    }

    pub(super) fn hand(&self, number: u64) -> Option<&Hand> {
        self.hands.iter().find(|hand| hand.item.number == number)
    }
}
