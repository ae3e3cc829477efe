//! `create_schedule`: jobs at given times.

use factum_model::commands::{CreateSchedule, CreateScheduleResult};
use factum_model::events::JobScheduled;
use factum_model::id::SessionId;
use factum_model::job::Schedule;
use factum_model::value::Metadata;
use factum_model::{NewEvent, Refusal, Scope, Timestamp};

use super::super::super::create_session::begin;
use super::super::super::state::SessionState;
use super::super::create_job::{check_created, with_agent};
use super::fire::job_of;
use super::times::Times;
use crate::context::{Context, Decision, check};
use crate::size::json_bytes;

/// `session_id` and `agent` as for `create_job`.
pub fn create_schedule(
    state: &SessionState,
    session_id: &SessionId,
    agent: &str,
    command: &CreateSchedule,
    context: &mut Context<'_>,
) -> Result<Decision<CreateScheduleResult>, Refusal> {
    let mut schedule = command.schedule.clone();
    schedule.job.execution = with_agent(&schedule.job.execution, agent);
    // Intervals are counted from here, whatever is read from the log later.
    schedule.start_at = schedule.start_at.or(Some(context.now));
    check_schedule(state, &schedule, context)?;
    let next_at = first(&schedule, context.now)?;
    let schedule_id = command.schedule_id.clone().unwrap_or_else(|| context.schedule_id());
    if state.jobs.schedule(&schedule_id).is_some() {
        return Err(Refusal::conflict("a schedule with this id exists already"));
    }
    let mut events = Vec::new();
    if state.shell.is_none() {
        begin(session_id, agent, schedule.title.clone(), Metadata::new(), context, &mut events);
    }
    let fact = JobScheduled {
        schedule_id: schedule_id.clone(),
        requested_by: context.caller.to_owned(),
        schedule,
        next_at: Some(next_at),
        idempotency_key: command.idempotency_key.clone(),
    };
    events.push(NewEvent::new(Scope::default().session_id(session_id), fact));
    let sequence = context.sequence_after(state.sequence, &events);
    let (session_id, next_at) = (session_id.clone(), Some(next_at));
    Ok(Decision { events, output: CreateScheduleResult { schedule_id, session_id, next_at, sequence } })
}

fn check_schedule(state: &SessionState, schedule: &Schedule, context: &mut Context<'_>) -> Result<(), Refusal> {
    let limits = context.limits;
    limits.check_title(schedule.title.as_deref())?;
    check("schedules", state.jobs.schedules.len() + 1, limits.schedules_max)?;
    check("schedule_bytes", json_bytes(schedule), limits.schedule_bytes_max)?;
    if schedule.every_ms.is_some_and(|ms| ms < limits.schedule_interval_ms_min) {
        let message =
            format!("every_ms must be at least schedule_interval_ms_min, {}", limits.schedule_interval_ms_min);
        return Err(Refusal::invalid(message));
    }
    let job = job_of(schedule, None, context.caller, context);
    check_created(&job, context)
}

/// The first time that is not in the past.
fn first(schedule: &Schedule, now: Timestamp) -> Result<Timestamp, Refusal> {
    let start = schedule.start_at.unwrap_or(now).max(now);
    let times = Times::of(schedule, start)?;
    // A time that is exactly the start counts; `next` means strictly after.
    let before = Timestamp::from_millisecond(start.as_millisecond() - 1).unwrap_or(start);
    let next = times.next(before).filter(|next| schedule.end_at.is_none_or(|end| *next <= end));
    next.ok_or_else(|| Refusal::invalid("the schedule never comes: look at its days, start_at and end_at"))
}
