//! Items as runs of workers outside the process. The lease and its token are the same as for tasks (`workers`); here is
//! what a claim, a report and an end mean to an item and its job.

use factum_model::commands::{ClaimedRun, CompleteRun, FailRun, ReleaseRun, ReportRun, ReportedResult, RunResult};
use factum_model::events::{JobItemReported, JobItemStarted, RunReleased};
use factum_model::id::RunId;
use factum_model::job::JobItemStatus;
use factum_model::task::{AttemptStatus, Lease};
use factum_model::value::Metadata;
use factum_model::{NewEvent, Refusal};

use super::super::state::SessionState;
use super::super::turn_end::failure;
use super::super::workers::{Claim, Held, not_held, require_lease};
use super::apply::later;
use super::check::check_refs;
use super::reported::reported;
use super::settle::{Outcome, go_on, hand_scope, settle};
use super::state::{By, Hand, Job};
use crate::context::{Context, Decision, check};

pub(in super::super) fn claim_run(
    state: &SessionState,
    claim: &Claim<'_>,
    context: &mut Context<'_>,
) -> Result<Decision<ClaimedRun>, Refusal> {
    let ready = state.jobs.run(claim.run_id).filter(|(job, hand)| hand.by == By::Ready && job.stopping.is_none());
    let (job, hand) = ready.ok_or_else(|| not_held(claim.run_id))?;
    let token = context.sequence_after(state.sequence, &[]) + 1;
    let lease = Lease { channel_id: claim.channel_id.clone(), token, lease_ms: claim.lease_ms };
    let fact = JobItemStarted {
        status: JobItemStatus::Running,
        number: hand.item.number,
        attempt_count: hand.item.attempts + 1,
        cause: None,
        worker: Some(context.caller.to_owned()),
        lease: Some(lease),
    };
    let events = vec![NewEvent::new(hand_scope(job, hand), fact)];
    Ok(Decision { events, output: claimed(job, hand, token, claim.lease_ms, context) })
}

fn claimed(job: &Job, hand: &Hand, lease_token: u64, lease_ms: u64, context: &Context<'_>) -> ClaimedRun {
    let (record, input) = (&job.record, &hand.item.input);
    ClaimedRun {
        run_id: hand.run_id.clone(),
        attempt_id: hand.attempt_id.clone(),
        attempt_count: hand.item.attempts + 1,
        session_id: record.session_id.clone(),
        task_id: record.task_id.clone(),
        job_id: Some(record.job_id.clone()),
        job_item_id: Some(input.job_item_id.clone()),
        queue: record.execution.queue.clone().unwrap_or_default(),
        lease_token,
        lease_expires_at: later(context.now, lease_ms).unwrap_or(context.now),
        title: record.title.clone(),
        objective: job.instruction.clone().unwrap_or_else(|| record.instruction_ref.clone()),
        arguments: input.arguments.clone(),
        scope: None,
        constraints: None,
        input_refs: input.input_ref.iter().chain(&record.input_refs).cloned().collect(),
        output_schema_ref: record.output_schema_ref.clone(),
        checkpoint_refs: hand.item.checkpoint_refs.clone(),
        timeout_at: job.deadline,
        metadata: Metadata::new(),
    }
}

pub(in super::super) fn report_run(
    state: &SessionState,
    command: &ReportRun,
    context: &mut Context<'_>,
) -> Result<Decision<RunResult>, Refusal> {
    let (job, hand) = held(state, &command.run_id, command.lease_token, context)?;
    let mut events = reported(&hand_scope(job, hand), command, context)?;
    if let Some(result) = &command.result {
        check_kept(&result.output_refs, context)?;
        events.push(came_to(job, hand, result, context));
        go_on(state, job, None, context, &mut events);
    }
    Ok(answer(state, job, &command.run_id, AttemptStatus::Running, context, events))
}

fn came_to(job: &Job, hand: &Hand, result: &ReportedResult, context: &Context<'_>) -> NewEvent {
    let fact = JobItemReported {
        status: JobItemStatus::Reported,
        number: hand.item.number,
        attempt_count: hand.item.attempts,
        worker: Some(context.caller.to_owned()),
        summary: result.summary.clone(),
        output_refs: result.output_refs.clone(),
    };
    NewEvent::new(hand_scope(job, hand), fact)
}

pub(in super::super) fn complete_run(
    state: &SessionState,
    command: &CompleteRun,
    context: &mut Context<'_>,
) -> Result<Decision<RunResult>, Refusal> {
    let (job, hand) = held(state, &command.run_id, command.lease_token, context)?;
    check_kept(&command.output_refs, context)?;
    let said = command.summary.is_some() || !command.output_refs.is_empty();
    let outcome = match hand.result.clone().filter(|_| !said) {
        Some(ReportedResult { summary, output_refs }) => Outcome::Completed { summary, output_refs },
        None => Outcome::Completed { summary: command.summary.clone(), output_refs: command.output_refs.clone() },
    };
    let mut events = Vec::new();
    settle(state, job, hand, outcome, None, context, &mut events);
    Ok(answer(state, job, &command.run_id, AttemptStatus::Completed, context, events))
}

pub(in super::super) fn fail_run(
    state: &SessionState,
    command: &FailRun,
    context: &mut Context<'_>,
) -> Result<Decision<RunResult>, Refusal> {
    let (job, hand) = held(state, &command.run_id, command.lease_token, context)?;
    check_kept(&command.output_refs, context)?;
    check_kept(&command.checkpoint_refs, context)?;
    let outcome = Outcome::Failed {
        error: command.error.clone(),
        output_refs: command.output_refs.clone(),
        checkpoint_refs: command.checkpoint_refs.clone(),
    };
    let mut events = Vec::new();
    settle(state, job, hand, outcome, None, context, &mut events);
    Ok(answer(state, job, &command.run_id, AttemptStatus::Failed, context, events))
}

pub(in super::super) fn release_run(
    state: &SessionState,
    command: &ReleaseRun,
    context: &mut Context<'_>,
) -> Result<Decision<RunResult>, Refusal> {
    let (job, hand) = held(state, &command.run_id, command.lease_token, context)?;
    let fact = RunReleased { released_by: context.caller.to_owned(), reason: command.reason.clone() };
    let mut events = vec![NewEvent::new(hand_scope(job, hand), fact)];
    go_on(state, job, None, context, &mut events);
    Ok(answer(state, job, &command.run_id, AttemptStatus::Queued, context, events))
}

/// The worker vanished: whether it did the item is not known. Another attempt follows where the job says by
/// `max_item_attempts` that an item may be done twice.
pub(in super::super) fn expire_lease(
    state: &SessionState,
    run_id: &RunId,
    token: u64,
    context: &mut Context<'_>,
) -> Result<Decision<()>, Refusal> {
    let mut events = Vec::new();
    let lost = state.jobs.run(run_id).filter(|(_, hand)| lease_of(hand).is_some_and(|lease| lease.token == token));
    if let Some((job, hand)) = lost {
        let error = failure("lost", "the worker was not heard of in time; whether it did the item is not known", true);
        settle(state, job, hand, Outcome::CutOff { error }, None, context, &mut events);
    }
    Ok(Decision { events, output: () })
}

pub(in super::super) fn holder(state: &SessionState, run_id: &RunId) -> Option<Held> {
    let (job, hand) = state.jobs.run(run_id)?;
    let By::Worker { worker, lease } = &hand.by else { return None };
    let (lease, worker, cancel_requested) = (lease.clone(), worker.clone(), job.stopping.is_some());
    Some(Held { lease, worker, cancel_requested, paused: false })
}

fn held<'a>(
    state: &'a SessionState,
    run_id: &RunId,
    token: u64,
    context: &Context<'_>,
) -> Result<(&'a Job, &'a Hand), Refusal> {
    let (job, hand) = state.jobs.run(run_id).ok_or_else(|| not_held(run_id))?;
    let (lease, worker) = match &hand.by {
        By::Worker { worker, lease } => (Some(lease), Some(worker.as_str())),
        By::Ready | By::Agent { .. } => (None, None),
    };
    require_lease(run_id, lease, worker, token, context)?;
    Ok((job, hand))
}

fn lease_of(hand: &Hand) -> Option<&Lease> {
    match &hand.by {
        By::Worker { lease, .. } => Some(lease),
        By::Ready | By::Agent { .. } => None,
    }
}

/// What is kept with an item is bounded like the parts of an input.
fn check_kept(refs: &[String], context: &Context<'_>) -> Result<(), Refusal> {
    check("refs", refs.len(), context.limits.input_parts_max)?;
    check_refs(refs.iter(), context.limits)
}

fn answer(
    state: &SessionState,
    job: &Job,
    run_id: &RunId,
    status: AttemptStatus,
    context: &Context<'_>,
    events: Vec<NewEvent>,
) -> Decision<RunResult> {
    let output = RunResult {
        run_id: run_id.clone(),
        task_id: job.record.task_id.clone(),
        status,
        task_status: None,
        cancel_requested: job.stopping.is_some(),
        sequence: context.sequence_after(state.sequence, &events),
    };
    Decision { events, output }
}
