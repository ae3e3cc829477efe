//! The rows of jobs and schedules: the record of each, lists of them, the items that were handed out, and what waits for a
//! worker, a lease or a time.
//!
//! Records and items are written when a fact is about them and stay. What waits is compared before and after a commit, for
//! the jobs that the commit is about.

use std::collections::{BTreeMap, BTreeSet};

use factum_model::id::{JobId, ScheduleId, SessionId};
use factum_model::job::{JobItem, JobRecord, ScheduleRecord};
use factum_model::task::Priority;
use factum_model::{Event, Fact};
use serde::{Deserialize, Serialize};

use super::super::index::{TimerKind, keys as session_keys, put};
use super::super::state::Shell;
use super::super::workers::{Ready, RunRow, keys as run_keys, lease_row, ready_row};
use super::item_rows::item_row;
use super::state::{By, Job, Jobs};
use crate::key::{IndexChange, Key};

/// The keys.
pub mod keys {
    use super::*;

    /// A job, ended ones too.
    pub fn job(account: &str, job_id: &JobId) -> Vec<u8> {
        Key::table("job").text(account).text(job_id.as_str()).into_bytes()
    }

    /// Jobs of an account, newest first.
    pub fn jobs_of(account: &str) -> Vec<u8> {
        Key::table("jobs").text(account).into_bytes()
    }

    /// Jobs of a session, newest first.
    pub fn jobs_in(account: &str, session_id: &SessionId) -> Vec<u8> {
        Key::table("jobs_in").text(account).text(session_id.as_str()).into_bytes()
    }

    /// Items of a job that were handed out, by number.
    pub fn items(account: &str, job_id: &JobId) -> Vec<u8> {
        Key::table("job_item").text(account).text(job_id.as_str()).into_bytes()
    }

    pub fn item(account: &str, job_id: &JobId, number: u64) -> Vec<u8> {
        Key::table("job_item").text(account).text(job_id.as_str()).number(number).into_bytes()
    }

    /// A schedule, ended ones too.
    pub fn schedule(account: &str, schedule_id: &ScheduleId) -> Vec<u8> {
        Key::table("schedule").text(account).text(schedule_id.as_str()).into_bytes()
    }

    /// Schedules of an account, newest first.
    pub fn schedules_of(account: &str) -> Vec<u8> {
        Key::table("schedules").text(account).into_bytes()
    }

    /// Schedules of a session, newest first.
    pub fn schedules_in(account: &str, session_id: &SessionId) -> Vec<u8> {
        Key::table("schedules_in").text(account).text(session_id.as_str()).into_bytes()
    }

    pub(super) fn newest_first(prefix: Vec<u8>, at: factum_model::Timestamp, id: &str) -> Vec<u8> {
        [prefix, Key::bare().instant_reversed(at).text(id).into_bytes()].concat()
    }

    /// The same, also among those of one session that are of the same instant.
    pub(super) fn newest_job_first(prefix: Vec<u8>, row: &JobRow) -> Vec<u8> {
        let key = Key::bare().instant_reversed(row.record.created_at).number(u64::MAX - row.created_sequence);
        [prefix, key.text(row.record.job_id.as_str()).into_bytes()].concat()
    }
}

/// A job as its row keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    pub record: JobRecord,
    /// Where its `job.created` is, which has what its items are about.
    pub created_sequence: u64,
}

/// A line of a list of jobs: its row has the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobLine {
    pub job_id: JobId,
}

/// A line of a list of schedules: its row has the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleLine {
    pub schedule_id: ScheduleId,
}

/// Rows that come and go, by key.
type Waiting = BTreeMap<Vec<u8>, Vec<u8>>;

/// What a commit changes in the index.
#[derive(Default)]
pub(in super::super) struct RowDiff {
    jobs: BTreeSet<JobId>,
    schedules: BTreeSet<ScheduleId>,
    /// What waited before the commit. Keys need the account, which a new session does not have; but then nothing waited.
    before: Vec<Job>,
    schedules_before: Vec<ScheduleRecord>,
    /// The records of jobs and schedules that ended in it.
    ended: Vec<JobRow>,
    schedules_ended: Vec<ScheduleRecord>,
    items: BTreeMap<(JobId, u64), JobItem>,
    claimed: Vec<factum_model::id::RunId>,
    created: Vec<JobId>,
    scheduled: Vec<ScheduleId>,
}

impl RowDiff {
    /// These events are about to be applied. Events are about no job but the one they name, so one that none of the commit's
    /// earlier events named is as it was before all of them.
    pub(in super::super) fn before(&mut self, jobs: &Jobs, events: &[Event]) {
        for job_id in events.iter().filter_map(job_of) {
            if self.jobs.insert(job_id.clone()) {
                self.before.extend(jobs.get(job_id).map(as_it_waits));
            }
        }
        for schedule_id in events.iter().filter_map(schedule_of) {
            if self.schedules.insert(schedule_id.clone()) {
                let record = jobs.schedules.iter().find(|record| record.schedule_id == *schedule_id);
                self.schedules_before.extend(record.cloned());
            }
        }
    }

    /// An event was applied.
    pub(in super::super) fn saw(&mut self, jobs: &Jobs, event: &Event) {
        let Some(job_id) = job_of(event) else { return self.saw_schedule(jobs, event) };
        match &event.fact {
            Fact::JobCreated(_) => self.created.push(job_id.clone()),
            Fact::JobCompleted(_) | Fact::JobFailed(_) | Fact::JobCancelled(_) => {
                let ended = jobs.last_ended.as_deref().filter(|ended| ended.record.job_id == *job_id);
                self.ended.extend(
                    ended
                        .map(|ended| JobRow { record: ended.record.clone(), created_sequence: ended.created_sequence }),
                );
            }
            fact => {
                if let Fact::JobItemStarted(fact) = fact
                    && fact.lease.is_some()
                {
                    self.claimed.extend(event.scope.run_id.clone());
                }
                if let Some(item) = item_row(jobs, job_id, event) {
                    self.items.insert((job_id.clone(), item.number), item);
                }
            }
        }
    }

    fn saw_schedule(&mut self, jobs: &Jobs, event: &Event) {
        match &event.fact {
            Fact::JobScheduled(fact) => self.scheduled.push(fact.schedule_id.clone()),
            Fact::JobScheduleEnded(fact) => {
                let ended = jobs.last_ended_schedule.as_deref();
                self.schedules_ended.extend(ended.filter(|ended| ended.schedule_id == fact.schedule_id).cloned());
            }
            _ => {}
        }
    }

    pub(in super::super) fn end(self, jobs: &Jobs, shell: &Shell, changes: &mut Vec<IndexChange>) {
        // Most commits are of sessions without either.
        if self.jobs.is_empty() && self.schedules.is_empty() {
            return;
        }
        let account = shell.account.as_str();
        let (mut before, mut after) = (Waiting::new(), Waiting::new());
        self.before.iter().for_each(|job| waiting(job, shell, &mut before));
        self.schedules_before.iter().for_each(|record| waiting_schedule(record, shell, &mut before));
        let open = self.jobs.iter().filter_map(|job_id| jobs.get(job_id));
        let mut rows: BTreeMap<&JobId, JobRow> =
            self.ended.iter().map(|row| (&row.record.job_id, row.clone())).collect();
        for job in open {
            waiting(job, shell, &mut after);
            let row = JobRow { record: job.record.clone(), created_sequence: job.created_sequence };
            rows.insert(&job.record.job_id, row);
        }
        for (job_id, row) in &rows {
            put(changes, keys::job(account, job_id), row);
            if self.created.contains(job_id) {
                let line = JobLine { job_id: (*job_id).clone() };
                for prefix in [keys::jobs_of(account), keys::jobs_in(account, &shell.session_id)] {
                    put(changes, keys::newest_job_first(prefix, row), &line);
                }
            }
        }
        for ((job_id, number), item) in &self.items {
            put(changes, keys::item(account, job_id, *number), item);
        }
        for run_id in &self.claimed {
            put(changes, run_keys::run(account, run_id), &RunRow { session_id: shell.session_id.clone() });
        }
        self.end_schedules(jobs, shell, &mut after, changes);
        difference(before, after, changes);
    }

    fn end_schedules(&self, jobs: &Jobs, shell: &Shell, after: &mut Waiting, changes: &mut Vec<IndexChange>) {
        let account = shell.account.as_str();
        let open = self.schedules.iter().filter_map(|id| jobs.schedule(id)).inspect(|record| {
            waiting_schedule(record, shell, after);
        });
        let records: Vec<&ScheduleRecord> = self.schedules_ended.iter().chain(open).collect();
        for record in records {
            put(changes, keys::schedule(account, &record.schedule_id), record);
            if self.scheduled.contains(&record.schedule_id) {
                let line = ScheduleLine { schedule_id: record.schedule_id.clone() };
                for prefix in [keys::schedules_of(account), keys::schedules_in(account, &shell.session_id)] {
                    let id = record.schedule_id.as_str();
                    put(changes, keys::newest_first(prefix, record.created_at, id), &line);
                }
            }
        }
    }
}

/// The job that a fact changes.
fn job_of(event: &Event) -> Option<&JobId> {
    let changes = matches!(
        event.fact,
        Fact::JobCreated(_)
            | Fact::JobStarted(_)
            | Fact::JobProgress(_)
            | Fact::JobItemQueued(_)
            | Fact::JobItemStarted(_)
            | Fact::JobItemReported(_)
            | Fact::JobItemCompleted(_)
            | Fact::JobItemFailed(_)
            | Fact::JobItemRetrying(_)
            | Fact::RunReleased(_)
            | Fact::JobCancelRequested(_)
            | Fact::JobCompleted(_)
            | Fact::JobFailed(_)
            | Fact::JobCancelled(_)
    );
    event.scope.job_id.as_ref().filter(|_| changes)
}

fn schedule_of(event: &Event) -> Option<&ScheduleId> {
    match &event.fact {
        Fact::JobScheduled(fact) => Some(&fact.schedule_id),
        Fact::JobScheduleFired(fact) => Some(&fact.schedule_id),
        Fact::JobScheduleEnded(fact) => Some(&fact.schedule_id),
        _ => None,
    }
}

/// A job without its items that wait for their turn, which have no rows: copying those would cost with their number.
fn as_it_waits(job: &Job) -> Job {
    Job {
        record: job.record.clone(),
        created_sequence: job.created_sequence,
        instruction: None,
        input_bytes: 0,
        deadline: job.deadline,
        stopping: job.stopping.clone(),
        before: None,
        pending: Default::default(),
        again: BTreeMap::new(),
        waiting: BTreeMap::new(),
        due: job.due.first().copied().into_iter().collect(),
        hands: job.hands.clone(),
    }
}

/// The rows a job has for as long as something of it waits.
fn waiting(job: &Job, shell: &Shell, rows: &mut Waiting) {
    let id = job.record.job_id.as_str();
    let mut timer = |due, kind| rows.insert(session_keys::timer(&shell.timer(due, kind, id)), Vec::new());
    if let Some(deadline) = job.deadline {
        timer(deadline, TimerKind::JobTimeout);
    }
    if let Some((due, _)) = job.due.first().filter(|_| job.stopping.is_none()) {
        timer(*due, TimerKind::JobRetry);
    }
    let queue = job.record.execution.queue.as_deref().unwrap_or_default();
    for hand in &job.hands {
        let row = match &hand.by {
            By::Agent { .. } => continue,
            By::Worker { lease, .. } => lease_row(shell, &hand.run_id, lease.token, lease.lease_ms),
            By::Ready if job.stopping.is_some() => continue,
            By::Ready => {
                let needs = &job.record.execution.required_capabilities;
                let since = Ready { at: hand.since, sequence: hand.sequence };
                ready_row(shell, queue, needs, Priority::Normal, since, &hand.run_id)
            }
        };
        rows.extend([row]);
    }
}

fn waiting_schedule(record: &ScheduleRecord, shell: &Shell, rows: &mut Waiting) {
    if let Some(due) = record.next_at {
        let timer = shell.timer(due, TimerKind::Schedule, record.schedule_id.as_str());
        rows.insert(session_keys::timer(&timer), Vec::new());
    }
}

fn difference(mut before: Waiting, after: Waiting, changes: &mut Vec<IndexChange>) {
    for (key, value) in after {
        if before.remove(&key).as_ref() != Some(&value) {
            changes.push(IndexChange::Put { key, value });
        }
    }
    changes.extend(before.into_keys().map(|key| IndexChange::Delete { key }));
}
