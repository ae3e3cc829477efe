//! `link_tasks` and `unlink_tasks`: both look at the edge's row first.

use factum_engine::Context;
use factum_engine::session::subagents::{self, SubagentRow};
use factum_engine::session::tasks::{Found, edge_of, keys, link_tasks, unlink_tasks};
use factum_engine::session::workers::{self, RunRow};
use factum_engine::session::{SessionState, left_thread_key};
use factum_model::Refusal;
use factum_model::commands::*;
use factum_model::id::TaskId;
use factum_model::task::{Edge, Relationship, TaskRow};

use super::other_session;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::runtime::Runtime;

impl Handle<LinkTasks> for Runtime {
    async fn handle(&self, caller: &Caller, command: LinkTasks) -> Result<LinkTasksResult, Refusal> {
        let (named, edge) = self.edge(caller, &command.from, &command.to, command.relationship).await?;
        let target = self.is_of_session(caller, &command).await?;
        use Relationship::{BlockedBy, Blocks, Child, Parent, SourceTask};
        let between_tasks = matches!(command.relationship, Parent | Child | Blocks | BlockedBy | SourceTask);
        let decide = |state: &SessionState, rows: &[TaskRow], command: &LinkTasks, context: &mut Context<'_>| {
            // Two graphs cannot be linked, however visible both are; only a task that is not there is not found.
            let here = rows.first().map(|row| &row.session_id);
            let other = rows.iter().find(|row| between_tasks && Some(&row.session_id) != here);
            if let Some(other) = other {
                return Err(other_session(&other.task_id));
            }
            link_tasks(state, rows, Found { edge: edge.as_ref(), target }, command, context)
        };
        self.mutate_task(caller, &named, &command, decide).await
    }
}

impl Handle<UnlinkTasks> for Runtime {
    async fn handle(&self, caller: &Caller, command: UnlinkTasks) -> Result<UnlinkTasksResult, Refusal> {
        let (named, edge) = self.edge(caller, &command.from, &command.to, command.relationship).await?;
        let decide = |state: &SessionState, rows: &[TaskRow], command: &UnlinkTasks, context: &mut Context<'_>| {
            unlink_tasks(state, rows, edge.as_ref(), command, context)
        };
        self.mutate_task(caller, &named, &command, decide).await
    }
}

impl Runtime {
    /// Whether the run, thread or child agent that an edge is to point at is or was one of the task's session.
    async fn is_of_session(&self, caller: &Caller, command: &LinkTasks) -> Result<bool, Refusal> {
        use Relationship::{AssignedThread, SourceAttempt, SpawnedSubagent};
        if !matches!(command.relationship, AssignedThread | SourceAttempt | SpawnedSubagent) {
            return Ok(false);
        }
        let Some(task) = self.task_row(caller, &command.from).await? else { return Ok(false) };
        let (account, here) = (&*caller.account, task.session_id);
        match command.relationship {
            SpawnedSubagent => {
                let Ok(id) = command.to.parse() else { return Ok(false) };
                let row: Option<SubagentRow> = self.row(&subagents::keys::subagent(account, &id)).await?;
                Ok(row.is_some_and(|row| row.session_id == here))
            }
            SourceAttempt => {
                let Ok(run_id) = command.to.parse() else { return Ok(false) };
                let row: Option<RunRow> = self.row(&workers::keys::run(account, &run_id)).await?;
                Ok(row.is_some_and(|row| row.session_id == here))
            }
            _ => {
                let Ok(thread_id) = command.to.parse() else { return Ok(false) };
                let key = left_thread_key(account, &here, &thread_id);
                let row = self.0.store.get(&key).await.map_err(|error| read_refusal(&error))?;
                Ok(row.is_some())
            }
        }
    }

    /// The tasks at the ends of an edge, the one the command is about first, and the edge if it is there.
    async fn edge(
        &self,
        caller: &Caller,
        from: &TaskId,
        to: &str,
        relationship: Relationship,
    ) -> Result<(Vec<TaskId>, Option<Edge>), Refusal> {
        let (left, right, relationship) = edge_of(from, to, relationship)?;
        let edge = self.row(&keys::edge(&caller.account, left.as_str(), relationship, &right)).await?;
        let ends = [left.as_str(), right.as_str()].into_iter().filter(|end| *end != from.as_str());
        let others = ends.filter_map(|end| end.parse().ok());
        let named = std::iter::once(from.clone()).chain(others).collect();
        Ok((named, edge))
    }
}
