//! `retry_job_item`: one item again, alone. Where the job has ended too, it runs again until the item has.
//!
//! An item that ended is not in the state. The shell reads what became of it from its row and what it is about from
//! `job.created`, and keeps others from doing the same meanwhile.

use factum_model::commands::{RetryJobItem, RetryJobItemResult};
use factum_model::events::{JobCreated, JobItemRetrying, JobStarted, ReopenedJob};
use factum_model::job::{JobItem, JobItemInput, JobItemStatus, JobRecord, JobStatus};
use factum_model::task::TaskRow;
use factum_model::{Fact, NewEvent, Refusal};

use super::super::lookup::require_session;
use super::super::state::SessionState;
use super::super::tasks::require_takes_helpers;
use super::hand_out::{hand_out, job_scope};
use super::state::Job;
use crate::context::{Context, Decision, check};

/// What the rows and the log say of an item that is not at work.
pub struct EndedItem<'a> {
    /// As its row shows the job; what the state says of one at work counts more.
    pub record: &'a JobRecord,
    pub created_sequence: u64,
    pub created: &'a JobCreated,
    pub input: &'a JobItemInput,
    pub item: &'a JobItem,
}

/// `recalled` is the row of the task that the job is of, if it is of one.
pub fn retry_job_item(
    state: &SessionState,
    ended: &EndedItem<'_>,
    recalled: &[TaskRow],
    command: &RetryJobItem,
    context: &mut Context<'_>,
) -> Result<Decision<RetryJobItemResult>, Refusal> {
    require_session(state)?;
    let open = state.jobs.get(&command.job_id);
    refuse_unended(open, ended)?;
    require_takes_helpers(state, recalled, ended.record.task_id.as_ref())?;
    let mut events = Vec::new();
    let reopened;
    let job = match open {
        Some(job) => job,
        None => {
            check("jobs_open", state.jobs.open.len() + 1, context.limits.jobs_open_max)?;
            reopened = Job::reopened(&as_it_goes_on(ended), context.now);
            &reopened
        }
    };
    let scope = job_scope(job);
    let fact = JobItemRetrying {
        status: JobItemStatus::Pending,
        was: ended.item.status,
        number: ended.item.number,
        attempt_count: ended.item.attempt_count,
        requested_by: context.caller.to_owned(),
        reason: command.reason.clone(),
        input: Some(ended.input.clone()),
        last_error: ended.item.last_error.clone(),
        reopened: open.is_none().then(|| as_it_goes_on(ended)),
    };
    events.push(NewEvent::new(scope.clone().job_item_id(&command.job_item_id), fact));
    if open.is_none() {
        events.push(NewEvent::new(scope, JobStarted { status: JobStatus::Running, worker: None }));
    }
    hand_out(state, job, None, context, &mut events)?;
    let output = RetryJobItemResult {
        job_id: command.job_id.clone(),
        job_item_id: command.job_item_id.clone(),
        status: status_of(&events, ended.item.number),
        attempt_count: begun(&events, ended.item.number).unwrap_or(ended.item.attempt_count),
        sequence: context.sequence_after(state.sequence, &events),
    };
    Ok(Decision { events, output })
}

/// Only what will not be tried by itself can be asked for.
fn refuse_unended(open: Option<&Job>, ended: &EndedItem<'_>) -> Result<(), Refusal> {
    if open.is_some_and(|job| job.stopping.is_some()) {
        return Err(Refusal::precondition("the job is being stopped; try again when it has ended"));
    }
    let (number, status) = (ended.item.number, ended.item.status);
    // A job that goes on for single items does not come to those it never came to.
    let comes = |job: &Job| job.before.is_none() && number > job.record.item_cursor;
    let at_work = open.is_some_and(|job| job.item(number).is_some() || comes(job));
    if at_work || !matches!(status, JobItemStatus::Failed | JobItemStatus::Reported | JobItemStatus::Pending) {
        let why =
            "only an item that failed, was cut off behind its report, or that its job never came to can be retried";
        return Err(Refusal::precondition(why).with("status", serde_json::to_value(status).unwrap_or_default()));
    }
    Ok(())
}

fn as_it_goes_on(ended: &EndedItem<'_>) -> ReopenedJob {
    ReopenedJob {
        job: ended.record.clone(),
        created_sequence: ended.created_sequence,
        instruction: ended.created.instruction.clone(),
    }
}

fn status_of(events: &[NewEvent], number: u64) -> JobItemStatus {
    if begun(events, number).is_some() { JobItemStatus::Running } else { JobItemStatus::Pending }
}

/// The number of the attempt that began, where one did.
fn begun(events: &[NewEvent], number: u64) -> Option<u32> {
    events.iter().find_map(|event| match &event.fact {
        Fact::JobItemStarted(fact) if fact.number == number => Some(fact.attempt_count),
        _ => None,
    })
}

/// The state of an item that has no row: it was never handed out.
pub fn never_begun(record: &JobRecord, input: &JobItemInput, number: u64) -> JobItem {
    JobItem {
        job_item_id: input.job_item_id.clone(),
        number,
        status: JobItemStatus::Pending,
        attempt_count: 0,
        retryable: true,
        run_id: None,
        thread_id: None,
        turn_id: None,
        worker: None,
        summary: None,
        output_refs: Vec::new(),
        last_error: None,
        updated_at: record.created_at,
    }
}
