//! A schedule's time came: a job, or the reason why not, and the next time, in one commit.

use factum_model::events::{JobCreated, JobScheduleEnded, JobScheduleFired};
use factum_model::id::ScheduleId;
use factum_model::job::{JobStatus, MissedRuns, Overlap, Schedule, ScheduleRecord};
use factum_model::{NewEvent, Scope, Timestamp};

use super::super::super::state::SessionState;
use super::super::create_job::{CONCURRENCY_DEFAULT, inline_ref, inputs, open_job};
use super::times::{Passed, Times};
use crate::context::Context;

/// Decides nothing where the schedule has ended or its time has not come.
pub(in super::super) fn fire_schedule(
    state: &SessionState,
    schedule_id: &str,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    let record = schedule_id.parse().ok().and_then(|id: ScheduleId| state.jobs.schedule(&id));
    let Some(record) = record else { return };
    let Some(first) = record.next_at.filter(|due| *due <= context.now) else { return };
    // It was checked when the schedule was made; one of a newer version that is not understood here ends.
    let Ok(times) = Times::of(&record.schedule, record.created_at) else {
        return events.push(ended(record, "this version cannot read the schedule", context));
    };
    let due = due(&record.schedule, &times, first, context);
    let scope = Scope::default().session_id(&record.session_id);
    let next_at = due.next_after(&times, context.now).filter(|next| !is_past(&record.schedule, *next));
    let made = make(state, record, &due, context);
    let (job_id, reason, facts) = match made {
        Ok((job_id, facts)) => (Some(job_id), None, facts),
        Err(reason) => (None, Some(reason), Vec::new()),
    };
    let missed = due.missed + u64::from(job_id.is_none());
    let schedule_id = record.schedule_id.clone();
    let fact = JobScheduleFired { schedule_id, due_at: due.at, missed, job_id, reason, next_at };
    events.push(NewEvent::new(scope, fact));
    events.extend(facts);
    if next_at.is_none() {
        events.push(ended(record, "no time is left", context));
    }
}

/// What to make of the times that have come.
struct Due {
    at: Timestamp,
    /// Times before `at` that are not made up for.
    missed: u64,
    /// All have passed too long ago, and are not to be made up for.
    skipped: bool,
    /// The next job may be for a time that has passed too.
    one_by_one: bool,
}

fn due(schedule: &Schedule, times: &Times, first: Timestamp, context: &Context<'_>) -> Due {
    let Passed { count, last } = times.passed(first, context.now);
    let late_ms = context.now.as_millisecond() - last.as_millisecond();
    let late = u64::try_from(late_ms).unwrap_or(0) > context.limits.schedule_late_ms;
    match schedule.missed {
        MissedRuns::Once => Due { at: last, missed: count - 1, skipped: false, one_by_one: false },
        MissedRuns::Skip => Due { at: last, missed: count - 1, skipped: late, one_by_one: false },
        MissedRuns::All => {
            let missed = count.saturating_sub(context.limits.schedule_catch_up_max.max(1));
            Due { at: times.skip(first, missed), missed, skipped: false, one_by_one: true }
        }
    }
}

impl Due {
    fn next_after(&self, times: &Times, now: Timestamp) -> Option<Timestamp> {
        times.next(if self.one_by_one { self.at } else { now.max(self.at) })
    }
}

fn is_past(schedule: &Schedule, time: Timestamp) -> bool {
    schedule.end_at.is_some_and(|end| time > end)
}

/// The job of this time and its facts, or why there is none.
fn make(
    state: &SessionState,
    record: &ScheduleRecord,
    due: &Due,
    context: &mut Context<'_>,
) -> Result<(factum_model::id::JobId, Vec<NewEvent>), String> {
    if due.skipped {
        return Err("the time passed while nothing ran, and missed times are skipped".to_owned());
    }
    let at_work = state.jobs.open.iter().any(|job| job.record.schedule_id.as_ref() == Some(&record.schedule_id));
    if at_work && record.schedule.overlap == Overlap::Skip {
        return Err("the job before is still at work".to_owned());
    }
    let fact = job_of(&record.schedule, Some(&record.schedule_id), &record.requested_by, context);
    let scope = Scope::default().session_id(&record.session_id).job_id(&context.job_id());
    let mut facts = Vec::new();
    let made = open_job(state, scope, fact, context, &mut facts);
    made.map(|job_id| (job_id, facts)).map_err(|refusal| refusal.message)
}

/// The job that a schedule makes.
pub(super) fn job_of(
    schedule: &Schedule,
    schedule_id: Option<&ScheduleId>,
    requested_by: &str,
    context: &mut Context<'_>,
) -> JobCreated {
    let template = &schedule.job;
    JobCreated {
        status: JobStatus::Created,
        requested_by: requested_by.to_owned(),
        title: template.title.clone().or_else(|| schedule.title.clone()),
        instruction_ref: inline_ref(&template.instruction),
        instruction: Some(template.instruction.clone()),
        input_refs: Vec::new(),
        output_schema_ref: None,
        max_runtime_ms: template.max_runtime_ms,
        max_concurrency: template.max_concurrency.unwrap_or(CONCURRENCY_DEFAULT),
        max_item_attempts: template.max_item_attempts.unwrap_or(1),
        execution: template.execution.clone(),
        schedule_id: schedule_id.cloned(),
        items: inputs(&template.items, context),
        idempotency_key: None,
    }
}

fn ended(record: &ScheduleRecord, reason: &str, context: &Context<'_>) -> NewEvent {
    let fact = JobScheduleEnded {
        schedule_id: record.schedule_id.clone(),
        ended_by: context.caller.to_owned(),
        reason: Some(reason.to_owned()),
    };
    NewEvent::new(Scope::default().session_id(&record.session_id), fact)
}
