//! The times of jobs: an item's wait for its next attempt is over, or a job has taken too long.

use factum_model::events::JobItemRetrying;
use factum_model::job::{JobItemStatus, JobStatus};
use factum_model::{NewEvent, Refusal};

use super::super::index::{Timer, TimerKind};
use super::super::lookup::require_session;
use super::super::state::SessionState;
use super::hand_out::item_scope;
use super::schedules::fire_schedule;
use super::settle::go_on;
use super::state::{Job, Stopping};
use super::stop::{give_up, stop};
use crate::context::{Context, Decision};

/// Items whose wait ends in one commit. Where more are due the timer is due too, and fires again at once.
const RETRIES_PER_COMMIT: usize = 200;

/// Decides nothing where the time has not come or does not matter any more: timers may fire late or twice.
pub(in super::super) fn fire_timer(
    state: &SessionState,
    timer: &Timer,
    context: &mut Context<'_>,
) -> Result<Decision<()>, Refusal> {
    let mut events = Vec::new();
    if timer.kind == TimerKind::Schedule {
        fire_schedule(state, &timer.id, context, &mut events);
    } else if let Some(job) = timer.id.parse().ok().and_then(|job_id| state.jobs.get(&job_id)) {
        match timer.kind {
            TimerKind::JobRetry => retry_due(state, job, context, &mut events),
            TimerKind::JobTimeout => time_out(state, job, context, &mut events)?,
            _ => {}
        }
    }
    Ok(Decision { events, output: () })
}

fn retry_due(state: &SessionState, job: &Job, context: &mut Context<'_>, events: &mut Vec<NewEvent>) {
    if job.stopping.is_some() {
        return;
    }
    let due = job.due.iter().take_while(|(due, _)| *due <= context.now).take(RETRIES_PER_COMMIT);
    for (_, item) in due.filter_map(|(_, number)| job.waiting.get(number)) {
        let fact = JobItemRetrying {
            status: JobItemStatus::Pending,
            was: JobItemStatus::Pending,
            number: item.number,
            attempt_count: item.attempts,
            requested_by: context.caller.to_owned(),
            reason: None,
            input: None,
            last_error: None,
            reopened: None,
        };
        events.push(NewEvent::new(item_scope(job, item), fact));
    }
    if !events.is_empty() {
        go_on(state, job, None, context, events);
    }
}

fn time_out(
    state: &SessionState,
    job: &Job,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) -> Result<(), Refusal> {
    let shell = require_session(state)?;
    if job.deadline.is_none_or(|deadline| deadline > context.now) {
        return Ok(());
    }
    match &job.stopping {
        Some(stopping) => give_up(state, job, stopping, context, events),
        None => {
            let reason = Some("the job took longer than max_runtime".to_owned());
            let stopping = Stopping { by: context.caller.to_owned(), reason, becomes: JobStatus::TimedOut };
            stop(state, shell, job, &stopping, context, events);
        }
    }
    Ok(())
}
