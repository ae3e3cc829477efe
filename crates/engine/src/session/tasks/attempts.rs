//! The fold of attempts: a new one begins, a worker takes it, gives it back, ends it. None is ever overwritten.

use factum_model::events::*;
use factum_model::id::TaskId;
use factum_model::task::*;
use factum_model::value::Failure;
use factum_model::{Scope, Timestamp};

use super::clock;
use super::state::{Spilled, Task, Tasks};

pub(super) fn start(
    tasks: &mut Tasks,
    task_id: &TaskId,
    scope: &Scope,
    fact: &TaskAttemptStarted,
    at: Timestamp,
    sequence: u64,
) {
    let Some((run_id, attempt_id)) = scope.run_id.clone().zip(scope.attempt_id.clone()) else { return };
    let running = fact.status == AttemptStatus::Running;
    let attempt = Attempt {
        run_id: run_id.clone(),
        attempt_id,
        attempt_count: fact.attempt_count,
        cause: fact.cause,
        status: fact.status,
        worker: fact.worker.clone(),
        thread_id: scope.turn_id.as_ref().and(scope.thread_id.clone()),
        turn_id: scope.turn_id.clone(),
        input_refs: fact.input_refs.clone(),
        output_refs: Vec::new(),
        checkpoint_refs: fact.checkpoint_refs.clone(),
        retry_policy: fact.retry_policy.clone(),
        last_error: None,
        completion_summary: None,
        started_at: running.then_some(at),
        ended_at: None,
    };
    let Some(task) = tasks.get_mut(task_id) else { return };
    let previous = task.row.attempt.replace(attempt);
    // What the last attempt had come to says nothing about this one, unless it carries that one on.
    if fact.cause != AttemptCause::CrashRecovery {
        task.row.progress = None;
    }
    task.row.recoveries += u32::from(fact.cause == AttemptCause::CrashRecovery);
    task.due.retry = None;
    task.ready_since = (!running && fact.execution.queue.is_some()).then_some(at);
    task.ready_sequence = if task.ready_since.is_some() { sequence } else { 0 };
    if running {
        clock::begin(task, at);
    }
    tasks.runs.insert(run_id, task_id.clone());
    if let Some(turn_id) = &scope.turn_id {
        tasks.turns.insert(turn_id.clone(), task_id.clone());
    }
    tasks.spilled.0.extend(previous.map(|attempt| Spilled::Attempt(task_id.clone(), Box::new(attempt))));
}

/// A worker took the run.
pub(super) fn delegate(tasks: &mut Tasks, task_id: &TaskId, fact: &TaskDelegated, at: Timestamp) {
    let (Some(task), Some(lease)) = (tasks.get_mut(task_id), &fact.lease) else { return };
    task.lease = Some(lease.clone());
    (task.ready_since, task.ready_sequence) = (None, 0);
    if let Some(attempt) = &mut task.row.attempt {
        attempt.status = AttemptStatus::Running;
        attempt.worker = Some(fact.delegate_ref.clone());
        attempt.started_at = Some(at);
    }
    clock::begin(task, at);
}

/// The turn that an agent does it in waited in a queue, and runs.
pub(super) fn turn_began(task: &mut Task, at: Timestamp) {
    let waited = |attempt: &&mut Attempt| attempt.status == AttemptStatus::Queued && attempt.turn_id.is_some();
    let Some(attempt) = task.row.attempt.as_mut().filter(waited) else { return };
    attempt.status = AttemptStatus::Running;
    attempt.started_at = Some(at);
    // What was put aside while it waited goes on as what it has become.
    if task.paused_from == Some(TaskStatus::Queued) {
        task.paused_from = Some(TaskStatus::Running);
    }
    clock::begin(task, at);
}

/// A worker gave it back.
pub(super) fn release(tasks: &mut Tasks, task_id: &TaskId, at: Timestamp, sequence: u64) {
    let Some(task) = tasks.get_mut(task_id) else { return };
    task.lease = None;
    (task.ready_since, task.ready_sequence) = (Some(at), sequence);
    clock::stop(task);
    if task.paused_from.is_some() {
        task.paused_from = Some(TaskStatus::Queued);
    }
    if let Some(attempt) = &mut task.row.attempt {
        attempt.status = AttemptStatus::Queued;
        attempt.worker = None;
        attempt.started_at = None;
    }
}

pub(super) fn complete(tasks: &mut Tasks, task_id: &TaskId, fact: &TaskAttemptCompleted, at: Timestamp) {
    let output = Output { refs: &fact.output_refs, checkpoints: &fact.checkpoint_refs };
    let Some(task) = close(tasks, task_id, fact.status, &output, at) else { return };
    // What was put aside while it ran waits for its owner when it goes on.
    if task.paused_from.is_some() {
        task.paused_from = Some(TaskStatus::WaitingInput);
    }
    if let Some(attempt) = &mut task.row.attempt {
        attempt.completion_summary.clone_from(&fact.completion_summary);
    }
}

pub(super) fn fail(tasks: &mut Tasks, task_id: &TaskId, fact: &TaskAttemptFailed, at: Timestamp) {
    let output = Output { refs: &fact.output_refs, checkpoints: &fact.checkpoint_refs };
    let Some(task) = close(tasks, task_id, fact.status, &output, at) else { return };
    // What was put aside while it ran is tried again when it goes on.
    if task.paused_from.is_some() && fact.next_attempt == NextAttempt::Policy {
        task.paused_from = Some(TaskStatus::Retrying);
    }
    keep_error(task, &fact.error);
}

struct Output<'a> {
    refs: &'a [String],
    checkpoints: &'a [String],
}

fn close<'a>(
    tasks: &'a mut Tasks,
    task_id: &TaskId,
    status: AttemptStatus,
    output: &Output<'_>,
    at: Timestamp,
) -> Option<&'a mut Task> {
    let attempt = tasks.get(task_id)?.row.attempt.as_ref()?;
    let (run_id, turn_id) = (attempt.run_id.clone(), attempt.turn_id.clone());
    tasks.runs.remove(&run_id);
    if let Some(turn_id) = turn_id {
        tasks.turns.remove(&turn_id);
    }
    let task = tasks.get_mut(task_id)?;
    task.lease = None;
    (task.ready_since, task.ready_sequence) = (None, 0);
    task.due.cancel = None;
    clock::stop(task);
    let attempt = task.row.attempt.as_mut()?;
    attempt.status = status;
    attempt.ended_at = Some(at);
    attempt.output_refs.extend_from_slice(output.refs);
    attempt.checkpoint_refs.extend_from_slice(output.checkpoints);
    Some(task)
}

fn keep_error(task: &mut Task, error: &Failure) {
    task.row.last_error = Some(error.clone());
    if let Some(attempt) = &mut task.row.attempt {
        attempt.last_error = Some(error.clone());
    }
}

/// Where an attempt may be carried on; the newest of them are kept.
pub(super) fn checkpoint(task: &mut Task, scope: &Scope, checkpoints: &[String]) {
    let its_own = |attempt: &&mut Attempt| attempt.is_open() && scope.run_id.as_ref() == Some(&attempt.run_id);
    let Some(attempt) = task.row.attempt.as_mut().filter(its_own) else { return };
    for checkpoint in checkpoints {
        attempt.checkpoint_refs.retain(|known| known != checkpoint);
        attempt.checkpoint_refs.push(checkpoint.clone());
    }
    let over = attempt.checkpoint_refs.len().saturating_sub(CHECKPOINTS_KEPT_MAX);
    attempt.checkpoint_refs.drain(..over);
}

/// How many checkpoints an attempt keeps.
const CHECKPOINTS_KEPT_MAX: usize = 32;
