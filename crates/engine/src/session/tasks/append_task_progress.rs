//! `append_task_progress`: how far a task has come, said by whoever works on it.

use factum_model::Refusal;
use factum_model::commands::{AppendTaskProgress, TaskResult};
use factum_model::events::TaskProgress;
use factum_model::id::RunId;
use factum_model::task::{OutputOffset, Progress, TaskRow};

use super::draft::Draft;
use super::fields::{check_name, check_ref};
use super::start_task::refuse_move;
use super::state::Task;
use crate::context::{Context, Decision, check};
use crate::session::state::SessionState;
use crate::session::workers::{not_held, require_lease};

pub fn append_task_progress(
    state: &SessionState,
    recalled: &[TaskRow],
    command: &AppendTaskProgress,
    context: &mut Context<'_>,
) -> Result<Decision<TaskResult>, Refusal> {
    check_progress(&command.progress, context)?;
    check_name("native_status", command.native_status.as_deref(), context.limits)?;
    let mut draft = Draft::of(state, recalled, context)?;
    let task = draft.require(&command.task_id)?;
    if !task.is_open() {
        return Err(refuse_move(&task, "further along", "it has ended"));
    }
    require_run(&task, command.run_id.as_ref(), command.lease_token, draft.context)?;
    check_merged(task.row.progress.as_ref(), &command.progress)?;
    let fact = TaskProgress {
        reported_by: draft.context.caller.to_owned(),
        native_status: command.native_status.clone(),
        progress: command.progress.clone(),
    };
    let scope =
        if task.open_run().is_some() { draft.run_scope(&command.task_id) } else { draft.scope(&command.task_id) };
    draft.push(scope, fact);
    Ok(draft.finish(|draft| TaskResult {
        task_id: command.task_id.clone(),
        status: draft.status(&command.task_id),
        sequence: draft.sequence(),
    }))
}

/// How many counters and outputs the progress of a task may name.
const ENTRIES_MAX: usize = 64;

pub(super) fn check_progress(progress: &Progress, context: &Context<'_>) -> Result<(), Refusal> {
    if progress.percent.is_some_and(|percent| percent > 100) {
        return Err(Refusal::invalid("percent is 0 to 100"));
    }
    check("progress_counters", progress.counters.len(), ENTRIES_MAX)?;
    check("progress_outputs", progress.output_refs.len(), ENTRIES_MAX)?;
    for name in progress.counters.keys() {
        check_name("counters", Some(name), context.limits)?;
    }
    for output in &progress.output_refs {
        check_ref("output_refs", &output.output_ref, context.limits)?;
    }
    let text = progress.summary.as_deref().map_or(0, str::len) + progress.current_step.as_deref().map_or(0, str::len);
    check("metadata_bytes", text, context.limits.metadata_bytes_max)
}

/// Refuses what would make the progress of a task name more than it may, over however many reports.
pub(super) fn check_merged(known: Option<&Progress>, said: &Progress) -> Result<(), Refusal> {
    let Some(known) = known else { return Ok(()) };
    let counters = said.counters.keys().filter(|name| !known.counters.contains_key(*name)).count();
    check("progress_counters", known.counters.len() + counters, ENTRIES_MAX)?;
    let is_known = |output: &OutputOffset| known.output_refs.iter().any(|one| one.output_ref == output.output_ref);
    let outputs = said.output_refs.iter().filter(|output| !is_known(output)).count();
    check("progress_outputs", known.output_refs.len() + outputs, ENTRIES_MAX)
}

/// Refuses a report on behalf of a run that is over, or that somebody else holds.
pub(super) fn require_run(
    task: &Task,
    run_id: Option<&RunId>,
    token: Option<u64>,
    context: &Context<'_>,
) -> Result<(), Refusal> {
    let Some(run_id) = run_id else { return Ok(()) };
    let Some(attempt) = task.open_run().filter(|attempt| attempt.run_id == *run_id) else {
        return Err(not_held(run_id));
    };
    match &task.lease {
        None => Ok(()),
        Some(lease) => {
            let token = token.ok_or_else(|| not_held(run_id))?;
            require_lease(run_id, Some(lease), attempt.worker.as_deref(), token, context)
        }
    }
}
