//! What readers see of tasks: the record of one, and the snapshot of a session's.

use std::collections::BTreeMap;

use factum_model::id::TaskId;
use factum_model::read::{TaskEdge, TaskSnapshot, TaskSummary};
use factum_model::task::*;
use factum_model::{Event, Fact};

use super::apply::apply;
use super::state::{Spilled, Task, Tasks, is_open};
use crate::session::state::SessionState;

/// The record of a task: its row, its older attempts and its edges.
pub fn task_record(row: TaskRow, mut older: Vec<Attempt>, edges: Vec<Edge>) -> TaskRecord {
    let current_run_id = row.attempt.as_ref().filter(|attempt| attempt.is_open()).map(|attempt| attempt.run_id.clone());
    older.extend(row.attempt);
    TaskRecord {
        task_id: row.task_id,
        parent_task_id: row.parent_task_id,
        root_task_id: row.root_task_id,
        session_id: row.session_id,
        thread_id: row.thread_id,
        turn_id: row.turn_id,
        title: row.title,
        objective: row.objective,
        task_kind: row.task_kind,
        task_family: row.task_family,
        visibility: row.visibility,
        status: row.status,
        native_status: row.native_status,
        status_reason: row.status_reason,
        priority: row.priority,
        requested_by: row.requested_by,
        owner: row.owner,
        assignee: row.assignee,
        execution: row.execution,
        scope: row.scope,
        constraints: row.constraints,
        task_profile: row.task_profile,
        acceptance: row.acceptance,
        retry_policy: row.retry_policy,
        progress: row.progress,
        current_run_id,
        attempts: older,
        relationships_total: row.edges,
        relationships: edges,
        artifacts: row.artifacts,
        evidence_refs: row.evidence_refs,
        delivery_state: row.delivery_state,
        last_error: row.last_error,
        metadata: row.metadata,
        created_at: row.created_at,
        updated_at: row.updated_at,
        started_at: row.started_at,
        ended_at: row.ended_at,
        as_of_sequence: row.sequence,
    }
}

/// One task folded alone, out of the events of its session: how it stood at some sequence.
#[derive(Default)]
pub struct TaskHistory {
    tasks: Tasks,
    older: Vec<Attempt>,
    edges: Vec<Edge>,
    /// Who is below whom in the whole session: the root of a task changes without a fact about it.
    parents: BTreeMap<TaskId, TaskId>,
}

impl TaskHistory {
    /// Takes in an event, whatever it is about.
    pub fn apply(&mut self, task_id: &TaskId, event: &Event) {
        let edge = edge_of(event);
        if let Some(edge) = edge.as_ref().filter(|edge| edge.relationship == Relationship::Parent) {
            self.place(edge);
        }
        if let Some(edge) = edge.filter(|edge| edge.from == *task_id || edge.to == task_id.as_str()) {
            let same = |known: &Edge| {
                known.from == edge.from && known.to == edge.to && known.relationship == edge.relationship
            };
            self.edges.retain(|known| !same(known));
            if edge.status != EdgeStatus::Removed {
                self.edges.push(edge);
            }
        }
        if event.scope.task_id.as_ref() != Some(task_id) {
            return;
        }
        apply(&mut self.tasks, event);
        for spilled in &self.tasks.spilled.0 {
            if let Spilled::Attempt(_, attempt) = spilled {
                self.older.push((**attempt).clone());
            }
        }
    }

    fn place(&mut self, edge: &Edge) {
        let Ok(child) = edge.to.parse() else { return };
        match edge.status {
            EdgeStatus::Removed => self.parents.remove(&child),
            _ => self.parents.insert(child, edge.from.clone()),
        };
    }

    /// The record, if the task existed by then.
    pub fn record(self, task_id: &TaskId) -> Option<TaskRecord> {
        let mut row = self.tasks.get(task_id)?.row.clone();
        row.edges = self.edges.len() as u64;
        row.root_task_id = std::iter::successors(Some(task_id), |below| self.parents.get(*below)).last()?.clone();
        Some(task_record(row, self.older, self.edges))
    }
}

fn edge_of(event: &Event) -> Option<Edge> {
    match &event.fact {
        Fact::TaskDependencyUpdated(fact) => Some(fact.edge.clone()),
        Fact::TaskCreated(fact) => Some(Edge {
            from: fact.parent_task_id.clone()?,
            to: event.scope.task_id.as_ref()?.as_str().to_owned(),
            relationship: Relationship::Parent,
            status: EdgeStatus::Active,
            reason: None,
            created_at: event.timestamp,
            updated_at: event.timestamp,
        }),
        _ => None,
    }
}

/// What goes on among a session's tasks; with a root, only in its graph. `limit` bounds each list.
pub fn task_snapshot(
    state: &SessionState,
    root: Option<&TaskId>,
    limit: usize,
) -> Result<TaskSnapshot, factum_model::Refusal> {
    let shell = crate::session::require_session(state)?;
    let tasks = &state.tasks;
    let mut snapshot = TaskSnapshot {
        session_id: shell.session_id.clone(),
        root_task_id: root.cloned(),
        counts: tasks.counts.iter().map(|(status, count)| (*status, *count)).collect(),
        total: tasks.counts.values().sum(),
        active: Vec::new(),
        waiting: Vec::new(),
        blocked: Vec::new(),
        failed: Vec::new(),
        lost: Vec::new(),
        recent_terminal: Vec::new(),
        graph: Vec::new(),
        truncated: false,
        as_of_sequence: state.sequence,
    };
    let belongs = |task: &Task| root.is_none_or(|root| task.row.root_task_id == *root || task.row.task_id == *root);
    let recent = tasks.ended.iter().rev().filter_map(|task_id| tasks.get(task_id));
    let open = tasks.tasks.values().map(|task| &**task).filter(|task| task.is_open());
    let mut shown = 0;
    for task in open.chain(recent).filter(|task| belongs(task)) {
        let list = match task.row.status {
            TaskStatus::Failed => &mut snapshot.failed,
            status if !is_open(status) => &mut snapshot.recent_terminal,
            TaskStatus::Lost | TaskStatus::Stale | TaskStatus::Unknown => &mut snapshot.lost,
            TaskStatus::Blocked => &mut snapshot.blocked,
            TaskStatus::WaitingInput
            | TaskStatus::WaitingPermission
            | TaskStatus::WaitingResource
            | TaskStatus::Paused => &mut snapshot.waiting,
            _ => &mut snapshot.active,
        };
        shown += 1;
        // A graph of a hundred thousand is not walked to its end for a page of it.
        if shown > LOOKED_AT_MAX {
            snapshot.truncated = true;
            break;
        }
        if list.len() == limit {
            snapshot.truncated = true;
            continue;
        }
        list.push(summary(tasks, task));
        edges(task, &mut snapshot.graph);
    }
    Ok(snapshot)
}

/// How many tasks a snapshot looks at.
const LOOKED_AT_MAX: usize = 2_000;

fn summary(tasks: &Tasks, task: &Task) -> TaskSummary {
    let row = &task.row;
    TaskSummary {
        task_id: row.task_id.clone(),
        parent_task_id: row.parent_task_id.clone(),
        root_task_id: row.root_task_id.clone(),
        title: row.title.clone(),
        objective: row.objective.clone(),
        status: row.status,
        status_reason: row.status_reason.clone(),
        priority: row.priority,
        assignee: row.assignee.clone(),
        current_attempt: row.attempt.clone(),
        attempt_count: task.attempt_count(),
        progress: row.progress.clone(),
        blocked_by: task.blockers.keys().take(BLOCKERS_SHOWN_MAX).cloned().collect(),
        open_children: tasks.open_children(&row.task_id) as u64,
        delivery_state: row.delivery_state,
        last_error: row.last_error.clone(),
        updated_at: row.updated_at,
    }
}

/// How many blockers of one task a snapshot names.
const BLOCKERS_SHOWN_MAX: usize = 20;

fn edges(task: &Task, graph: &mut Vec<TaskEdge>) {
    let to = &task.row.task_id;
    let edge = |from: &TaskId, relationship| TaskEdge { from: from.clone(), to: to.clone(), relationship };
    graph.extend(task.row.parent_task_id.as_ref().map(|parent| edge(parent, Relationship::Parent)));
    graph.extend(task.blockers.keys().take(BLOCKERS_SHOWN_MAX).map(|blocker| edge(blocker, Relationship::Blocks)));
}
