//! `fail_task`: an attempt failed, and with it the task, unless its retry policy has another attempt left.

use factum_model::Refusal;
use factum_model::commands::{FailTask, TaskResult};
use factum_model::events::TaskFailed;
use factum_model::task::*;

use super::append_task_progress::require_run;
use super::draft::Draft;
use super::fields::{check_failure, check_name};
use super::finish_attempt::{Leavings, attempt_failed};
use super::start_task::{refuse_move, require_move};
use crate::context::{Context, Decision};
use crate::session::state::SessionState;

pub fn fail_task(
    state: &SessionState,
    recalled: &[TaskRow],
    command: &FailTask,
    context: &mut Context<'_>,
) -> Result<Decision<TaskResult>, Refusal> {
    check_failure(&command.error, context.limits)?;
    check_name("native_status", command.native_status.as_deref(), context.limits)?;
    let mut draft = Draft::of(state, recalled, context)?;
    let task_id = &command.task_id;
    let task = draft.require(task_id)?;
    require_move(&task, TaskStatus::Failed)?;
    require_run(&task, command.run_id.as_ref(), command.lease_token, draft.context)?;
    // Its turn may also wait in a queue; it would then be done for nobody.
    if task.open_run().is_some_and(|attempt| attempt.turn_id.is_some()) {
        return Err(refuse_move(&task, "failed", "an agent is at work on it; cancel_task or interrupt_turn stops it"));
    }
    if task.lease.is_some() && command.run_id.is_none() {
        return Err(refuse_move(&task, "failed", "a worker holds its run; cancel_task asks it to stop"));
    }
    if task.only_settles() {
        // Otherwise it could be retried, and that somebody wanted it to end would be undone.
        return Err(refuse_move(
            &task,
            "failed",
            "it is being cancelled, and is that once what is below it has settled",
        ));
    }
    if task.open_run().is_some() {
        attempt_failed(&mut draft, task_id, AttemptStatus::Failed, command.error.clone(), Leavings::default());
    } else {
        let failed_by = draft.context.caller.to_owned();
        let native_status = command.native_status.clone();
        let fact = TaskFailed { status: TaskStatus::Failed, error: command.error.clone(), failed_by, native_status };
        draft.push(draft.scope(task_id), fact);
        draft.over(task_id);
    }
    Ok(draft.finish(|draft| TaskResult {
        task_id: task_id.clone(),
        status: draft.status(task_id),
        sequence: draft.sequence(),
    }))
}
