//! The time of an attempt: how long it may take, and how long it may say nothing. It runs from when somebody works on it,
//! and stands still while the task is paused. Its silence does not count while somebody is asked on its behalf.

use factum_model::Timestamp;
use factum_model::task::{AttemptStatus, RetryPolicy, TaskStatus};
use serde::{Deserialize, Serialize};

use super::state::Task;

/// What was left of an attempt's time when its task was put aside, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Left {
    timeout_ms: Option<u64>,
    inactivity_ms: Option<u64>,
}

/// Somebody begins to work on the attempt.
pub(super) fn begin(task: &mut Task, at: Timestamp) {
    let of = |ms: fn(&RetryPolicy) -> Option<u64>| policy(task).and_then(ms);
    let whole =
        Left { timeout_ms: of(|policy| policy.timeout_ms), inactivity_ms: of(|policy| policy.inactivity_timeout_ms) };
    stop(task);
    task.left = Some(whole).filter(|left| *left != Left::default());
    if task.row.status != TaskStatus::Paused {
        go_on(task, at);
    }
}

/// Whoever works on it gave a sign of life.
pub(super) fn heard(task: &mut Task, at: Timestamp) {
    let Some(ms) = policy(task).and_then(|policy| policy.inactivity_timeout_ms) else { return };
    if task.due.inactivity.is_some() {
        task.due.inactivity = Some(later(at, ms));
    }
    if let Some(left) = task.left.as_mut().filter(|left| left.inactivity_ms.is_some()) {
        left.inactivity_ms = Some(ms);
    }
}

/// Nobody works on it any more.
pub(super) fn stop(task: &mut Task) {
    (task.due.timeout, task.due.inactivity, task.left) = (None, None, None);
}

/// Somebody is asked, and until they answer nothing is expected of whoever works on it.
pub(super) fn ask(task: &mut Task) {
    task.due.inactivity = None;
}

/// Nobody is asked any more: from here on it may say nothing for as long as at the beginning.
pub(super) fn answered(task: &mut Task, at: Timestamp) {
    let runs = task.open_run().is_some_and(|attempt| attempt.status == AttemptStatus::Running);
    let silence = policy(task).and_then(|policy| policy.inactivity_timeout_ms).filter(|_| runs);
    if let Some(ms) = silence.filter(|_| task.due.inactivity.is_none()) {
        task.due.inactivity = Some(later(at, ms));
    }
}

/// The task is put aside.
pub(super) fn hold(task: &mut Task, at: Timestamp) {
    let ms = |due: Timestamp| u64::try_from(due.as_millisecond() - at.as_millisecond()).unwrap_or(0);
    let left = Left { timeout_ms: task.due.timeout.map(ms), inactivity_ms: task.due.inactivity.map(ms) };
    stop(task);
    task.left = Some(left).filter(|left| *left != Left::default());
}

/// The task goes on, and so does the time.
pub(super) fn go_on(task: &mut Task, at: Timestamp) {
    if let Some(left) = task.left.take() {
        task.due.timeout = left.timeout_ms.map(|ms| later(at, ms));
        task.due.inactivity = left.inactivity_ms.map(|ms| later(at, ms));
    }
}

/// The policy the current attempt began with.
pub(super) fn policy(task: &Task) -> Option<&RetryPolicy> {
    task.row.attempt.as_ref().and_then(|attempt| attempt.retry_policy.as_ref())
}

/// So many milliseconds later; the end of time where that is too far.
pub(super) fn later(at: Timestamp, ms: u64) -> Timestamp {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    let millis = at.as_millisecond().saturating_add(ms).min(TIME_MAX_MS);
    Timestamp::from_millisecond(millis).unwrap_or(at)
}

/// The last whole instant that a timer's key can be read back to.
const TIME_MAX_MS: i64 = 253_402_207_200_000;
