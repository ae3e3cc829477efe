//! What happens to tasks by themselves when a time has come.

use factum_model::Refusal;
use factum_model::id::TaskId;
use factum_model::task::*;
use factum_model::value::{Failure, Status};

use super::agent_turn::stop_turn;
use super::draft::Draft;
use super::finish_attempt::{INACTIVE, Leavings, TIMEOUT, attempt_failed, begin_again};
use super::graph::cancelled_above;
use super::start_task::Start;
use crate::context::{Context, Decision};
use crate::session::index::{Timer, TimerKind};
use crate::session::state::SessionState;

pub(in super::super) fn fire_timer(
    state: &SessionState,
    timer: &Timer,
    context: &mut Context<'_>,
) -> Result<Decision<()>, Refusal> {
    let Ok(task_id) = timer.id.parse::<TaskId>() else { return Ok(Decision { events: Vec::new(), output: () }) };
    let mut draft = Draft::of(state, &[], context)?;
    let now = draft.context.now;
    let (status, due) = match draft.tasks.get(&task_id) {
        Some(task) => (task.row.status, task.due.clone()),
        None => return Ok(Decision { events: Vec::new(), output: () }),
    };
    let is_due = |at: Option<factum_model::Timestamp>| at.is_some_and(|at| at <= now);
    match timer.kind {
        // One that was put aside does not begin by itself, nor one that an order to cancel is on its way to.
        TimerKind::TaskRetry
            if is_due(due.retry)
                && status == TaskStatus::Retrying
                && cancelled_above(&draft.tasks, &task_id).is_none() =>
        {
            let cause =
                draft.tasks.get(&task_id).and_then(|task| task.row.attempt.as_ref()).map(|attempt| attempt.status);
            let lost = cause == Some(AttemptStatus::Lost);
            let cause = if lost { AttemptCause::WorkerLost } else { AttemptCause::Retry };
            begin_again(&mut draft, &task_id, Start { cause, ..Start::default() });
        }
        TimerKind::TaskTimeout if is_due(due.timeout) => {
            time_out(&mut draft, &task_id, TIMEOUT, "the attempt took longer than it may");
        }
        TimerKind::TaskInactivity if is_due(due.inactivity) => {
            time_out(&mut draft, &task_id, INACTIVE, "the attempt said nothing for longer than it may");
        }
        TimerKind::TaskCancel if is_due(due.cancel) => {
            let error = Failure {
                category: "cancelled".to_owned(),
                message: "the work did not settle in time; whether it stopped is not known".to_owned(),
                retryable: false,
                advice: None,
            };
            attempt_failed(&mut draft, &task_id, AttemptStatus::Unknown, error, Leavings::default());
        }
        _ => {}
    }
    Ok(draft.finish(|_| ()))
}

fn time_out(draft: &mut Draft<'_, '_>, task_id: &TaskId, category: &str, message: &str) {
    let error = Failure { category: category.to_owned(), message: message.to_owned(), retryable: true, advice: None };
    let run = draft.tasks.get(task_id).and_then(|task| task.open_run());
    let Some((run_id, turn_id)) = run.map(|run| (run.run_id.clone(), run.turn_id.clone())) else { return };
    // The turn ends first, so that the next attempt finds the thread idle; its end ends the attempt.
    if let Some(turn_id) = turn_id {
        stop_turn(draft, &turn_id, Status::TimedOut, error.clone(), "runtime://timer");
    }
    if draft.tasks.get(task_id).and_then(|task| task.open_run()).is_some_and(|run| run.run_id == run_id) {
        attempt_failed(draft, task_id, AttemptStatus::TimedOut, error, Leavings::default());
    }
}
