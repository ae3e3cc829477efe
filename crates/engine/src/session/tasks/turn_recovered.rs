//! The process that ran an agent's turn ended, and the turn is carried on: that is another attempt of the task it is done for.
//!
//! The turn stays the same, with everything that is in the log of it, so the attempt begins where the one before was cut off.
//! No retry policy is asked: nothing of the work failed.

use factum_model::NewEvent;
use factum_model::events::{NextAttempt, TaskAttemptFailed, TaskAttemptStarted};
use factum_model::id::TurnId;
use factum_model::task::*;
use factum_model::value::Failure;

use super::draft::Draft;
use super::state::Task;
use super::weight::Weight;
use crate::context::Context;
use crate::session::state::SessionState;

/// Called behind the `events` that carry a turn on after a crash.
pub(in super::super) fn turn_recovered(
    state: &SessionState,
    turn_id: &TurnId,
    weight: &mut Weight,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) {
    // Almost no turn is of a task.
    let (Some(task_id), Some(shell)) = (state.tasks.turns.get(turn_id), &state.shell) else { return };
    // All turns of a session are carried on in one commit. Where that has no room for more, the attempt goes on as it is.
    if weight.is_full(&state.tasks, events) {
        return;
    }
    let mut draft = Draft::begin(state, &shell.session_id, &[], std::mem::take(events), context);
    if let Some(task) = draft.tasks.get(task_id).cloned() {
        begin_again(&mut draft, &task);
    }
    *events = draft.events;
}

fn begin_again(draft: &mut Draft<'_, '_>, task: &Task) {
    let Some(cut_off) = task.open_run().filter(|attempt| attempt.status == AttemptStatus::Running) else { return };
    // A process that never stays up does not fill the disk with attempts; the last one then goes on.
    if cut_off.attempt_count as usize >= draft.context.limits.task_attempts_max {
        return;
    }
    let task_id = &task.row.task_id;
    let error = Failure {
        category: "process_ended".to_owned(),
        message: "the process that ran it ended; the next attempt carries its turn on".to_owned(),
        retryable: true,
        advice: None,
    };
    let fact = TaskAttemptFailed {
        status: AttemptStatus::Failed,
        attempt_count: cut_off.attempt_count,
        error,
        next_attempt: NextAttempt::Recovery,
        output_refs: Vec::new(),
        checkpoint_refs: Vec::new(),
        usage: None,
    };
    let scope = draft.run_scope(task_id);
    draft.push(scope.clone(), fact);
    let fact = TaskAttemptStarted {
        status: AttemptStatus::Running,
        attempt_count: cut_off.attempt_count + 1,
        cause: AttemptCause::CrashRecovery,
        previous_run_id: Some(cut_off.run_id.clone()),
        worker: cut_off.worker.clone(),
        input_refs: cut_off.input_refs.clone(),
        checkpoint_refs: cut_off.checkpoint_refs.clone(),
        retry_policy: cut_off.retry_policy.clone(),
        execution: task.row.execution.clone(),
        priority: task.row.priority,
    };
    let (run_id, attempt_id) = (draft.context.run_id(), draft.context.attempt_id());
    draft.push(scope.run_id(&run_id).attempt_id(&attempt_id), fact);
}
