//! How an attempt ends, whoever ends it, and what its retry policy makes of that.

use factum_model::events::*;
use factum_model::id::TaskId;
use factum_model::task::*;
use factum_model::value::{Failure, Usage};

use super::clock::{later, policy};
use super::draft::Draft;
use super::fields::clip_failure;
use super::graph::cancelled_above;
use super::inbound::follow_up;
use super::moves::may_move;
use super::reconcile;
use super::start_task::{Start, routed, start};
use super::state::Task;
use crate::session::text::clip;

/// What an attempt leaves behind.
#[derive(Default)]
pub(super) struct Leavings {
    pub(super) output_refs: Vec<String>,
    pub(super) checkpoint_refs: Vec<String>,
    pub(super) usage: Option<Usage>,
}

/// An attempt ended well. The task waits for its owner, unless that was said beforehand or it is being cancelled.
pub(super) fn attempt_completed(
    draft: &mut Draft<'_, '_>,
    task_id: &TaskId,
    summary: Option<String>,
    leavings: Leavings,
) {
    super::peer_runs::run_ends(draft, task_id);
    let Some(task) = draft.tasks.get(task_id) else { return };
    let (attempt_count, status) = (task.attempt_count(), task.row.status);
    let fact = TaskAttemptCompleted {
        status: AttemptStatus::Completed,
        attempt_count,
        completion_summary: summary.map(|text| clip(&text, draft.context.limits.task_text_chars_max)),
        output_refs: leavings.output_refs,
        checkpoint_refs: leavings.checkpoint_refs,
        usage: leavings.usage,
    };
    draft.push(draft.run_scope(task_id), fact);
    match status {
        TaskStatus::Cancelling => settle_cancelled(draft, task_id),
        // It goes on waiting for its owner when somebody resumes it.
        TaskStatus::Paused => {}
        _ => complete_or_await(draft, task_id),
    }
}

/// The run is over: what it was for is done, or its owner has the word.
fn complete_or_await(draft: &mut Draft<'_, '_>, task_id: &TaskId) {
    if cancelled_above(&draft.tasks, task_id).is_none() && follow_up(draft, task_id) {
        return;
    }
    let Some(task) = draft.tasks.get(task_id) else { return };
    // One that its owner said is blocked is not any more, and completes as what it is then.
    let may = may_move(task.row.status, TaskStatus::Completed);
    if may && reconcile::is_enough(draft.state, &draft.tasks, task) {
        let fact = reconcile::completion(&draft.tasks, task, draft.context.caller);
        return draft.completed(task_id, fact);
    }
    let fact = TaskWaiting {
        status: TaskStatus::WaitingInput,
        reason: Some(reconcile::AWAITS_OWNER.to_owned()),
        resource: None,
        native_status: None,
    };
    draft.push(draft.run_scope(task_id), fact);
    complete_if_enough(draft, task_id);
}

/// Completes a task that waits for its owner, where the owner said beforehand that this is enough.
pub(super) fn complete_if_enough(draft: &mut Draft<'_, '_>, task_id: &TaskId) {
    let Some(task) = draft.tasks.get(task_id) else { return };
    if reconcile::completes_by_itself(draft.state, &draft.tasks, task) {
        let fact = reconcile::completion(&draft.tasks, task, draft.context.caller);
        draft.completed(task_id, fact);
    }
}

/// An attempt ended otherwise: `status` tells failed, cancelled, timed out and lost apart.
pub(super) fn attempt_failed(
    draft: &mut Draft<'_, '_>,
    task_id: &TaskId,
    status: AttemptStatus,
    error: Failure,
    leavings: Leavings,
) {
    super::peer_runs::run_ends(draft, task_id);
    let error = clip_failure(error, draft.context.limits);
    let Some(task) = draft.tasks.get(task_id).cloned() else { return };
    let cancelling = task.row.status == TaskStatus::Cancelling;
    // What is under way below a task that is cancelled settles; nothing follows it.
    let settles = cancelling || cancelled_above(&draft.tasks, task_id).is_some();
    let again = !settles && may_retry(&task, status, &error);
    let next_attempt = match (again, status) {
        (true, _) => NextAttempt::Policy,
        (false, AttemptStatus::Lost) if !cancelling => NextAttempt::Manual,
        _ => NextAttempt::None,
    };
    let fact = TaskAttemptFailed {
        status,
        attempt_count: task.attempt_count(),
        error: error.clone(),
        next_attempt,
        output_refs: leavings.output_refs,
        checkpoint_refs: leavings.checkpoint_refs,
        usage: leavings.usage,
    };
    draft.push(draft.run_scope(task_id), fact);
    if cancelling {
        return settle_cancelled(draft, task_id);
    }
    if again && task.row.status == TaskStatus::Paused {
        // Nothing begins meanwhile; the policy has its say when somebody resumes it.
        return;
    }
    if again {
        return retry_by_policy(draft, &task, status);
    }
    let by = draft.context.caller.to_owned();
    let scope = draft.run_scope(task_id);
    match status {
        AttemptStatus::Lost => {
            let worker = task.row.attempt.as_ref().and_then(|attempt| attempt.worker.clone());
            let fact = TaskLost { status: TaskStatus::Lost, reason: error.message, worker, last_seen_at: None };
            draft.push(scope, fact);
        }
        AttemptStatus::Cancelled if draft.tasks.open_below(task_id) == 0 => {
            draft.cancelled(task_id, &by, Some(error.message));
        }
        // What is below it settles first, as with an order to cancel.
        AttemptStatus::Cancelled => {
            let fact = TaskCancelRequested {
                status: TaskStatus::Cancelling,
                requested_by: by,
                reason: Some(error.message),
                propagation: Propagation::None,
                origin_task_id: None,
                settle_by: None,
                ends_unbegun: true,
            };
            draft.push(draft.scope(task_id), fact);
        }
        AttemptStatus::TimedOut => {
            let inactive = error.category == INACTIVE;
            let policy = policy(&task);
            let limit =
                policy.and_then(|policy| if inactive { policy.inactivity_timeout_ms } else { policy.timeout_ms });
            let budget = if inactive { TimeBudget::Inactivity } else { TimeBudget::Duration };
            let fact =
                TaskTimedOut { status: TaskStatus::TimedOut, budget, limit_ms: limit.unwrap_or_default(), error };
            draft.push(scope, fact);
            draft.over(task_id);
        }
        _ => {
            let fact = TaskFailed { status: TaskStatus::Failed, error, failed_by: by, native_status: None };
            draft.push(scope, fact);
            draft.over(task_id);
        }
    }
}

/// The categories of an attempt whose time was over.
pub(super) const TIMEOUT: &str = "timeout";
pub(super) const INACTIVE: &str = "inactivity_timeout";

/// A task that is being cancelled ends with its last run, once nothing below it is open.
pub(super) fn settle_cancelled(draft: &mut Draft<'_, '_>, task_id: &TaskId) {
    if draft.tasks.open_below(task_id) == 0 {
        let reason = draft.tasks.get(task_id).and_then(|task| task.row.status_reason.clone());
        let by = draft.context.caller.to_owned();
        draft.cancelled(task_id, &by, reason);
    }
}

/// Whether the policy gives a failed attempt a successor.
fn may_retry(task: &Task, status: AttemptStatus, error: &Failure) -> bool {
    let Some(policy) = policy(task) else { return false };
    let kind = match status {
        AttemptStatus::Failed | AttemptStatus::TimedOut => true,
        AttemptStatus::Lost => policy.on_lost == OnLost::Retry,
        _ => false,
    };
    kind && error.retryable && task.tries() < policy.max_attempts && !policy.non_retryable.contains(&error.category)
}

pub(super) fn retry_by_policy(draft: &mut Draft<'_, '_>, task: &Task, status: AttemptStatus) {
    let task_id = &task.row.task_id;
    let wait = policy(task).and_then(|policy| policy.backoff.as_ref()).map_or(0, |backoff| {
        let random = draft.context.random();
        wait_ms(backoff, task.tries(), random)
    });
    let cause = if status == AttemptStatus::Lost { AttemptCause::WorkerLost } else { AttemptCause::Retry };
    let cause = routed(cause, task, None);
    let fact = TaskRetrying {
        status: TaskStatus::Retrying,
        cause,
        requested_by: "runtime://tasks".to_owned(),
        reason: None,
        attempt_count: task.attempt_count() + 1,
        previous_run_id: task.row.attempt.as_ref().map(|attempt| attempt.run_id.clone()),
        retry_at: (wait > 0).then(|| later(draft.context.now, wait)),
    };
    draft.push(draft.scope(task_id), fact);
    if wait == 0 {
        begin_again(draft, task_id, Start { cause, ..Start::default() });
    }
}

/// Begins the attempt a retry announced. Where a bound of the session is in the way, the task fails and says so.
pub(super) fn begin_again(draft: &mut Draft<'_, '_>, task_id: &TaskId, how: Start) {
    if let Err(refusal) = start(draft, task_id, how) {
        let error = Failure {
            category: "limit_exceeded".to_owned(),
            message: refusal.message,
            retryable: false,
            advice: Some("retry_task begins another attempt once there is room".to_owned()),
        };
        let failed_by = "runtime://tasks".to_owned();
        let fact = TaskFailed { status: TaskStatus::Failed, error, failed_by, native_status: None };
        draft.push(draft.scope(task_id), fact);
        draft.over(task_id);
    }
}

/// How long to wait after so many attempts. `random` takes some of it off, so that those who failed together do not come
/// back together.
pub(super) fn wait_ms(backoff: &Backoff, attempts: u32, random: u64) -> u64 {
    let mut wait = u128::from(backoff.initial_ms);
    for _ in 1..attempts {
        wait = wait * u128::from(backoff.factor_percent) / 100;
        if wait >= u128::from(backoff.max_ms) {
            break;
        }
    }
    let wait = u64::try_from(wait).unwrap_or(u64::MAX).min(backoff.max_ms);
    let jitter = u128::from(wait) * u128::from(backoff.jitter_percent.min(100)) / 100;
    let off = if jitter == 0 { 0 } else { u128::from(random) % (jitter + 1) };
    wait - u64::try_from(off).unwrap_or(0)
}
