//! `create_task`: a task, on its own or below another one, at once or behind others.

use std::collections::BTreeSet;

use factum_model::commands::{CreateTask, CreateTaskResult};
use factum_model::events::{EdgeChange, TaskBlocked, TaskCreated};
use factum_model::id::{SessionId, TaskId};
use factum_model::task::*;
use factum_model::value::Metadata;
use factum_model::{ErrorCode, NewEvent, Refusal};

use super::draft::Draft;
use super::fields;
use super::graph::cancelled_above;
use super::link_tasks::{add_edge, refuse_cycle, room};
use super::start_task::{Start, start};
use super::state::{Task, is_open};
use crate::context::{Context, Decision, check};
use crate::session::create_session;
use crate::session::state::SessionState;

/// `session_id` is the stream the shell chose: the named session, or a new one. `agent` is the one a new session answers
/// with. `recalled` are the rows of the tasks that the command names.
pub fn create_task(
    state: &SessionState,
    session_id: &SessionId,
    agent: &str,
    recalled: &[TaskRow],
    command: &CreateTask,
    context: &mut Context<'_>,
) -> Result<Decision<CreateTaskResult>, Refusal> {
    check_fields(command, context)?;
    let status = initial_status(command)?;
    let task_id = command.task_id.clone().unwrap_or_else(|| context.task_id());
    let mut events: Vec<NewEvent> = Vec::new();
    if state.shell.is_none() {
        let title = command.title.clone().or_else(|| Some(crate::session::text::clip(&command.objective, 80)));
        create_session::begin(session_id, agent, title, Metadata::new(), context, &mut events);
    }
    let mut draft = Draft::begin(state, session_id, recalled, events, context);
    match draft.peek(&task_id) {
        Ok(_) => {
            return Err(Refusal::conflict("a task with this id exists already").with("task_id", task_id.as_str()));
        }
        Err(refusal) if refusal.code != ErrorCode::NotFound => return Err(refusal),
        Err(_) => {}
    }
    check_place(state, command)?;
    check("open_tasks", draft.tasks.in_memory() + 1, draft.context.limits.open_tasks_max)?;
    let root = place(&mut draft, command)?;
    draft.push(scope(&draft, &task_id, command), created(&draft, status, root, command));
    let waits = block(&mut draft, &task_id, command)?;
    if waits && status != TaskStatus::Draft {
        blocked(&mut draft, &task_id);
    } else if status == TaskStatus::Queued {
        start(&mut draft, &task_id, Start::default())?;
    }
    let session_id = session_id.clone();
    Ok(draft.finish(|draft| CreateTaskResult {
        status: draft.status(&task_id),
        task_id,
        session_id,
        sequence: draft.sequence(),
    }))
}

/// Records that a task waits for others, and for which.
pub(super) fn blocked(draft: &mut Draft<'_, '_>, task_id: &TaskId) {
    let (blockers, reason) = (open_blockers(draft, task_id), Some(behind(draft, task_id)));
    draft.push(draft.scope(task_id), TaskBlocked { status: TaskStatus::Blocked, reason, blockers });
}

/// Why a task is blocked that waits for others. One that waits for what ended without completing does not go on by itself.
fn behind(draft: &Draft<'_, '_>, task_id: &TaskId) -> String {
    let blockers = draft.tasks.get(task_id).map(|task| &task.blockers);
    // What is open is in the state, so one that left it ended.
    let ended = |blocker: &&TaskId| draft.tasks.get(blocker).is_none_or(|task| !task.is_open());
    let Some(blocker) = blockers.and_then(|blockers| blockers.keys().find(ended)) else {
        return "waits for other tasks to complete".to_owned();
    };
    let (how, retry) = match draft.peek(blocker).map(|row| row.status) {
        Ok(TaskStatus::Failed) => ("failed", true),
        Ok(TaskStatus::TimedOut) => ("timed out", true),
        Ok(TaskStatus::Cancelled) => ("was cancelled", false),
        _ => ("ended without completing", false),
    };
    let retry = if retry { "retry_task tries that again, " } else { "" };
    format!("waits for {blocker}, which {how}; {retry}unlink_tasks lets this one go on without it")
}

fn check_fields(command: &CreateTask, context: &Context<'_>) -> Result<(), Refusal> {
    let limits = context.limits;
    if command.objective.trim().is_empty() {
        return Err(Refusal::invalid("objective must say what the task is for"));
    }
    limits.check_title(command.title.as_deref())?;
    limits.check_metadata("metadata_bytes", &command.metadata)?;
    check("task_objective_chars", command.objective.chars().count(), limits.task_objective_chars_max)?;
    check("task_edges", command.blocked_by.len(), limits.task_edges_max)?;
    crate::session::workers::check_execution(&command.execution)?;
    fields::check_policy(command.retry_policy.as_ref(), limits)?;
    for (field, name) in [
        ("owner", &command.owner),
        ("assignee", &command.assignee),
        ("task_kind", &command.task_kind),
        ("task_family", &command.task_family),
        ("agent", &command.execution.agent),
    ] {
        fields::check_name(field, name.as_deref(), limits)?;
    }
    fields::check_refs("input_refs", &command.input_refs, limits)?;
    fields::check_acceptance(command.acceptance.as_ref(), limits)?;
    fields::check_profile(command.task_profile.as_ref(), limits)?;
    fields::check_values([command.scope.as_ref(), command.constraints.as_ref()], limits)
}

fn initial_status(command: &CreateTask) -> Result<TaskStatus, Refusal> {
    match command.status {
        None => Ok(TaskStatus::Accepted),
        Some(status @ (TaskStatus::Draft | TaskStatus::Accepted | TaskStatus::Queued)) => Ok(status),
        Some(status) => {
            Err(Refusal::invalid("a new task is draft, accepted or queued").with("status", status.as_str()))
        }
    }
}

/// The thread and the turn it is said to come from are the session's. A thread remembers the turn it works on, those that
/// wait, and the last that ended.
fn check_place(state: &SessionState, command: &CreateTask) -> Result<(), Refusal> {
    let mut threads = state.threads.iter().filter(|thread| match &command.thread_id {
        Some(thread_id) => thread.thread_id == *thread_id,
        None => true,
    });
    let known = match &command.turn_id {
        Some(turn_id) => threads.any(|thread| thread.remembers(turn_id)),
        None => command.thread_id.is_none() || threads.next().is_some(),
    };
    if known { Ok(()) } else { Err(Refusal::not_found()) }
}

/// Where in the graph it goes: the root it belongs to, or none where it is its own.
fn place(draft: &mut Draft<'_, '_>, command: &CreateTask) -> Result<Option<TaskId>, Refusal> {
    let Some(parent) = &command.parent_task_id else { return Ok(None) };
    let Task { row: parent, above, .. } = draft.require(parent)?;
    if let Some(cancelled) = cancelled_above(&draft.tasks, &parent.task_id) {
        return Err(Refusal::precondition("no task is added below one that is being cancelled")
            .with("status", parent.status.as_str())
            .with("cancelled_task_id", cancelled.as_str()));
    }
    if !is_open(parent.status) {
        return Err(Refusal::precondition("the parent has ended").with("status", parent.status.as_str()));
    }
    check("task_edges", parent.edges as usize + 1, draft.context.limits.task_edges_max)?;
    check("task_depth", above as usize + 2, draft.context.limits.task_depth_max)?;
    Ok(Some(parent.root_task_id))
}

fn scope(draft: &Draft<'_, '_>, task_id: &TaskId, command: &CreateTask) -> factum_model::Scope {
    let mut scope = draft.scope(task_id);
    scope.thread_id.clone_from(&command.thread_id);
    scope.turn_id.clone_from(&command.turn_id);
    scope
}

fn created(draft: &Draft<'_, '_>, status: TaskStatus, root: Option<TaskId>, command: &CreateTask) -> TaskCreated {
    let command = command.clone();
    TaskCreated {
        status,
        requested_by: draft.context.caller.to_owned(),
        objective: command.objective,
        title: command.title,
        parent_task_id: command.parent_task_id,
        root_task_id: root,
        task_kind: command.task_kind,
        task_family: command.task_family,
        visibility: command.visibility.unwrap_or_default(),
        priority: command.priority.unwrap_or_default(),
        owner: command.owner,
        assignee: command.assignee,
        execution: command.execution,
        scope: command.scope,
        constraints: command.constraints,
        task_profile: command.task_profile,
        acceptance: command.acceptance,
        retry_policy: command.retry_policy,
        input_refs: command.input_refs,
        input_sequence: None,
        idempotency_key: command.idempotency_key,
        metadata: command.metadata,
    }
}

/// Records what it waits for. Says whether it waits for anything.
fn block(draft: &mut Draft<'_, '_>, task_id: &TaskId, command: &CreateTask) -> Result<bool, Refusal> {
    for blocker in command.blocked_by.iter().collect::<BTreeSet<_>>() {
        let row = draft.require(blocker)?.row;
        room(draft, &row)?;
        refuse_cycle(draft, blocker, task_id)?;
        let done = row.status == TaskStatus::Completed;
        let status = if done { EdgeStatus::Satisfied } else { EdgeStatus::Active };
        add_edge(draft, blocker, task_id.as_str(), Relationship::Blocks, status, None, EdgeChange::Added);
    }
    Ok(draft.tasks.get(task_id).is_some_and(|task| !task.blockers.is_empty()))
}

/// What a task waits for, as it is told.
pub(super) fn open_blockers(draft: &Draft<'_, '_>, task_id: &TaskId) -> Vec<Blocker> {
    let task = draft.tasks.get(task_id);
    let blocker = |id: &TaskId| Blocker {
        kind: BlockerKind::Dependency,
        r#ref: Some(id.as_str().to_owned()),
        detail: draft.peek(id).ok().map(|row| row.status.as_str().to_owned()),
    };
    task.into_iter().flat_map(|task| task.blockers.keys().take(BLOCKERS_NAMED_MAX)).map(blocker).collect()
}

/// How many blockers a fact or a refusal names; the edges have them all.
const BLOCKERS_NAMED_MAX: usize = 20;
