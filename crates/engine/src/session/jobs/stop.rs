//! Stopping a job, because somebody said so or its time is over: what is at work ends, finished items stay finished, and
//! what was not begun stays `pending`.
//!
//! Agents are interrupted at once. Workers are told by their next heartbeat and have `job_settle_ms`; until the last of
//! them has settled the job is `cancelling`.

use factum_model::NewEvent;
use factum_model::events::JobCancelRequested;
use factum_model::job::JobStatus;
use factum_model::value::{Failure, Status};

use super::super::lookup::active_turn;
use super::super::state::{SessionState, Shell};
use super::super::tasks::helpers_settled;
use super::super::turn_end::{End, end_turn, failure, start_next};
use super::apply::later;
use super::hand_out::job_scope;
use super::settle::{Outcome, ended, stopped};
use super::state::{By, Hand, Job, Stopping};
use super::tally::Tally;
use crate::context::Context;

/// Begins to stop a job that goes on.
pub(super) fn stop(
    state: &SessionState,
    shell: &Shell,
    job: &Job,
    stopping: &Stopping,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    for hand in &job.hands {
        if let By::Agent { turn_id, .. } = &hand.by {
            events.push(ended(job, hand, cut_off(stopping), context));
            let Some((thread, turn)) = active_turn(state, turn_id) else { continue };
            let end = End::Failed { status: turn_status(stopping), error: cause(stopping) };
            end_turn(state, shell, thread, turn, end, &stopping.by, context, events);
            start_next(state, shell, thread, context, events);
        }
    }
    if !finish(job, stopping, context, events) {
        let fact = JobCancelRequested {
            status: JobStatus::Cancelling,
            requested_by: stopping.by.clone(),
            reason: stopping.reason.clone(),
            becomes: stopping.becomes,
            settle_until: later(context.now, context.limits.job_settle_ms).unwrap_or(context.now),
        };
        events.push(NewEvent::new(job_scope(job), fact));
    }
    helpers_settled(state, context, events);
}

/// Takes from workers what they have not settled in time, and ends the job.
pub(super) fn give_up(
    state: &SessionState,
    job: &Job,
    stopping: &Stopping,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    let held = |hand: &&Hand| matches!(hand.by, By::Worker { .. });
    for hand in job.hands.iter().filter(held) {
        events.push(ended(job, hand, cut_off(stopping), context));
    }
    finish(job, stopping, context, events);
    helpers_settled(state, context, events);
}

/// Ends the job if no worker holds anything of it any more.
fn finish(job: &Job, stopping: &Stopping, context: &Context<'_>, events: &mut Vec<NewEvent>) -> bool {
    let tally = Tally::of(job, events, context);
    if tally.leased > 0 {
        return false;
    }
    events.push(stopped(job, &stopping.by, stopping.reason.as_deref(), stopping.becomes, tally.progress));
    true
}

/// An attempt that did not come to its own end. It is final for the job, and somebody may ask for another one.
fn cut_off(stopping: &Stopping) -> Outcome {
    Outcome::CutOff { error: cause(stopping) }
}

fn cause(stopping: &Stopping) -> Failure {
    match stopping.becomes {
        JobStatus::Cancelled => failure("interrupted", "the job was cancelled", false),
        _ => failure("timeout", "the job took too long", false),
    }
}

fn turn_status(stopping: &Stopping) -> Status {
    if stopping.becomes == JobStatus::Cancelled { Status::Cancelled } else { Status::TimedOut }
}
