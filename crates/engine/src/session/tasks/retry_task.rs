//! `retry_task`: another attempt, because somebody asks for it. The old ones stay as they are.

use factum_model::Refusal;
use factum_model::commands::{RetryTask, RetryTaskResult};
use factum_model::events::{NextAttempt, TaskAttemptFailed, TaskRetrying};
use factum_model::task::*;
use factum_model::value::Failure;

use super::draft::Draft;
use super::fields::{check_name, check_refs, check_text};
use super::start_task::{Start, check_worker, refuse_cancelled_above, refuse_move, require_move, routed, start};
use super::state::{Task, is_open};
use crate::context::{Context, Decision};
use crate::session::state::SessionState;

pub fn retry_task(
    state: &SessionState,
    recalled: &[TaskRow],
    command: &RetryTask,
    context: &mut Context<'_>,
) -> Result<Decision<RetryTaskResult>, Refusal> {
    if command.propagation != Propagation::None {
        return Err(Refusal::invalid("a retry concerns one task: propagation has to be none"));
    }
    check_name("worker", command.worker.as_deref(), context.limits)?;
    check_refs("input_refs", &command.input_refs, context.limits)?;
    check_text("reason", Some(&command.reason), context.limits)?;
    let mut draft = Draft::of(state, recalled, context)?;
    let task_id = &command.task_id;
    let task = draft.require(task_id)?;
    let previous = task.row.attempt.as_ref();
    if previous.is_none() && task.is_open() {
        return Err(refuse_move(&task, "retried", "it has had no attempt yet; start_task begins the first"));
    }
    require_move(&task, TaskStatus::Retrying)?;
    if task.open_run().is_some_and(|attempt| attempt.turn_id.is_some()) {
        return Err(refuse_move(&task, "retried", AT_WORK));
    }
    check_worker(&task, command.worker.as_deref())?;
    refuse_cancelled_above(&draft, &task)?;
    refuse_below_ended(&draft, &task)?;
    let cause = match task.row.status {
        _ if previous.is_none() => AttemptCause::First,
        TaskStatus::Lost => AttemptCause::WorkerLost,
        TaskStatus::Failed | TaskStatus::TimedOut => AttemptCause::Retry,
        _ => AttemptCause::Rerun,
    };
    let cause = routed(cause, &task, command.worker.as_deref());
    if let Some(previous) = task.open_run() {
        super::peer_runs::run_ends(&mut draft, task_id);
        let error = Failure {
            category: "superseded".to_owned(),
            message: command.reason.clone(),
            retryable: false,
            advice: None,
        };
        let fact = TaskAttemptFailed {
            status: AttemptStatus::Cancelled,
            attempt_count: previous.attempt_count,
            error,
            next_attempt: NextAttempt::Manual,
            output_refs: Vec::new(),
            checkpoint_refs: Vec::new(),
            usage: None,
        };
        draft.push(draft.run_scope(task_id), fact);
    }
    let fact = TaskRetrying {
        status: TaskStatus::Retrying,
        cause,
        requested_by: draft.context.caller.to_owned(),
        reason: Some(command.reason.clone()),
        attempt_count: task.attempt_count() + 1,
        previous_run_id: previous.map(|previous| previous.run_id.clone()),
        retry_at: None,
    };
    draft.push(draft.scope(task_id), fact);
    let how =
        Start { worker: command.worker.clone(), input_refs: command.input_refs.clone(), cause, ..Start::default() };
    let (run_id, attempt_id) = start(&mut draft, task_id, how)?;
    let attempt_count = task.attempt_count() + 1;
    Ok(draft.finish(|draft| RetryTaskResult {
        task_id: task_id.clone(),
        run_id,
        attempt_id,
        attempt_count,
        status: draft.status(task_id),
        sequence: draft.sequence(),
    }))
}

/// Interrupting the agent's turn is no way out: it ends the task as cancelled, and what is cancelled is not retried.
const AT_WORK: &str =
    "an agent is at work on it; retry it when its turn has failed, or cancel it and create another task";

/// A task that ended does not begin again below one that ended: what is above an open task is open, or ended while the
/// task was at work.
fn refuse_below_ended(draft: &Draft<'_, '_>, task: &Task) -> Result<(), Refusal> {
    let Some(parent) = task.row.parent_task_id.as_ref().filter(|_| !task.is_open()) else { return Ok(()) };
    let parent = draft.tasks.get(parent).map(|parent| &parent.row);
    if parent.is_some_and(|parent| is_open(parent.status)) {
        return Ok(());
    }
    Err(Refusal::precondition("its parent has ended; retry that first, or unlink the task from it")
        .with("status", task.row.status.as_str())
        .with("parent_status", parent.map_or("ended", |parent| parent.status.as_str())))
}
