//! Runs that workers outside the process do: claiming, reporting, ending, giving back, losing.
//!
//! A run is an attempt of a task or of an item of a job. What a report means to it is decided there (`tasks`, `jobs`);
//! here is what is the same for both: the lease, its token, and the rows a claim is found by.

mod execution;
mod reported;
mod rows;

use factum_model::commands::{ClaimedRun, CompleteRun, FailRun, ReleaseRun, ReportRun, RunResult};
use factum_model::events::RuntimeWarning;
use factum_model::id::{ChannelId, RunId};
use factum_model::task::Lease;
use factum_model::value::Metadata;
use factum_model::{NewEvent, Refusal, Scope};
use serde_json::json;

pub(super) use execution::check_execution;
pub use execution::check_name;
pub(super) use reported::reported_facts;
pub use rows::{LeaseRow, ReadyKey, RunRow, keys};
pub(super) use rows::{Ready, lease_row, ready_row};

use super::lookup::require_session;
use super::state::SessionState;
use super::{jobs, tasks};
use crate::context::{Context, Decision};

/// A worker takes a run.
pub struct Claim<'a> {
    pub run_id: &'a RunId,
    pub channel_id: &'a ChannelId,
    pub lease_ms: u64,
}

/// Gives a run that waits to a worker. Refused where it does not wait any more: somebody was faster.
pub fn claim_run(
    state: &SessionState,
    claim: &Claim<'_>,
    context: &mut Context<'_>,
) -> Result<Decision<ClaimedRun>, Refusal> {
    require_session(state)?;
    if tasks::has_run(state, claim.run_id) {
        return tasks::claim_run(state, claim, context);
    }
    jobs::claim_run(state, claim, context)
}

/// What a worker says about a run it holds.
pub fn report_run(
    state: &SessionState,
    command: &ReportRun,
    context: &mut Context<'_>,
) -> Result<Decision<RunResult>, Refusal> {
    if tasks::has_run(state, &command.run_id) {
        return tasks::report_run(state, command, context);
    }
    jobs::report_run(state, command, context)
}

pub fn complete_run(
    state: &SessionState,
    command: &CompleteRun,
    context: &mut Context<'_>,
) -> Result<Decision<RunResult>, Refusal> {
    if tasks::has_run(state, &command.run_id) {
        return tasks::complete_run(state, command, context);
    }
    jobs::complete_run(state, command, context)
}

pub fn fail_run(
    state: &SessionState,
    command: &FailRun,
    context: &mut Context<'_>,
) -> Result<Decision<RunResult>, Refusal> {
    if tasks::has_run(state, &command.run_id) {
        return tasks::fail_run(state, command, context);
    }
    jobs::fail_run(state, command, context)
}

pub fn release_run(
    state: &SessionState,
    command: &ReleaseRun,
    context: &mut Context<'_>,
) -> Result<Decision<RunResult>, Refusal> {
    if tasks::has_run(state, &command.run_id) {
        return tasks::release_run(state, command, context);
    }
    jobs::release_run(state, command, context)
}

/// A lease ran out without a heartbeat: nobody can say whether the worker is still alive. A lease that was replaced or
/// ended meanwhile changes nothing.
pub fn expire_lease(
    state: &SessionState,
    run_id: &RunId,
    token: u64,
    context: &mut Context<'_>,
) -> Result<Decision<()>, Refusal> {
    if tasks::has_run(state, run_id) {
        return tasks::expire_lease(state, run_id, token, context);
    }
    jobs::expire_lease(state, run_id, token, context)
}

/// What a heartbeat finds: the lease it keeps, and what its holder should know.
pub struct Held {
    pub lease: Lease,
    pub worker: String,
    pub cancel_requested: bool,
    pub paused: bool,
}

/// Who holds a run, if anybody does.
pub fn holder(state: &SessionState, run_id: &RunId) -> Option<Held> {
    tasks::holder(state, run_id).or_else(|| jobs::holder(state, run_id))
}

/// Refuses whoever does not hold the run: another worker, or one whose lease is over.
pub(super) fn require_lease(
    run_id: &RunId,
    lease: Option<&Lease>,
    worker: Option<&str>,
    token: u64,
    context: &Context<'_>,
) -> Result<(), Refusal> {
    match lease {
        Some(lease) if lease.token == token && worker == Some(context.caller) => Ok(()),
        _ => Err(not_held(run_id)),
    }
}

/// The one answer to a report on a run that its sender does not hold.
pub fn not_held(run_id: &RunId) -> Refusal {
    Refusal::precondition("this run is not held with this token; its lease ended and the work may be another's now")
        .with("run_id", run_id.as_str())
        .with("cause", LATE_REPORT)
}

/// The code of the warning that records a late report, and the cause in its refusal.
pub const LATE_REPORT: &str = "late_report";

/// Records that somebody reported on a run without holding it. The report itself was refused.
pub fn record_late_report(
    state: &SessionState,
    run_id: &RunId,
    token: u64,
    command: &str,
    context: &mut Context<'_>,
) -> Result<Decision<()>, Refusal> {
    let shell = require_session(state)?;
    let mut scope = Scope::default().session_id(&shell.session_id).run_id(run_id);
    scope.task_id = tasks::task_of_run(state, run_id);
    let details: Metadata = [
        ("command".to_owned(), json!(command)),
        ("lease_token".to_owned(), json!(token)),
        ("worker".to_owned(), json!(context.caller)),
    ]
    .into_iter()
    .collect();
    let message = format!("{command} by {} was refused: it does not hold the run", context.caller);
    let fact = RuntimeWarning { code: LATE_REPORT.to_owned(), message, details };
    Ok(Decision { events: vec![NewEvent::new(scope, fact)], output: () })
}
