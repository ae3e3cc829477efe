//! What follows the end of an attempt: another one later, the next item now, progress, the end of the job.

use factum_model::commands::ReportedResult;
use factum_model::events::{JobCancelled, JobCompleted, JobFailed, JobItemCompleted, JobItemFailed, JobProgress};
use factum_model::id::ThreadId;
use factum_model::job::{JobCounts, JobItemStatus, JobStatus};
use factum_model::value::Failure;
use factum_model::{NewEvent, Scope, Timestamp};

use super::super::state::SessionState;
use super::super::tasks::helpers_settled;
use super::super::turn_end::failure;
use super::apply::later;
use super::hand_out::{hand_out, item_scope, job_scope};
use super::state::{By, Hand, Job};
use super::tally::Tally;
use crate::context::Context;

/// The wait before the second attempt of an item; each next one is twice as long.
const RETRY_DELAY_MS: u64 = 1_000;
/// The longest wait.
const RETRY_DELAY_MS_MAX: u64 = 60_000;

/// How an attempt ended.
pub(super) enum Outcome {
    Completed {
        summary: Option<String>,
        output_refs: Vec<String>,
    },
    Failed {
        error: Failure,
        output_refs: Vec<String>,
        checkpoint_refs: Vec<String>,
    },
    /// Its worker vanished, or the job was stopped: what it had reported is what it came to.
    CutOff {
        error: Failure,
    },
}

/// Ends an attempt and goes on with the job. `freed` as for [`hand_out`].
pub(super) fn settle(
    state: &SessionState,
    job: &Job,
    hand: &Hand,
    outcome: Outcome,
    freed: Option<&ThreadId>,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    events.push(ended(job, hand, outcome, context));
    go_on(state, job, freed, context, events);
}

/// Goes on with a job after something changed: hands out what may be, says how far it is, ends it where all is done.
pub(super) fn go_on(
    state: &SessionState,
    job: &Job,
    freed: Option<&ThreadId>,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    let refused = match job.stopping {
        Some(_) => None,
        None => hand_out(state, job, freed, context, events).err(),
    };
    let tally = Tally::of(job, events, context);
    match (&job.stopping, refused) {
        (Some(stopping), _) if tally.leased == 0 => {
            events.push(stopped(job, &stopping.by, stopping.reason.as_deref(), stopping.becomes, tally.progress));
        }
        // Nobody would ever come back to the items that wait.
        (None, Some(refusal)) if tally.in_hand == 0 => {
            let error = failure("limit_exceeded", &refusal.message, true);
            let fact = JobFailed { status: JobStatus::Failed, error, progress: tally.progress };
            events.push(NewEvent::new(job_scope(job), fact));
        }
        (None, None) if tally.is_over(context) => events.push(finished(job, tally)),
        _ => events.extend(progress(job, tally)),
    }
    helpers_settled(state, context, events);
}

/// The fact that an attempt ended.
pub(super) fn ended(job: &Job, hand: &Hand, outcome: Outcome, context: &Context<'_>) -> NewEvent {
    let scope = hand_scope(job, hand);
    let (number, attempt_count) = (hand.item.number, hand.item.attempts);
    let worker = match &hand.by {
        By::Worker { worker, .. } => Some(worker.clone()),
        By::Ready | By::Agent { .. } => None,
    };
    match outcome {
        Outcome::Completed { summary, output_refs } => {
            let status = JobItemStatus::Completed;
            NewEvent::new(scope, JobItemCompleted { status, number, attempt_count, worker, summary, output_refs })
        }
        Outcome::Failed { error, output_refs, checkpoint_refs } => {
            let retry_at = retry_at(job, hand, &error, context.now);
            let will_retry = retry_at.is_some();
            let status = if will_retry { JobItemStatus::Pending } else { JobItemStatus::Failed };
            let fact = JobItemFailed {
                status,
                number,
                attempt_count,
                worker,
                error,
                will_retry,
                retry_at,
                summary: None,
                output_refs,
                checkpoint_refs,
            };
            NewEvent::new(scope, fact)
        }
        Outcome::CutOff { error } => match hand.result.clone() {
            None => {
                let outcome = Outcome::Failed { error, output_refs: Vec::new(), checkpoint_refs: Vec::new() };
                ended(job, hand, outcome, context)
            }
            Some(ReportedResult { summary, output_refs }) => {
                let fact = JobItemFailed {
                    status: JobItemStatus::Reported,
                    number,
                    attempt_count,
                    worker,
                    error,
                    will_retry: false,
                    retry_at: None,
                    summary,
                    output_refs,
                    checkpoint_refs: Vec::new(),
                };
                NewEvent::new(scope, fact)
            }
        },
    }
}

/// The ids of the facts about an attempt.
pub(super) fn hand_scope(job: &Job, hand: &Hand) -> Scope {
    let scope = item_scope(job, &hand.item).run_id(&hand.run_id).attempt_id(&hand.attempt_id);
    match &hand.by {
        By::Agent { thread_id, turn_id } => scope.thread_id(thread_id).turn_id(turn_id),
        By::Ready | By::Worker { .. } => scope,
    }
}

/// When the next attempt may begin, where there is one: the failure may be retried, attempts are left, and the job goes on.
fn retry_at(job: &Job, hand: &Hand, error: &Failure, now: Timestamp) -> Option<Timestamp> {
    let attempts = hand.item.tries();
    if !error.retryable || attempts >= job.record.max_item_attempts || job.stopping.is_some() {
        return None;
    }
    let doublings = attempts.saturating_sub(1).min(16);
    later(now, (RETRY_DELAY_MS << doublings).min(RETRY_DELAY_MS_MAX))
}

/// The end of a job whose items have all ended. One that was stopped before, and ran again for some of its items only, is
/// what it was, because the others still have not been done.
fn finished(job: &Job, tally: Tally<'_>) -> NewEvent {
    let Tally { progress, last_error, .. } = tally;
    if let Some(before) = job.before.filter(|_| progress.pending > 0) {
        let reason = Some("the item that was taken up again has ended; others have still not been done");
        return stopped(job, &job.record.requested_by, reason, before, progress);
    }
    if progress.completed == 0 {
        let reported = match progress.reported {
            0 => String::new(),
            count => format!("; {count} reported a result that was never handed in"),
        };
        let last = last_error.map_or_else(String::new, |error| format!("; the last one failed: {}", error.message));
        let error = failure("items_failed", &format!("no item completed{reported}{last}"), true);
        return NewEvent::new(job_scope(job), JobFailed { status: JobStatus::Failed, error, progress });
    }
    let summary = Some(format!("{} of {} items completed", progress.completed, progress.total));
    NewEvent::new(job_scope(job), JobCompleted { status: JobStatus::Completed, progress, summary })
}

/// The end of a job that somebody, or its time, stopped.
pub(super) fn stopped(job: &Job, by: &str, reason: Option<&str>, becomes: JobStatus, progress: JobCounts) -> NewEvent {
    let scope = job_scope(job);
    match becomes {
        JobStatus::Cancelled => {
            let (cancelled_by, reason) = (by.to_owned(), reason.map(str::to_owned));
            NewEvent::new(scope, JobCancelled { status: becomes, cancelled_by, reason, progress })
        }
        _ => {
            let category = if becomes == JobStatus::TimedOut { "timeout" } else { "items_failed" };
            let error = failure(category, reason.unwrap_or("the job took longer than max_runtime"), true);
            NewEvent::new(scope, JobFailed { status: becomes, error, progress })
        }
    }
}

/// Said whenever another percent of the items has ended: at most a hundred times, however many items there are.
fn progress(job: &Job, tally: Tally<'_>) -> Option<NewEvent> {
    let percent = |counts: &JobCounts| counts.ended() * 100 / counts.total.max(1);
    if percent(&tally.progress) == percent(&job.record.progress) {
        return None;
    }
    let fact = JobProgress {
        item_cursor: tally.cursor(),
        progress: tally.progress,
        assigned_threads: job.record.assigned_threads.iter().cloned().chain(tally.opened).collect(),
        message: None,
    };
    Some(NewEvent::new(job_scope(job), fact))
}
