//! The fold of tasks: how each fact changes what is remembered of them. Total, like all of `apply`.

use factum_model::events::*;
use factum_model::id::TaskId;
use factum_model::task::*;
use factum_model::{Event, Fact, Scope, Timestamp};

use super::attempts;
use super::clock;
use super::endings::{end, reopen, retire};
use super::graph;
use super::helpers;
use super::state::{Order, Task, Tasks, is_open};
use crate::session::owners::is_of_turn;

/// Applies one event.
pub(in super::super) fn apply(tasks: &mut Tasks, event: &Event) {
    apply_fact(tasks, &event.scope, &event.fact, event.timestamp, event.sequence);
}

/// Applies a fact, also one that has not been recorded yet.
pub(super) fn apply_fact(tasks: &mut Tasks, scope: &Scope, fact: &Fact, at: Timestamp, sequence: u64) {
    if !tasks.spilled.0.is_empty() {
        tasks.spilled.0.clear();
    }
    helpers::apply(tasks, scope, fact);
    let Some(task_id) = scope.task_id.as_ref().filter(|_| !is_of_turn(scope, fact)) else {
        return heard(tasks, scope, at);
    };
    match fact {
        Fact::TaskCreated(fact) => create(tasks, task_id, scope, fact, at, sequence),
        Fact::TaskRecalled(fact) => recall(tasks, &fact.record),
        Fact::TaskDependencyUpdated(fact) => graph::apply_edge(tasks, scope, fact, at),
        Fact::TaskAttemptStarted(fact) => attempts::start(tasks, task_id, scope, fact, at, sequence),
        Fact::TaskDelegated(fact) => attempts::delegate(tasks, task_id, fact, at),
        // A run of a job's item is not the task's own.
        Fact::RunReleased(_) if scope.job_id.is_none() => attempts::release(tasks, task_id, at, sequence),
        Fact::TaskAttemptCompleted(fact) => attempts::complete(tasks, task_id, fact, at),
        Fact::TaskAttemptFailed(fact) => attempts::fail(tasks, task_id, fact, at),
        fact => {
            change(tasks, task_id, scope, fact, at);
            spread(tasks, task_id, fact);
        }
    }
    note(tasks, task_id, scope, at, sequence);
}

/// When it last changed, and that its run is alive.
fn note(tasks: &mut Tasks, task_id: &TaskId, scope: &Scope, at: Timestamp, sequence: u64) {
    let Some(task) = tasks.get_mut(task_id) else { return };
    task.row.updated_at = at;
    task.row.sequence = sequence;
    let reports = |attempt: &&Attempt| scope.run_id.as_ref() == Some(&attempt.run_id);
    if task.open_run().filter(reports).is_some() {
        clock::heard(task, at);
    }
}

/// A fact of the turn that an agent does a task in is a sign of life.
fn heard(tasks: &mut Tasks, scope: &Scope, at: Timestamp) {
    let Some(task_id) = tasks.of_turn(scope.turn_id.as_ref()).map(|task| task.row.task_id.clone()) else { return };
    if let Some(task) = tasks.get_mut(&task_id) {
        clock::heard(task, at);
    }
}

fn create(tasks: &mut Tasks, task_id: &TaskId, scope: &Scope, fact: &TaskCreated, at: Timestamp, sequence: u64) {
    let Some(session_id) = scope.session_id.clone() else { return };
    let row = TaskRow {
        task_id: task_id.clone(),
        parent_task_id: fact.parent_task_id.clone(),
        root_task_id: fact.root_task_id.clone().unwrap_or_else(|| task_id.clone()),
        session_id,
        thread_id: scope.thread_id.clone(),
        turn_id: scope.turn_id.clone(),
        title: fact.title.clone(),
        objective: fact.objective.clone(),
        task_kind: fact.task_kind.clone(),
        task_family: fact.task_family.clone(),
        visibility: fact.visibility,
        status: fact.status,
        native_status: None,
        status_reason: None,
        priority: fact.priority,
        requested_by: fact.requested_by.clone(),
        owner: fact.owner.clone(),
        assignee: fact.assignee.clone(),
        execution: fact.execution.clone(),
        scope: fact.scope.clone(),
        constraints: fact.constraints.clone(),
        task_profile: fact.task_profile.clone(),
        acceptance: fact.acceptance.clone(),
        retry_policy: fact.retry_policy.clone(),
        input_refs: fact.input_refs.clone(),
        input_sequence: fact.input_sequence,
        progress: None,
        attempt: None,
        recoveries: 0,
        edges: 0,
        artifacts: Vec::new(),
        artifact_names: Vec::new(),
        evidence_refs: Vec::new(),
        delivery_state: DeliveryState::Pending,
        last_error: None,
        metadata: fact.metadata.clone(),
        created_at: at,
        updated_at: at,
        started_at: None,
        ended_at: None,
        created_sequence: sequence,
        sequence,
    };
    stands(tasks, fact.status);
    insert(tasks, row);
    if let Some(parent) = &fact.parent_task_id {
        graph::adopt(tasks, parent, task_id);
    }
}

/// Brings a task that had left back as it was.
fn recall(tasks: &mut Tasks, row: &TaskRow) {
    let task_id = row.task_id.clone();
    insert(tasks, row.clone());
    if !is_open(row.status) && tasks.open_below(&task_id) == 0 {
        retire(tasks, task_id);
    } else {
        graph::mark_cancelled(tasks, &task_id);
    }
}

fn insert(tasks: &mut Tasks, row: TaskRow) {
    tasks.tasks.insert(row.task_id.clone(), std::sync::Arc::new(Task::at_rest(row)));
}

/// What a fact says about the task itself.
fn change(tasks: &mut Tasks, task_id: &TaskId, scope: &Scope, fact: &Fact, at: Timestamp) {
    let Some(task) = tasks.get_mut(task_id) else { return };
    let row = &mut task.row;
    let status = match fact {
        Fact::TaskAccepted(fact) => fact.status,
        Fact::TaskQueued(fact) => {
            row.status_reason = fact.reason.clone();
            fact.status
        }
        Fact::TaskStarted(fact) => {
            row.started_at.get_or_insert(at);
            if fact.status != row.status {
                row.status_reason = None;
            }
            fact.native_status.clone_into_some(&mut row.native_status);
            attempts::turn_began(task, at);
            fact.status
        }
        Fact::TaskUpdated(fact) => return update(tasks, task_id, fact, at),
        Fact::TaskProgress(fact) => {
            fact.native_status.clone_into_some(&mut row.native_status);
            return merge(row, &fact.progress);
        }
        Fact::TaskWaiting(fact) => {
            row.status_reason = fact.reason.clone();
            fact.native_status.clone_into_some(&mut row.native_status);
            // Where its run says so, somebody is asked; an owner who says so may still be waited for in vain.
            if asks(fact.status) && task.open_run().is_some_and(|run| scope.run_id.as_ref() == Some(&run.run_id)) {
                clock::ask(task);
            }
            fact.status
        }
        Fact::TaskBlocked(fact) => {
            row.status_reason = fact.reason.clone();
            tasks.agenda.retell.remove(task_id);
            fact.status
        }
        // An order that only passes by on its way down changes nothing here.
        Fact::TaskPaused(fact) if fact.status == row.status => return,
        Fact::TaskResumed(fact) if fact.status == row.status => return,
        Fact::TaskCancelRequested(fact) if fact.status == row.status => return,
        Fact::TaskPaused(fact) => {
            task.paused_from = Some(fact.previous_status);
            clock::hold(task, at);
            task.row.status_reason = fact.reason.clone();
            fact.status
        }
        Fact::TaskResumed(fact) => {
            row.status_reason = fact.reason.clone();
            fact.status
        }
        Fact::TaskRetrying(fact) => {
            row.status_reason = fact.reason.clone();
            row.ended_at = None;
            task.due.retry = fact.retry_at;
            fact.status
        }
        Fact::TaskCancelRequested(fact) => {
            row.status_reason = fact.reason.clone();
            task.due.retry = None;
            task.due.cancel = fact.settle_by;
            fact.status
        }
        Fact::TaskCancelled(fact) => {
            row.status_reason = fact.reason.clone().or(row.status_reason.take());
            fact.status
        }
        Fact::TaskTimedOut(fact) => {
            row.last_error = Some(fact.error.clone());
            fact.status
        }
        Fact::TaskFailed(fact) => {
            row.last_error = Some(fact.error.clone());
            fact.native_status.clone_into_some(&mut row.native_status);
            fact.status
        }
        Fact::TaskLost(fact) => {
            row.status_reason = Some(fact.reason.clone());
            fact.status
        }
        Fact::TaskCompleted(fact) => {
            complete(row, fact);
            fact.status
        }
        Fact::TaskArchived(fact) => {
            row.status_reason = fact.reason.clone();
            fact.status
        }
        Fact::RunStatus(fact) => return attempts::checkpoint(task, scope, &fact.checkpoints),
        Fact::ArtifactChanged(fact) => return artifact(row, scope, fact),
        _ => return,
    };
    set_status(tasks, task_id, status, at);
}

/// Takes over what somebody said, and keeps what they did not.
trait CloneIntoSome {
    fn clone_into_some(&self, target: &mut Self);
}

impl<T: Clone> CloneIntoSome for Option<T> {
    fn clone_into_some(&self, target: &mut Self) {
        if self.is_some() {
            target.clone_from(self);
        }
    }
}

fn update(tasks: &mut Tasks, task_id: &TaskId, fact: &TaskUpdated, at: Timestamp) {
    let Some(task) = tasks.get_mut(task_id) else { return };
    let row = &mut task.row;
    fact.native_status.clone_into_some(&mut row.native_status);
    fact.status_reason.clone_into_some(&mut row.status_reason);
    fact.title.clone_into_some(&mut row.title);
    if let Some(objective) = &fact.objective {
        row.objective.clone_from(objective);
    }
    row.visibility = fact.visibility.unwrap_or(row.visibility);
    row.priority = fact.priority.unwrap_or(row.priority);
    if let Some(state) = fact.delivery_state {
        deliver(row, state);
    }
    fact.owner.clone_into_some(&mut row.owner);
    fact.assignee.clone_into_some(&mut row.assignee);
    fact.scope.clone_into_some(&mut row.scope);
    fact.constraints.clone_into_some(&mut row.constraints);
    fact.task_profile.clone_into_some(&mut row.task_profile);
    fact.acceptance.clone_into_some(&mut row.acceptance);
    fact.retry_policy.clone_into_some(&mut row.retry_policy);
    if let Some(metadata) = &fact.metadata {
        row.metadata.clone_from(metadata);
    }
    if let Some(status) = fact.status {
        set_status(tasks, task_id, status, at);
    }
}

fn merge(row: &mut TaskRow, said: &Progress) {
    let progress = row.progress.get_or_insert_default();
    progress.phase = said.phase.or(progress.phase);
    progress.percent = said.percent.or(progress.percent);
    said.current_step.clone_into_some(&mut progress.current_step);
    said.summary.clone_into_some(&mut progress.summary);
    progress.counters.extend(said.counters.iter().map(|(name, count)| (name.clone(), *count)));
    for output in &said.output_refs {
        match progress.output_refs.iter_mut().find(|known| known.output_ref == output.output_ref) {
            Some(known) => known.offset = output.offset,
            None => progress.output_refs.push(output.clone()),
        }
    }
    if let Some(state) = said.delivery_state {
        progress.delivery_state = Some(state);
        row.delivery_state = state;
    }
}

/// The record says it twice, and the same.
fn deliver(row: &mut TaskRow, state: DeliveryState) {
    row.delivery_state = state;
    if let Some(said) = row.progress.as_mut().and_then(|progress| progress.delivery_state.as_mut()) {
        *said = state;
    }
}

fn complete(row: &mut TaskRow, fact: &TaskCompleted) {
    fact.native_status.clone_into_some(&mut row.native_status);
    deliver(row, fact.delivery_state);
    row.status_reason = fact.summary.clone();
    for artifact in &fact.artifacts {
        remember(&mut row.artifacts, Some(artifact.clone()));
    }
    for evidence in &fact.evidence_refs {
        remember(&mut row.evidence_refs, Some(evidence.clone()));
    }
    fact.acceptance.clone_into_some(&mut row.acceptance);
}

/// One entry for each artifact: what an agent here keeps is known by its id, which its edge leads to; what others report is
/// known by its name.
fn artifact(row: &mut TaskRow, scope: &Scope, fact: &ArtifactChanged) {
    let id = scope.turn_id.as_ref().and(scope.artifact_id.as_ref()).map(|id| id.as_str().to_owned());
    let (entry, name) = if id.is_some() { (id, fact.name.clone()) } else { (fact.name.clone(), None) };
    if fact.change == ArtifactChange::Deleted {
        row.artifacts.retain(|known| Some(known) != entry.as_ref());
        row.artifact_names.retain(|known| Some(known) != name.as_ref());
    } else {
        remember(&mut row.artifacts, entry);
        remember(&mut row.artifact_names, name);
    }
}

pub(super) fn remember(list: &mut Vec<String>, name: Option<String>) {
    if let Some(name) = name.filter(|name| !list.contains(name)) {
        list.push(name);
    }
}

/// Moves a task, and with it everything that depends on whether it is open.
fn set_status(tasks: &mut Tasks, task_id: &TaskId, status: TaskStatus, at: Timestamp) {
    let Some(task) = tasks.get_mut(task_id) else { return };
    let before = std::mem::replace(&mut task.row.status, status);
    if before == status {
        return;
    }
    if before == TaskStatus::Blocked {
        tasks.agenda.retell.remove(task_id);
    }
    let Some(task) = tasks.get_mut(task_id) else { return };
    if before == TaskStatus::Paused {
        task.paused_from = None;
        clock::go_on(task, at);
    }
    let at_work = matches!(status, TaskStatus::Running | TaskStatus::Preparing);
    if at_work && (asks(before) || before == TaskStatus::Paused) {
        clock::answered(task, at);
    }
    if let Some(count) = tasks.counts.get_mut(&before) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            tasks.counts.remove(&before);
        }
    }
    stands(tasks, status);
    graph::mark_cancelled(tasks, task_id);
    match (is_open(before), is_open(status)) {
        (true, false) => end(tasks, task_id, at),
        (false, true) => reopen(tasks, task_id),
        _ => {}
    }
}

/// One task more stands somewhere.
fn stands(tasks: &mut Tasks, status: TaskStatus) {
    match tasks.counts.get_mut(&status) {
        Some(count) => *count += 1,
        None => drop(tasks.counts.insert(status, 1)),
    }
}

/// Whether somebody has to say something.
fn asks(status: TaskStatus) -> bool {
    matches!(status, TaskStatus::WaitingInput | TaskStatus::WaitingPermission)
}

/// Puts on the agenda what an order asks of others, and strikes out what this fact does of it.
fn spread(tasks: &mut Tasks, task_id: &TaskId, fact: &Fact) {
    let (by, reason, propagation, origin) = match fact {
        Fact::TaskCancelRequested(fact) => (&fact.requested_by, &fact.reason, fact.propagation, &fact.origin_task_id),
        Fact::TaskPaused(fact) => (&fact.paused_by, &fact.reason, fact.propagation, &fact.origin_task_id),
        Fact::TaskResumed(fact) => (&fact.resumed_by, &fact.reason, fact.propagation, &fact.origin_task_id),
        _ => return,
    };
    let unbegun =
        matches!(fact, Fact::TaskCancelRequested(fact) if fact.ends_unbegun) && propagation == Propagation::None;
    let below = match propagation {
        Propagation::None => unbegun.then_some(Propagation::None),
        Propagation::Children => Some(Propagation::None),
        Propagation::Descendants => Some(Propagation::Descendants),
    };
    let children = tasks.children.get(task_id).filter(|_| below.is_some()).cloned().unwrap_or_default();
    let list = match fact {
        Fact::TaskCancelRequested(_) => &mut tasks.agenda.cancel,
        Fact::TaskPaused(_) => &mut tasks.agenda.pause,
        _ => &mut tasks.agenda.resume,
    };
    list.remove(task_id);
    let pauses = matches!(fact, Fact::TaskPaused(_));
    let order = Order {
        origin: origin.clone().unwrap_or_else(|| task_id.clone()),
        by: by.clone(),
        reason: reason.clone(),
        propagation: below.unwrap_or_default(),
        unbegun,
    };
    for child in &children {
        // An order that asks for more stays.
        if !unbegun || !list.contains_key(child) {
            list.insert(child.clone(), order.clone());
        }
    }
    if matches!(fact, Fact::TaskCancelRequested(_)) && below.is_some() && !unbegun {
        stop_helpers(tasks, task_id, &order);
    }
    // Whoever pauses means it: an older order to go on that is still on its way down stops where this one comes.
    if pauses {
        children.iter().chain([task_id]).for_each(|reached| drop(tasks.agenda.resume.remove(reached)));
    }
}

/// An order to cancel reaches whoever works for the task.
fn stop_helpers(tasks: &mut Tasks, task_id: &TaskId, order: &Order) {
    let (helpers, agenda) = (&tasks.helpers, &mut tasks.agenda);
    for (subagent_id, _) in helpers.agents_of(task_id) {
        agenda.close.insert(subagent_id.clone(), order.clone());
    }
    for (job_id, _) in helpers.jobs_of(task_id).filter(|(_, job)| !job.stopping) {
        agenda.stop.insert(job_id.clone(), order.clone());
    }
}
