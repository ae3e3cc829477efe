//! The row of an item: as the state has it, or, once the item has ended, as its last fact says.

use factum_model::id::JobId;
use factum_model::job::{JobItem, JobItemStatus};
use factum_model::{Event, Fact};

use super::apply::kept_failure;
use super::state::{By, Hand, Item, Jobs};

/// The row of the item that a fact is about: as the state has it, or as it ended.
pub(super) fn item_row(jobs: &Jobs, job_id: &JobId, event: &Event) -> Option<JobItem> {
    let number = match &event.fact {
        Fact::JobItemQueued(fact) => fact.number,
        Fact::JobItemStarted(fact) => fact.number,
        Fact::JobItemReported(fact) => fact.number,
        Fact::JobItemCompleted(fact) => fact.number,
        Fact::JobItemFailed(fact) => fact.number,
        Fact::JobItemRetrying(fact) => fact.number,
        Fact::RunReleased(_) => {
            let job = jobs.get(job_id)?;
            let item_id = event.scope.job_item_id.as_ref()?;
            job.again.values().find(|item| item.input.job_item_id == *item_id)?.number
        }
        _ => return None,
    };
    let job = jobs.get(job_id)?;
    match job.hand(number) {
        Some(hand) => Some(handed_out(hand)),
        None => job.item(number).map(|item| waits(item, event)).or_else(|| ended(event)),
    }
}

fn handed_out(hand: &Hand) -> JobItem {
    let result = hand.result.clone();
    let (thread_id, turn_id, worker) = match &hand.by {
        By::Ready => (None, None, None),
        By::Worker { worker, .. } => (None, None, Some(worker.clone())),
        By::Agent { thread_id, turn_id } => (Some(thread_id.clone()), Some(turn_id.clone()), None),
    };
    JobItem {
        job_item_id: hand.item.input.job_item_id.clone(),
        number: hand.item.number,
        status: hand.status(),
        attempt_count: hand.item.attempts,
        retryable: hand.item.last_error.as_ref().is_none_or(|error| error.retryable),
        run_id: Some(hand.run_id.clone()),
        thread_id,
        turn_id,
        worker,
        summary: result.as_ref().and_then(|result| result.summary.clone()),
        output_refs: result.map(|result| result.output_refs).unwrap_or_default(),
        last_error: hand.item.last_error.clone(),
        updated_at: hand.item.updated_at,
    }
}

/// An item that waits for its next attempt, with the ids of the one before where the fact has them.
fn waits(item: &Item, event: &Event) -> JobItem {
    JobItem {
        job_item_id: item.input.job_item_id.clone(),
        number: item.number,
        status: JobItemStatus::Pending,
        attempt_count: item.attempts,
        retryable: item.last_error.as_ref().is_none_or(|error| error.retryable),
        run_id: event.scope.run_id.clone(),
        thread_id: event.scope.thread_id.clone(),
        turn_id: event.scope.turn_id.clone(),
        worker: None,
        summary: None,
        output_refs: Vec::new(),
        last_error: item.last_error.clone(),
        updated_at: item.updated_at,
    }
}

fn ended(event: &Event) -> Option<JobItem> {
    let mut item = JobItem {
        job_item_id: event.scope.job_item_id.clone()?,
        number: 0,
        status: JobItemStatus::Failed,
        attempt_count: 0,
        retryable: false,
        run_id: event.scope.run_id.clone(),
        thread_id: event.scope.thread_id.clone(),
        turn_id: event.scope.turn_id.clone(),
        worker: None,
        summary: None,
        output_refs: Vec::new(),
        last_error: None,
        updated_at: event.timestamp,
    };
    match &event.fact {
        Fact::JobItemCompleted(fact) => {
            (item.status, item.number, item.attempt_count) = (fact.status, fact.number, fact.attempt_count);
            (item.worker, item.summary) = (fact.worker.clone(), fact.summary.clone());
            item.output_refs = fact.output_refs.clone();
        }
        Fact::JobItemFailed(fact) => {
            (item.status, item.number, item.attempt_count) = (fact.status, fact.number, fact.attempt_count);
            (item.worker, item.retryable) = (fact.worker.clone(), fact.error.retryable);
            item.last_error = Some(kept_failure(&fact.error));
            (item.summary, item.output_refs) = (fact.summary.clone(), fact.output_refs.clone());
        }
        _ => return None,
    }
    Some(item)
}
