//! `subagent_job_summary`: the open child agents and the jobs of a session, and whether they can be carried on.

use factum_model::Refusal;
use factum_model::id::ThreadId;
use factum_model::job::{JobRecord, JobStatus};
use factum_model::read::{Recoverability, SubagentJobSummary};
use factum_model::subagent::{SubagentRecord, SubagentState};

use super::super::lookup::require_session;
use super::super::state::SessionState;
use super::state::Subagents;
use super::view::record;

/// At most `limit` of each, oldest first.
pub fn subagent_job_summary(state: &SessionState, limit: usize) -> Result<SubagentJobSummary, Refusal> {
    let shell = require_session(state)?;
    let (subagents, subagents_total, mut assigned_threads) = state.subagents.summary(state, limit);
    let (jobs, jobs_total, threads) = state.jobs.summary(shell, limit);
    assigned_threads.extend(threads);
    let recoverability = subagents.iter().map(subagent).chain(jobs.iter().map(job)).collect();
    Ok(SubagentJobSummary {
        session_id: shell.session_id.clone(),
        subagents,
        subagents_total,
        jobs,
        jobs_total,
        assigned_threads,
        recoverability,
        as_of_sequence: state.sequence,
    })
}

impl Subagents {
    /// The open ones, how many there ever were, and the threads in which one works.
    fn summary(&self, state: &SessionState, limit: usize) -> (Vec<SubagentRecord>, u64, Vec<ThreadId>) {
        let records = self.open.iter().take(limit).map(|one| record(state, one)).collect();
        let works = |id: &&ThreadId| state.thread(id).is_some_and(|thread| thread.active.is_some());
        let threads = self.open.iter().map(|one| &one.record.thread_id).filter(works).take(limit).cloned();
        (records, self.spawned, threads.collect())
    }
}

fn subagent(record: &SubagentRecord) -> Recoverability {
    use SubagentState::*;
    let (recoverable, reason) = match record.status {
        Starting | Running => (true, "its turn is carried on after a restart"),
        WaitingInput | WaitingPermission => (true, "what it waits for stays open across a restart"),
        Idle => (true, "it has nothing to do; send_subagent_input gives it work"),
        Completed | Failed | Cancelled => (true, "its work is over; resume_subagent carries it on"),
        Closing => (false, "it is being closed"),
        Closed => (false, "it is closed"),
        Lost | Unknown => (false, "what became of its work is not known"),
    };
    Recoverability {
        subagent_id: Some(record.subagent_id.clone()),
        job_id: None,
        recoverable,
        reason: reason.to_owned(),
    }
}

fn job(record: &JobRecord) -> Recoverability {
    use JobStatus::*;
    let (recoverable, reason) = match record.status {
        Created | Queued | Running | Paused => (true, "its items are carried on after a restart"),
        Cancelling => (false, "it is being cancelled"),
        Completed | Cancelled | TimedOut => (false, "it is over"),
        Failed => (false, "it is over; single items can be retried"),
        Unknown => (false, "what became of it is not known"),
    };
    Recoverability { subagent_id: None, job_id: Some(record.job_id.clone()), recoverable, reason: reason.to_owned() }
}
