//! `cancel_job`: finished items stay finished, and the rest is not done.

use factum_model::commands::{CancelJob, CancelJobResult};
use factum_model::id::JobId;
use factum_model::job::JobStatus;
use factum_model::{NewEvent, Refusal};

use super::super::lookup::require_session;
use super::super::state::SessionState;
use super::state::Stopping;
use super::stop::stop;
use super::tally::Tally;
use crate::context::{Context, Decision};

/// A job that has ended is not in the state: `not_found` here, and the shell answers from its row.
pub fn cancel_job(
    state: &SessionState,
    command: &CancelJob,
    context: &mut Context<'_>,
) -> Result<Decision<CancelJobResult>, Refusal> {
    let shell = require_session(state)?;
    let job = state.jobs.get(&command.job_id).ok_or_else(Refusal::not_found)?;
    let mut events = Vec::new();
    let mut status = JobStatus::Cancelling;
    if job.stopping.is_none() {
        let (by, reason) = (context.caller.to_owned(), command.reason.clone());
        let stopping = Stopping { by, reason, becomes: JobStatus::Cancelled };
        stop(state, shell, job, &stopping, context, &mut events);
    }
    let tally = Tally::of(job, &events, context);
    if job.stopping.is_none() && tally.leased == 0 {
        status = JobStatus::Cancelled;
    }
    let output = CancelJobResult {
        job_id: command.job_id.clone(),
        status,
        progress: tally.progress,
        sequence: context.sequence_after(state.sequence, &events),
    };
    Ok(Decision { events, output })
}

/// Cancels a job whose task is cancelled. Decides nothing where it is being stopped already.
pub(in super::super) fn cancel_for_task(
    state: &SessionState,
    job_id: &JobId,
    by: &str,
    reason: Option<&str>,
    context: &mut Context<'_>,
) -> Result<Vec<NewEvent>, Refusal> {
    let shell = require_session(state)?;
    let mut events = Vec::new();
    if let Some(job) = state.jobs.get(job_id).filter(|job| job.stopping.is_none()) {
        let (by, reason) = (by.to_owned(), reason.map(str::to_owned));
        stop(state, shell, job, &Stopping { by, reason, becomes: JobStatus::Cancelled }, context, &mut events);
    }
    Ok(events)
}
