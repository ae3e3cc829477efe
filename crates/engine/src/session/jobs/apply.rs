//! How each fact changes the jobs. Total: a fact about a job that is not here changes nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use factum_model::commands::ReportedResult;
use factum_model::events::*;
use factum_model::id::JobId;
use factum_model::job::{JobCounts, JobItemInput, JobItemStatus, JobRecord, JobStatus, ScheduleRecord};
use factum_model::task::AttemptCause;
use factum_model::{Event, Fact, Scope, Timestamp};

use super::super::state::KEPT_TEXT_CHARS_MAX;
use super::super::text::clip;
use super::state::*;
use crate::size::json_bytes;

/// How much of an instruction a record shows.
const INSTRUCTION_PREVIEW_CHARS: usize = 200;

pub(in super::super) fn apply(jobs: &mut Jobs, event: &Event) {
    match &event.fact {
        Fact::JobCreated(fact) => {
            jobs.created += 1;
            jobs.open.extend(Job::created(&event.scope, fact, event.timestamp, event.sequence));
        }
        Fact::JobItemRetrying(fact) => {
            let known = event.scope.job_id.as_ref().is_some_and(|job_id| jobs.is_open(job_id));
            if let Some(reopened) = fact.reopened.as_ref().filter(|_| !known) {
                jobs.open.push(Job::reopened(reopened, event.timestamp));
            }
            with_job(jobs, event, |job| retrying(job, event, fact));
        }
        Fact::JobStarted(fact) => with_job(jobs, event, |job| start(&mut job.record, fact, event.timestamp)),
        Fact::JobProgress(_) => with_job(jobs, event, |_| {}),
        Fact::JobItemQueued(fact) => with_job(jobs, event, |job| {
            hand_out(job, event, fact.number, fact.attempt_count, By::Ready);
        }),
        Fact::JobItemStarted(fact) => with_job(jobs, event, |job| begin(job, event, fact)),
        Fact::JobItemReported(fact) => with_job(jobs, event, |job| report(job, fact, event.timestamp)),
        Fact::JobItemCompleted(fact) => with_job(jobs, event, |job| {
            let done = take_back(job, fact.number);
            job.record.progress.completed += u64::from(done.is_some());
        }),
        Fact::JobItemFailed(fact) => with_job(jobs, event, |job| fail(job, event.timestamp, fact)),
        Fact::RunReleased(_) => with_job(jobs, event, |job| release(job, event)),
        Fact::JobCancelRequested(fact) => with_job(jobs, event, |job| {
            job.record.status = fact.status;
            job.deadline = Some(fact.settle_until);
            let (by, reason) = (fact.requested_by.clone(), fact.reason.clone());
            job.stopping = Some(Stopping { by, reason, becomes: fact.becomes });
        }),
        Fact::JobCompleted(fact) => end(jobs, event, fact.status, &fact.progress, None),
        Fact::JobFailed(fact) => end(jobs, event, fact.status, &fact.progress, Some(&fact.error)),
        Fact::JobCancelled(fact) => end(jobs, event, fact.status, &fact.progress, None),
        Fact::JobScheduled(fact) => jobs.schedules.extend(scheduled(event, fact)),
        Fact::JobScheduleFired(fact) => fired(jobs, fact),
        Fact::JobScheduleEnded(fact) => {
            let Some(at) = jobs.schedules.iter().position(|record| record.schedule_id == fact.schedule_id) else {
                return;
            };
            let mut record = jobs.schedules.remove(at);
            (record.next_at, record.ended_at) = (None, Some(event.timestamp));
            jobs.last_ended_schedule = Some(Box::new(record));
        }
        Fact::ThreadStarted(fact) if fact.origin == ThreadOrigin::Job => {
            let thread_id = event.scope.thread_id.clone();
            with_job(jobs, event, |job| job.record.assigned_threads.extend(thread_id));
        }
        _ => {}
    }
}

fn with_job(jobs: &mut Jobs, event: &Event, change: impl FnOnce(&mut Job)) {
    let Some(job) = event.scope.job_id.as_ref().and_then(|job_id| jobs.get_mut(job_id)) else { return };
    change(job);
    job.record.updated_at = event.timestamp;
    job.record.as_of_sequence = event.sequence;
}

impl Job {
    /// The job of a `job.created`. A decision uses it too, to hand the first items out in the same commit.
    pub(super) fn created(scope: &Scope, fact: &JobCreated, now: Timestamp, sequence: u64) -> Option<Job> {
        let (session_id, job_id) = (scope.session_id.clone()?, scope.job_id.clone()?);
        let total = fact.items.len() as u64;
        let record = JobRecord {
            job_id,
            session_id,
            task_id: scope.task_id.clone(),
            title: fact.title.clone(),
            status: fact.status,
            requested_by: fact.requested_by.clone(),
            instruction_ref: fact.instruction_ref.clone(),
            instruction_preview: fact.instruction.as_deref().map(|text| clip(text, INSTRUCTION_PREVIEW_CHARS)),
            execution: fact.execution.clone(),
            schedule_id: fact.schedule_id.clone(),
            input_refs: fact.input_refs.clone(),
            output_schema_ref: fact.output_schema_ref.clone(),
            max_runtime_ms: fact.max_runtime_ms,
            max_concurrency: fact.max_concurrency,
            max_item_attempts: fact.max_item_attempts,
            item_cursor: 0,
            progress: JobCounts { total, pending: total, ..JobCounts::default() },
            assigned_threads: Vec::new(),
            last_error: None,
            created_at: now,
            updated_at: now,
            started_at: None,
            ended_at: None,
            as_of_sequence: sequence,
        };
        let input_bytes = input_bytes(&fact.items);
        let pending = fact.items.iter().cloned().collect();
        Some(Job::at_work(record, sequence, fact.instruction.clone(), input_bytes, pending, now))
    }

    /// A job that had ended, as it goes on for one item.
    pub(super) fn reopened(fact: &ReopenedJob, now: Timestamp) -> Job {
        let mut record = fact.job.clone();
        let before = Some(record.status);
        (record.status, record.ended_at, record.last_error) = (JobStatus::Running, None, None);
        let job = Job::at_work(record, fact.created_sequence, fact.instruction.clone(), 0, VecDeque::new(), now);
        Job { before, ..job }
    }

    fn at_work(
        record: JobRecord,
        created_sequence: u64,
        instruction: Option<String>,
        input_bytes: usize,
        pending: VecDeque<JobItemInput>,
        now: Timestamp,
    ) -> Job {
        Job {
            deadline: record.max_runtime_ms.and_then(|ms| later(now, ms)),
            record,
            created_sequence,
            instruction,
            input_bytes,
            stopping: None,
            before: None,
            pending,
            again: BTreeMap::new(),
            waiting: BTreeMap::new(),
            due: BTreeSet::new(),
            hands: Vec::new(),
        }
    }
}

/// What items are about, in bytes.
pub(super) fn input_bytes(items: &[JobItemInput]) -> usize {
    json_bytes(items)
}

/// Some milliseconds later; `None` beyond the end of time.
pub(super) fn later(at: Timestamp, ms: u64) -> Option<Timestamp> {
    let ms = at.as_millisecond().checked_add(i64::try_from(ms).ok()?)?;
    Timestamp::from_millisecond(ms).ok()
}

fn start(record: &mut JobRecord, fact: &JobStarted, now: Timestamp) {
    record.status = fact.status;
    record.started_at = record.started_at.or(Some(now));
}

/// Takes the item from wherever it waits.
fn next(job: &mut Job, number: u64, now: Timestamp) -> Option<Item> {
    if let Some(item) = job.again.remove(&number) {
        return Some(item);
    }
    if number != job.record.item_cursor + 1 {
        return None;
    }
    let input = job.pending.pop_front()?;
    job.record.item_cursor += 1;
    Some(Item::new(number, input, now))
}

fn hand_out(job: &mut Job, event: &Event, number: u64, attempt_count: u32, by: By) {
    let (Some(run_id), Some(attempt_id)) = (event.scope.run_id.clone(), event.scope.attempt_id.clone()) else { return };
    let Some(mut item) = next(job, number, event.timestamp) else { return };
    item.updated_at = event.timestamp;
    if !matches!(by, By::Ready) {
        item.attempts = attempt_count;
        begun(&mut job.record.progress);
    }
    job.hands.push(Hand {
        item,
        run_id,
        attempt_id,
        since: event.timestamp,
        sequence: event.sequence,
        by,
        result: None,
    });
}

/// An agent begins an item in the commit that hands it out; a worker claims one that was ready.
fn begin(job: &mut Job, event: &Event, fact: &JobItemStarted) {
    if let (Some(thread_id), Some(turn_id)) = (event.scope.thread_id.clone(), event.scope.turn_id.clone()) {
        if let Some(item) = job.again.get_mut(&fact.number) {
            item.recoveries += u32::from(fact.cause == Some(AttemptCause::CrashRecovery));
        }
        return hand_out(job, event, fact.number, fact.attempt_count, By::Agent { thread_id, turn_id });
    }
    let Some(lease) = fact.lease.clone() else { return };
    let Some(hand) = job.hands.iter_mut().find(|hand| hand.item.number == fact.number && hand.by == By::Ready) else {
        return;
    };
    hand.by = By::Worker { worker: fact.worker.clone().unwrap_or_default(), lease };
    (hand.item.attempts, hand.item.updated_at) = (fact.attempt_count, event.timestamp);
    begun(&mut job.record.progress);
}

fn begun(progress: &mut JobCounts) {
    progress.pending = progress.pending.saturating_sub(1);
    progress.running += 1;
}

/// The worker that has an item said what it came to; it may say so again.
fn report(job: &mut Job, fact: &JobItemReported, now: Timestamp) {
    let of = |hand: &&mut Hand| hand.item.number == fact.number && matches!(hand.by, By::Worker { .. });
    let Some(hand) = job.hands.iter_mut().find(of) else { return };
    less(&mut job.record.progress, hand.status());
    hand.result = Some(ReportedResult { summary: fact.summary.clone(), output_refs: fact.output_refs.clone() });
    hand.item.updated_at = now;
    job.record.progress.reported += 1;
}

/// An item that is at work no more.
fn take_back(job: &mut Job, number: u64) -> Option<Hand> {
    let at = job.hands.iter().position(|hand| hand.item.number == number)?;
    let hand = job.hands.remove(at);
    less(&mut job.record.progress, hand.status());
    Some(hand)
}

/// One item less stands there.
pub(super) fn less(progress: &mut JobCounts, status: JobItemStatus) {
    let count = match status {
        JobItemStatus::Pending => &mut progress.pending,
        JobItemStatus::Running => &mut progress.running,
        JobItemStatus::Completed => &mut progress.completed,
        JobItemStatus::Failed => &mut progress.failed,
        JobItemStatus::Reported => &mut progress.reported,
    };
    *count = count.saturating_sub(1);
}

fn fail(job: &mut Job, now: Timestamp, fact: &JobItemFailed) {
    let Some(hand) = take_back(job, fact.number) else { return };
    let error = kept_failure(&fact.error);
    job.record.last_error = Some(error.clone());
    let Some(retry_at) = fact.retry_at.filter(|_| fact.will_retry) else {
        match fact.status {
            JobItemStatus::Reported => job.record.progress.reported += 1,
            _ => job.record.progress.failed += 1,
        }
        return;
    };
    job.record.progress.pending += 1;
    let checkpoint_refs = fact.checkpoint_refs.clone();
    let item = Item { last_error: Some(error), checkpoint_refs, updated_at: now, ..hand.item };
    job.due.insert((retry_at, item.number));
    job.waiting.insert(item.number, (retry_at, item));
}

pub(super) fn kept_failure(failure: &factum_model::value::Failure) -> factum_model::value::Failure {
    let message = clip(&failure.message, KEPT_TEXT_CHARS_MAX);
    let advice = failure.advice.as_deref().map(|text| clip(text, KEPT_TEXT_CHARS_MAX));
    factum_model::value::Failure { message, advice, ..failure.clone() }
}

/// What a worker gave back waits for the next one; the attempt did not happen.
fn release(job: &mut Job, event: &Event) {
    let held = |hand: &&Hand| Some(&hand.run_id) == event.scope.run_id.as_ref();
    let Some(number) = job.hands.iter().find(held).map(|hand| hand.item.number) else { return };
    let Some(Hand { mut item, .. }) = take_back(job, number) else { return };
    item.attempts = item.attempts.saturating_sub(1);
    item.updated_at = event.timestamp;
    job.record.progress.pending += 1;
    job.again.insert(number, item);
}

fn retrying(job: &mut Job, event: &Event, fact: &JobItemRetrying) {
    if let Some((due, mut item)) = job.waiting.remove(&fact.number) {
        job.due.remove(&(due, fact.number));
        item.updated_at = event.timestamp;
        job.again.insert(fact.number, item);
        return;
    }
    if let Some(item) = taken_up(fact, event.timestamp) {
        less(&mut job.record.progress, fact.was);
        job.record.progress.pending += 1;
        job.again.insert(fact.number, item);
    }
}

/// The item of a fact that takes one up again which had ended.
pub(super) fn taken_up(fact: &JobItemRetrying, now: Timestamp) -> Option<Item> {
    let item = Item::new(fact.number, fact.input.clone()?, now);
    Some(Item { attempts: fact.attempt_count, last_error: fact.last_error.clone(), ..item })
}

fn end(
    jobs: &mut Jobs,
    event: &Event,
    status: JobStatus,
    progress: &JobCounts,
    error: Option<&factum_model::value::Failure>,
) {
    with_job(jobs, event, |job| {
        job.record.status = status;
        job.record.progress = progress.clone();
        job.record.ended_at = Some(event.timestamp);
        if let Some(error) = error {
            job.record.last_error = Some(kept_failure(error));
        }
    });
    let is_it = |job: &Job, job_id: &JobId| job.record.job_id == *job_id;
    let at = event.scope.job_id.as_ref().and_then(|job_id| jobs.open.iter().position(|job| is_it(job, job_id)));
    if let Some(at) = at {
        let Job { record, created_sequence, .. } = jobs.open.remove(at);
        jobs.last_ended = Some(Box::new(EndedJob { record, created_sequence }));
    }
}

fn scheduled(event: &Event, fact: &JobScheduled) -> Option<ScheduleRecord> {
    Some(ScheduleRecord {
        schedule_id: fact.schedule_id.clone(),
        session_id: event.scope.session_id.clone()?,
        requested_by: fact.requested_by.clone(),
        schedule: fact.schedule.clone(),
        next_at: fact.next_at,
        last_at: None,
        last_job_id: None,
        jobs_made: 0,
        missed_total: 0,
        created_at: event.timestamp,
        ended_at: None,
    })
}

fn fired(jobs: &mut Jobs, fact: &JobScheduleFired) {
    let Some(record) = jobs.schedules.iter_mut().find(|record| record.schedule_id == fact.schedule_id) else { return };
    record.next_at = fact.next_at;
    record.last_at = Some(fact.due_at);
    record.missed_total += fact.missed;
    if fact.job_id.is_some() {
        record.jobs_made += 1;
        record.last_job_id = fact.job_id.clone();
    }
}
