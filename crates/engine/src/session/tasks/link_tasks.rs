//! `link_tasks`: an edge of the graph. Edges between tasks are recorded in one direction, whichever way they were said.

use factum_model::Refusal;
use factum_model::commands::{LinkTasks, LinkTasksResult};
use factum_model::events::{EdgeChange, TaskDependencyUpdated};
use factum_model::id::{SubagentId, TaskId};
use factum_model::task::*;

use super::create_task::blocked;
use super::draft::Draft;
use super::fields::{check_artifacts, check_text};
use super::graph::{cancelled_above, subtree, waits_for};
use super::helped::require_takes_helpers;
use super::moves::may_move;
use crate::context::{Context, Decision, check};
use crate::session::state::SessionState;
use crate::session::subagents::{is_at_rest, subagent_record};

/// What the index says before an edge is made.
#[derive(Clone, Copy, Default)]
pub struct Found<'a> {
    /// The edge's row, if there is one that is not removed: linking again changes nothing.
    pub edge: Option<&'a Edge>,
    /// Whether the run, thread or child agent it points at is or was one of the session.
    pub target: bool,
}

pub fn link_tasks(
    state: &SessionState,
    recalled: &[TaskRow],
    found: Found<'_>,
    command: &LinkTasks,
    context: &mut Context<'_>,
) -> Result<Decision<LinkTasksResult>, Refusal> {
    check_text("reason", command.reason.as_deref(), context.limits)?;
    let mut draft = Draft::of(state, recalled, context)?;
    let (from, to, relationship) = direction(&command.from, &command.to, command.relationship)?;
    match relationship {
        _ if found.edge.is_some() => {
            draft.peek(&from)?;
        }
        Relationship::Parent => link_parent(&mut draft, &from, &to, command)?,
        Relationship::Blocks => link_blocker(&mut draft, &from, &to, command)?,
        Relationship::SpawnedSubagent => link_subagent(&mut draft, &from, &to, found, command)?,
        _ => link_other(&mut draft, &from, &to, relationship, found, command)?,
    }
    Ok(draft.finish(|draft| LinkTasksResult { sequence: draft.sequence() }))
}

/// An edge as it is recorded: the parent, the blocker and the task itself stand on the left.
pub(super) fn direction(
    from: &TaskId,
    to: &str,
    relationship: Relationship,
) -> Result<(TaskId, String, Relationship), Refusal> {
    let task = || to.parse::<TaskId>().map_err(|error| Refusal::invalid(format!("to: {error}")));
    match relationship {
        Relationship::Child => Ok((task()?, from.as_str().to_owned(), Relationship::Parent)),
        Relationship::BlockedBy => Ok((task()?, from.as_str().to_owned(), Relationship::Blocks)),
        Relationship::Parent | Relationship::Blocks | Relationship::SourceTask => {
            task().map(|to| (from.clone(), to.as_str().to_owned(), relationship))
        }
        _ => {
            check("edge_to_bytes", to.len(), TO_BYTES_MAX)?;
            if to.is_empty() || to.bytes().any(|byte| byte < b' ') {
                return Err(Refusal::invalid("to names what the edge points at"));
            }
            Ok((from.clone(), to.to_owned(), relationship))
        }
    }
}

/// The longest name an edge points at: it is part of a key.
const TO_BYTES_MAX: usize = 200;

fn link_parent(draft: &mut Draft<'_, '_>, from: &TaskId, to: &str, command: &LinkTasks) -> Result<(), Refusal> {
    let to: TaskId = to.parse().map_err(|_| Refusal::not_found())?;
    let (parent, child) = draft.require_both(from, &to)?;
    if child.row.parent_task_id.as_ref() == Some(from) {
        return Ok(());
    }
    if let Some(parent) = &child.row.parent_task_id {
        return Err(
            Refusal::conflict("the task has a parent already; unlink it first").with("parent_task_id", parent.as_str())
        );
    }
    if !parent.is_open() {
        return Err(Refusal::precondition("the parent has ended").with("status", parent.row.status.as_str()));
    }
    if let Some(cancelled) = cancelled_above(&draft.tasks, from) {
        return Err(Refusal::precondition("no task is added below one that is being cancelled")
            .with("cancelled_task_id", cancelled.as_str()));
    }
    // A parent waits for its children, so a child must not wait for it.
    if from == &to || waits_for(&draft.tasks, &to, from) {
        return Err(cycle(from, &to));
    }
    room(draft, &parent.row)?;
    room(draft, &child.row)?;
    let below = subtree(&draft.tasks, &to);
    check("subtree_tasks", below.len(), SUBTREE_MAX)?;
    let depth = parent.above as usize + 1 + height(draft, &to);
    check("task_depth", depth, draft.context.limits.task_depth_max)?;
    let reason = command.reason.clone();
    add_edge(draft, from, to.as_str(), Relationship::Parent, EdgeStatus::Active, reason, EdgeChange::Added);
    Ok(())
}

/// How many tasks may change their root in one commit.
const SUBTREE_MAX: usize = 1_000;

/// How many levels a task and what is open below it take.
fn height(draft: &Draft<'_, '_>, task_id: &TaskId) -> usize {
    let mut level = vec![task_id.clone()];
    let mut height = 0;
    while !level.is_empty() {
        height += 1;
        level =
            level.iter().flat_map(|task_id| draft.tasks.children.get(task_id).cloned().unwrap_or_default()).collect();
    }
    height
}

fn link_blocker(draft: &mut Draft<'_, '_>, from: &TaskId, to: &str, command: &LinkTasks) -> Result<(), Refusal> {
    let to: TaskId = to.parse().map_err(|_| Refusal::not_found())?;
    let (blocker, task) = draft.require_both(from, &to)?;
    if task.blockers.contains_key(from) {
        return Ok(());
    }
    if !task.is_open() || task.attempt_count() > 0 {
        return Err(Refusal::precondition("only a task that has not begun can be made to wait")
            .with("status", task.row.status.as_str()));
    }
    refuse_cycle(draft, from, &to)?;
    room(draft, &blocker.row)?;
    room(draft, &task.row)?;
    let done = blocker.row.status == TaskStatus::Completed;
    let status = if done { EdgeStatus::Satisfied } else { EdgeStatus::Active };
    add_edge(draft, from, to.as_str(), Relationship::Blocks, status, command.reason.clone(), EdgeChange::Added);
    // A draft has not asked to begin, and what was put aside stays there: it is blocked once it goes on.
    let asleep = matches!(task.row.status, TaskStatus::Draft | TaskStatus::Paused);
    if !done && !asleep && may_move(task.row.status, TaskStatus::Blocked) {
        blocked(draft, &to);
    }
    Ok(())
}

fn link_other(
    draft: &mut Draft<'_, '_>,
    from: &TaskId,
    to: &str,
    relationship: Relationship,
    found: Found<'_>,
    command: &LinkTasks,
) -> Result<(), Refusal> {
    let known = match relationship {
        Relationship::SourceTask => {
            let source: TaskId = to.parse().map_err(|_| Refusal::not_found())?;
            draft.peek(&source).map(|_| true)?
        }
        Relationship::SourceAttempt => found.target,
        Relationship::AssignedThread => {
            found.target || draft.state.threads.iter().any(|thread| thread.thread_id.as_str() == to)
        }
        // Artifacts and evidence may be kept anywhere.
        _ => true,
    };
    if !known {
        return Err(Refusal::not_found());
    }
    let task = draft.require(from)?;
    let known = match relationship {
        Relationship::ProducedArtifact => task.row.artifacts.iter().any(|name| name == to),
        Relationship::Evidence => task.row.evidence_refs.iter().any(|name| name == to),
        _ => false,
    };
    if known {
        return Ok(());
    }
    room(draft, &task.row)?;
    if matches!(relationship, Relationship::ProducedArtifact | Relationship::Evidence) {
        check_artifacts(&task.row, [to], draft.context.limits)?;
    }
    add_edge(draft, from, to, relationship, EdgeStatus::Active, command.reason.clone(), EdgeChange::Added);
    Ok(())
}

/// A child agent of the session works for the task from here on, as one that was spawned for it. One at rest, or closed, has done
/// so.
fn link_subagent(
    draft: &mut Draft<'_, '_>,
    from: &TaskId,
    to: &str,
    found: Found<'_>,
    command: &LinkTasks,
) -> Result<(), Refusal> {
    let subagent_id: SubagentId = to.parse().map_err(|_| Refusal::not_found())?;
    let record = subagent_record(draft.state, &subagent_id);
    if record.is_none() && !found.target {
        return Err(Refusal::not_found());
    }
    let row = draft.require(from)?.row;
    let rests = record.as_ref().is_none_or(|record| is_at_rest(record.status));
    if !rests {
        require_takes_helpers(draft.state, std::slice::from_ref(&row), Some(from))?;
    }
    let others = draft.tasks.helpers.agents.get(&subagent_id).filter(|agent| agent.task_id != *from);
    if let Some(other) = others {
        return Err(Refusal::conflict("the child agent works for another task; unlink it there first")
            .with("task_id", other.task_id.as_str()));
    }
    room(draft, &row)?;
    let status = if rests { EdgeStatus::Satisfied } else { EdgeStatus::Active };
    let mut scope = draft.scope(from).subagent_id(&subagent_id);
    scope.thread_id = record.map(|record| record.thread_id);
    let fact = edge_changed(draft, from, to, Relationship::SpawnedSubagent, status, &command.reason, EdgeChange::Added);
    draft.push(scope, fact);
    Ok(())
}

pub(super) fn room(draft: &Draft<'_, '_>, row: &TaskRow) -> Result<(), Refusal> {
    check("task_edges", row.edges as usize + 1, draft.context.limits.task_edges_max)
}

/// Refuses that `to` waits for `from` where `from` waits for `to` already.
pub(super) fn refuse_cycle(draft: &Draft<'_, '_>, from: &TaskId, to: &TaskId) -> Result<(), Refusal> {
    if from == to || waits_for(&draft.tasks, from, to) {
        return Err(cycle(from, to));
    }
    Ok(())
}

fn cycle(from: &TaskId, to: &TaskId) -> Refusal {
    Refusal::conflict("this edge closes a cycle: each would wait for the other")
        .with("from", from.as_str())
        .with("to", to.as_str())
        .with("cause", "cycle")
}

/// Records a change of an edge. The fact is about the task that the edge changes most: the one that waits, the child.
pub(super) fn add_edge(
    draft: &mut Draft<'_, '_>,
    from: &TaskId,
    to: &str,
    relationship: Relationship,
    status: EdgeStatus,
    reason: Option<String>,
    change: EdgeChange,
) {
    let about = match relationship {
        Relationship::Parent | Relationship::Blocks => to.parse().unwrap_or_else(|_| from.clone()),
        _ => from.clone(),
    };
    let fact = edge_changed(draft, from, to, relationship, status, &reason, change);
    draft.push(draft.scope(&about), fact);
}

fn edge_changed(
    draft: &Draft<'_, '_>,
    from: &TaskId,
    to: &str,
    relationship: Relationship,
    status: EdgeStatus,
    reason: &Option<String>,
    change: EdgeChange,
) -> TaskDependencyUpdated {
    let (now, reason) = (draft.context.now, reason.clone());
    let edge =
        Edge { from: from.clone(), to: to.to_owned(), relationship, status, reason, created_at: now, updated_at: now };
    TaskDependencyUpdated { change, changed_by: draft.context.caller.to_owned(), edge }
}

/// The edge a command means, as it is recorded: for finding its row.
pub fn edge_of(from: &TaskId, to: &str, relationship: Relationship) -> Result<(TaskId, String, Relationship), Refusal> {
    direction(from, to, relationship)
}
