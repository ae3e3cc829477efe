//! `complete_task`: somebody declares a task complete. Refused, with a list, while something it needs is missing.

use factum_model::Refusal;
use factum_model::commands::{CompleteTask, TaskResult};
use factum_model::events::{TaskAttemptCompleted, TaskCompleted};
use factum_model::id::TaskId;
use factum_model::task::*;

use super::append_task_progress::require_run;
use super::apply::remember;
use super::draft::Draft;
use super::fields::{check_acceptance, check_artifacts, check_name, check_refs, check_text};
use super::finish_attempt::settle_cancelled;
use super::reconcile;
use super::start_task::require_move;
use crate::context::{Context, Decision, check};
use crate::session::state::SessionState;

/// How many artifacts or evidence one completion names.
const NAMES_MAX: usize = 256;

pub fn complete_task(
    state: &SessionState,
    recalled: &[TaskRow],
    command: &CompleteTask,
    context: &mut Context<'_>,
) -> Result<Decision<TaskResult>, Refusal> {
    check("artifacts", command.artifacts.len(), NAMES_MAX)?;
    check("evidence_refs", command.evidence_refs.len(), NAMES_MAX)?;
    check_refs("output_refs", &command.output_refs, context.limits)?;
    check_text("summary", command.summary.as_deref(), context.limits)?;
    check_name("native_status", command.native_status.as_deref(), context.limits)?;
    let mut draft = Draft::of(state, recalled, context)?;
    let task_id = &command.task_id;
    let task = draft.require(task_id)?;
    require_run(&task, command.run_id.as_ref(), command.lease_token, draft.context)?;
    let mut told = task.clone();
    for artifact in &command.artifacts {
        remember(&mut told.row.artifacts, Some(artifact.clone()));
    }
    for evidence in &command.evidence_refs {
        remember(&mut told.row.evidence_refs, Some(evidence.clone()));
    }
    if !command.criteria.is_empty() {
        reconcile::settle_criteria(told.row.acceptance.get_or_insert_default(), &command.criteria)?;
        check_acceptance(told.row.acceptance.as_ref(), draft.context.limits)?;
    }
    let named = command.artifacts.iter().chain(&command.evidence_refs).map(String::as_str);
    check_artifacts(&task.row, named, draft.context.limits)?;
    // Whoever holds the run may end it by this; so may anybody where nobody holds it and no agent is at work. What a peer
    // does ends with the peer.
    let held = task.lease.is_some() || task.open_run().is_some_and(|attempt| attempt.turn_id.is_some());
    let by_peer = task.open_run().is_some_and(|attempt| draft.state.delegations.get(&attempt.run_id).is_some());
    let run_counts = by_peer || (held && command.run_id.is_none());
    let missing = reconcile::missing(draft.state, &draft.tasks, &told, run_counts);
    require_move(&task, TaskStatus::Completed).map_err(|refusal| refusal.with("missing", missing.clone()))?;
    reconcile::require_nothing_missing(missing, &task)?;
    if let Some(attempt) = task.open_run() {
        let fact = TaskAttemptCompleted {
            status: AttemptStatus::Completed,
            attempt_count: attempt.attempt_count,
            completion_summary: command.summary.clone(),
            output_refs: command.output_refs.clone(),
            checkpoint_refs: Vec::new(),
            usage: None,
        };
        draft.push(draft.run_scope(task_id), fact);
    }
    if task.row.status == TaskStatus::Cancelling {
        // That its work ended well does not undo that somebody wanted it to end: as with `complete_run`.
        settle_cancelled(&mut draft, task_id);
        return Ok(answer(draft, task_id));
    }
    let fact = TaskCompleted {
        status: TaskStatus::Completed,
        completed_by: draft.context.caller.to_owned(),
        summary: command.summary.clone(),
        acceptance: told.row.acceptance,
        artifacts: command.artifacts.clone(),
        evidence_refs: command.evidence_refs.clone(),
        output_refs: command.output_refs.clone(),
        delivery_state: command.delivery_state.unwrap_or_else(|| reconcile::delivery(&draft.tasks, &task.row)),
        native_status: command.native_status.clone(),
    };
    draft.completed(task_id, fact);
    Ok(answer(draft, task_id))
}

fn answer(draft: Draft<'_, '_>, task_id: &TaskId) -> Decision<TaskResult> {
    draft.finish(|draft| TaskResult {
        task_id: task_id.clone(),
        status: draft.status(task_id),
        sequence: draft.sequence(),
    })
}
