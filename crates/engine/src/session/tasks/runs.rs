//! What workers say about runs of tasks: claim, report, complete, fail, give back; and what a lease that ran out means.

use factum_model::commands::*;
use factum_model::events::*;
use factum_model::id::{RunId, TaskId};
use factum_model::task::*;
use factum_model::value::Failure;
use factum_model::{Fact, NewEvent, Refusal, Timestamp};

use super::append_task_progress::{check_merged, check_progress, require_run};
use super::clock::later;
use super::draft::Draft;
use super::fields::{check_acceptance, check_artifacts, check_failure, check_refs, check_text};
use super::finish_attempt::{Leavings, attempt_completed, attempt_failed};
use super::graph::cancelled_above;
use super::link_tasks::{add_edge, direction, room};
use super::reconcile::settle_criteria;
use super::state::Task;
use crate::context::{Context, Decision, check};
use crate::session::state::SessionState;
use crate::session::workers::{Claim, Held, not_held, reported_facts};

/// Whether this is a run of a task that has no outcome yet.
pub(in super::super) fn has_run(state: &SessionState, run_id: &RunId) -> bool {
    state.tasks.runs.contains_key(run_id)
}

pub(in super::super) fn task_of_run(state: &SessionState, run_id: &RunId) -> Option<TaskId> {
    state.tasks.runs.get(run_id).cloned()
}

pub(in super::super) fn holder(state: &SessionState, run_id: &RunId) -> Option<Held> {
    let task = state.tasks.of_run(run_id)?;
    Some(Held {
        lease: task.lease.clone()?,
        worker: task.row.attempt.as_ref()?.worker.clone()?,
        cancel_requested: task.row.status == TaskStatus::Cancelling,
        paused: task.row.status == TaskStatus::Paused,
    })
}

pub(in super::super) fn claim_run(
    state: &SessionState,
    claim: &Claim<'_>,
    context: &mut Context<'_>,
) -> Result<Decision<ClaimedRun>, Refusal> {
    let mut draft = Draft::of(state, &[], context)?;
    let task = of_run(&draft, claim.run_id)?;
    let task_id = task.row.task_id.clone();
    // An order to cancel what is above it may be on its way to it.
    let cancelled = cancelled_above(&draft.tasks, &task_id).is_some();
    if task.ready_since.is_none() || task.row.status != TaskStatus::Queued || cancelled {
        return Err(not_held(claim.run_id));
    }
    let token = draft.sequence() + 1;
    let lease = Lease { channel_id: claim.channel_id.clone(), token, lease_ms: claim.lease_ms };
    let worker = draft.context.caller.to_owned();
    let mut scope = draft.run_scope(&task_id);
    scope.channel_id = Some(claim.channel_id.clone());
    let fact = TaskDelegated {
        delegated_by: "runtime://workers".to_owned(),
        delegate: DelegateKind::Worker,
        delegate_ref: worker.clone(),
        child_task_id: None,
        lease: Some(lease),
        reason: None,
    };
    draft.push(scope, fact);
    let attempt_count = task.attempt_count();
    let fact = TaskStarted { status: TaskStatus::Running, started_by: worker, attempt_count, native_status: None };
    draft.push(draft.run_scope(&task_id), fact);
    let due = draft.tasks.get(&task_id).and_then(|task| task.due.timeout);
    let expires = later(draft.context.now, claim.lease_ms);
    let output = claimed(&task, token, expires, due).ok_or_else(|| not_held(claim.run_id))?;
    Ok(draft.finish(|_| output))
}

fn claimed(task: &Task, token: u64, expires: Timestamp, timeout_at: Option<Timestamp>) -> Option<ClaimedRun> {
    let row = task.row.clone();
    let attempt = row.attempt?;
    Some(ClaimedRun {
        run_id: attempt.run_id,
        attempt_id: attempt.attempt_id,
        attempt_count: attempt.attempt_count,
        session_id: row.session_id,
        task_id: Some(row.task_id),
        job_id: None,
        job_item_id: None,
        queue: row.execution.queue?,
        lease_token: token,
        lease_expires_at: expires,
        title: row.title,
        objective: row.objective,
        arguments: None,
        scope: row.scope,
        constraints: row.constraints,
        input_refs: attempt.input_refs,
        output_schema_ref: None,
        checkpoint_refs: attempt.checkpoint_refs,
        timeout_at,
        metadata: row.metadata,
    })
}

fn of_run(draft: &Draft<'_, '_>, run_id: &RunId) -> Result<Task, Refusal> {
    draft.tasks.of_run(run_id).cloned().ok_or_else(|| not_held(run_id))
}

/// The task of a run that the caller holds.
fn held(draft: &Draft<'_, '_>, run_id: &RunId, token: u64) -> Result<Task, Refusal> {
    let task = of_run(draft, run_id)?;
    if task.lease.is_none() {
        return Err(not_held(run_id));
    }
    require_run(&task, Some(run_id), Some(token), draft.context)?;
    Ok(task)
}

pub(in super::super) fn report_run(
    state: &SessionState,
    command: &ReportRun,
    context: &mut Context<'_>,
) -> Result<Decision<RunResult>, Refusal> {
    if let Some(progress) = &command.progress {
        check_progress(progress, context)?;
    }
    if command.result.is_some() {
        return Err(Refusal::invalid("result is for items of jobs; what a task's run came to is said by complete_run"));
    }
    check_refs("checkpoint_refs", &command.checkpoint_refs, context.limits)?;
    let mut draft = Draft::of(state, &[], context)?;
    let row = held(&draft, &command.run_id, command.lease_token)?.row;
    if let Some(progress) = &command.progress {
        check_merged(row.progress.as_ref(), progress)?;
    }
    let made = command.facts.iter().filter(|fact| fact.r#type == "artifact.changed").count();
    check("task_artifacts", row.artifacts.len() + made, draft.context.limits.task_edges_max)?;
    let task_id = row.task_id.clone();
    let facts = reported_facts(&draft.run_scope(&task_id), command, draft.context)?;
    check_reported(&row, &facts, draft.context)?;
    for event in facts {
        draft.push_event(event);
    }
    if command.progress.is_some() || command.facts.is_empty() {
        let fact = TaskProgress {
            reported_by: draft.context.caller.to_owned(),
            native_status: None,
            progress: command.progress.clone().unwrap_or_default(),
        };
        draft.push(draft.run_scope(&task_id), fact);
    }
    if !command.checkpoint_refs.is_empty() {
        // Where the next attempt may go on; the run's status names it.
        let fact = RunStatus {
            phase: Phase::Working,
            title: "checkpoint".to_owned(),
            detail: None,
            checkpoints: command.checkpoint_refs.clone(),
            metadata: Default::default(),
        };
        draft.push(draft.run_scope(&task_id), fact);
    }
    Ok(finish(draft, &command.run_id, &task_id))
}

/// What a worker's facts leave in the task's row.
fn check_reported(row: &TaskRow, facts: &[NewEvent], context: &Context<'_>) -> Result<(), Refusal> {
    let name = |event: &'_ NewEvent| match &event.fact {
        Fact::ArtifactChanged(fact) => fact.name.clone(),
        _ => None,
    };
    let names: Vec<String> = facts.iter().filter_map(name).collect();
    check_artifacts(row, names.iter().map(String::as_str), context.limits)?;
    for event in facts {
        if let Fact::RunStatus(fact) = &event.fact {
            check_refs("checkpoints", &fact.checkpoints, context.limits)?;
        }
    }
    Ok(())
}

pub(in super::super) fn complete_run(
    state: &SessionState,
    command: &CompleteRun,
    context: &mut Context<'_>,
) -> Result<Decision<RunResult>, Refusal> {
    check("artifacts", command.artifacts.len() + command.evidence_refs.len(), context.limits.report_facts_max)?;
    check_refs("output_refs", &command.output_refs, context.limits)?;
    check_text("summary", command.summary.as_deref(), context.limits)?;
    let mut draft = Draft::of(state, &[], context)?;
    let task = held(&draft, &command.run_id, command.lease_token)?;
    let task_id = task.row.task_id.clone();
    let artifacts = command.artifacts.iter().map(|name| (Relationship::ProducedArtifact, name));
    let evidence = command.evidence_refs.iter().map(|name| (Relationship::Evidence, name));
    for (relationship, name) in artifacts.chain(evidence) {
        leave_behind(&mut draft, &task_id, relationship, name)?;
    }
    if !command.criteria.is_empty() {
        let mut acceptance = task.row.acceptance.clone().unwrap_or_default();
        settle_criteria(&mut acceptance, &command.criteria)?;
        check_acceptance(Some(&acceptance), draft.context.limits)?;
        let updated_by = draft.context.caller.to_owned();
        let fact = TaskUpdated { updated_by, acceptance: Some(acceptance), ..TaskUpdated::default() };
        draft.push(draft.run_scope(&task_id), fact);
    }
    let output_refs = command.output_refs.clone();
    let leavings = Leavings { output_refs, checkpoint_refs: Vec::new(), usage: command.usage.clone() };
    attempt_completed(&mut draft, &task_id, command.summary.clone(), leavings);
    Ok(finish(draft, &command.run_id, &task_id))
}

/// Links a task to what a run of it made, under the same rules as `link_tasks`.
fn leave_behind(
    draft: &mut Draft<'_, '_>,
    task_id: &TaskId,
    relationship: Relationship,
    name: &str,
) -> Result<(), Refusal> {
    let (_, name, _) = direction(task_id, name, relationship)?;
    let row = draft.require(task_id)?.row;
    let known = if relationship == Relationship::Evidence { &row.evidence_refs } else { &row.artifacts };
    if known.contains(&name) {
        return Ok(());
    }
    room(draft, &row)?;
    check_artifacts(&row, [name.as_str()], draft.context.limits)?;
    add_edge(draft, task_id, &name, relationship, EdgeStatus::Active, None, EdgeChange::Added);
    Ok(())
}

pub(in super::super) fn fail_run(
    state: &SessionState,
    command: &FailRun,
    context: &mut Context<'_>,
) -> Result<Decision<RunResult>, Refusal> {
    check_failure(&command.error, context.limits)?;
    check_refs("output_refs", &command.output_refs, context.limits)?;
    check_refs("checkpoint_refs", &command.checkpoint_refs, context.limits)?;
    let mut draft = Draft::of(state, &[], context)?;
    let task_id = held(&draft, &command.run_id, command.lease_token)?.row.task_id;
    let leavings = Leavings {
        output_refs: command.output_refs.clone(),
        checkpoint_refs: command.checkpoint_refs.clone(),
        usage: command.usage.clone(),
    };
    attempt_failed(&mut draft, &task_id, AttemptStatus::Failed, command.error.clone(), leavings);
    Ok(finish(draft, &command.run_id, &task_id))
}

pub(in super::super) fn release_run(
    state: &SessionState,
    command: &ReleaseRun,
    context: &mut Context<'_>,
) -> Result<Decision<RunResult>, Refusal> {
    check_text("reason", command.reason.as_deref(), context.limits)?;
    let mut draft = Draft::of(state, &[], context)?;
    let task = held(&draft, &command.run_id, command.lease_token)?;
    let task_id = task.row.task_id.clone();
    if cancelled_above(&draft.tasks, &task_id).is_some() {
        let error = Failure {
            category: "cancelled".to_owned(),
            message: "the worker gave the run back while it was being cancelled".to_owned(),
            retryable: false,
            advice: None,
        };
        attempt_failed(&mut draft, &task_id, AttemptStatus::Cancelled, error, Leavings::default());
    } else {
        let released_by = draft.context.caller.to_owned();
        draft.push(draft.run_scope(&task_id), RunReleased { released_by, reason: command.reason.clone() });
        // What was put aside waits where it is; its run is claimed once it goes on.
        if task.row.status != TaskStatus::Paused {
            let fact = TaskQueued { status: TaskStatus::Queued, reason: command.reason.clone(), behind: Vec::new() };
            draft.push(draft.run_scope(&task_id), fact);
        }
    }
    Ok(finish(draft, &command.run_id, &task_id))
}

fn finish(draft: Draft<'_, '_>, run_id: &RunId, task_id: &TaskId) -> Decision<RunResult> {
    draft.finish(|draft| {
        let task = draft.tasks.get(task_id);
        let attempt = task.and_then(|task| task.row.attempt.as_ref()).filter(|attempt| attempt.run_id == *run_id);
        RunResult {
            run_id: run_id.clone(),
            task_id: Some(task_id.clone()),
            // A policy may have begun the next attempt already; this run then failed.
            status: attempt.map_or(AttemptStatus::Failed, |attempt| attempt.status),
            task_status: Some(draft.status(task_id)),
            cancel_requested: draft.status(task_id) == TaskStatus::Cancelling,
            sequence: draft.sequence(),
        }
    })
}

pub(in super::super) fn expire_lease(
    state: &SessionState,
    run_id: &RunId,
    token: u64,
    context: &mut Context<'_>,
) -> Result<Decision<()>, Refusal> {
    let mut draft = Draft::of(state, &[], context)?;
    let task = of_run(&draft, run_id)?;
    if task.lease.as_ref().is_some_and(|lease| lease.token == token) {
        let error = Failure {
            category: "worker_lost".to_owned(),
            message: "the worker did not keep its lease; whether it is still alive is not known".to_owned(),
            retryable: true,
            advice: Some("retry_task begins another attempt, fail_task gives it up".to_owned()),
        };
        attempt_failed(&mut draft, &task.row.task_id, AttemptStatus::Lost, error, Leavings::default());
    }
    Ok(draft.finish(|_| ()))
}
