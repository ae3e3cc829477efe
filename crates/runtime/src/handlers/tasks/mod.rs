//! The commands of tasks. A task is found by its id alone: its row says which session it belongs to.

mod create_task;
mod get_task;
mod get_task_snapshot;
mod links;
mod list_tasks;
mod mutations;

use bytes::Bytes;
use factum_engine::session::{SessionState, tasks::keys};
use factum_engine::{Context, Decision};
use factum_model::id::TaskId;
use factum_model::task::TaskRow;
use factum_model::{Command, ErrorCode, Refusal};
use serde::de::DeserializeOwned;

use crate::caller::Caller;
use crate::error::read_refusal;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

/// How often a decision is tried again because a task changed between its row and its state.
const STALE_TRIES_MAX: usize = 8;

impl Runtime {
    /// A row of the index, if it is there.
    pub(crate) async fn row<R: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<R>, Refusal> {
        let row: Option<Bytes> = self.0.store.get(key).await.map_err(|error| read_refusal(&error))?;
        let row = row.map(|row| serde_json::from_slice(&row)).transpose();
        row.map_err(|error| Refusal::internal(format!("index row: {error}")))
    }

    /// What is known of a task of the caller's account.
    pub(crate) async fn task_row(&self, caller: &Caller, task_id: &TaskId) -> Result<Option<TaskRow>, Refusal> {
        self.row(&keys::task(&caller.account, task_id)).await
    }

    /// The same of several; those that are not there are left out.
    pub(crate) async fn task_rows(&self, caller: &Caller, task_ids: &[TaskId]) -> Result<Vec<TaskRow>, Refusal> {
        let mut rows = Vec::with_capacity(task_ids.len());
        for task_id in task_ids {
            rows.extend(self.task_row(caller, task_id).await?);
        }
        Ok(rows)
    }

    /// The common way of a mutation of a task: `named` are the tasks it names, the first of which it is about.
    pub(crate) async fn mutate_task<C: Command>(
        &self,
        caller: &Caller,
        named: &[TaskId],
        command: &C,
        decide: impl Fn(&SessionState, &[TaskRow], &C, &mut Context<'_>) -> Result<Decision<C::Output>, Refusal>,
    ) -> Result<C::Output, Refusal> {
        let accept = match self.repeat(caller, command, None).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        let actor = caller.actor();
        let mut tries = 0;
        loop {
            let rows = self.task_rows(caller, named).await?;
            let about =
                rows.first().filter(|row| named.first() == Some(&row.task_id)).ok_or_else(Refusal::not_found)?;
            let session_id = about.session_id.clone();
            let decide = |state: &SessionState, context: &mut Context<'_>| decide(state, &rows, command, context);
            let decided = self.execute(&caller.account, &session_id, &actor, &accept, decide).await;
            match decided {
                Err(refusal) if is_stale(&refusal) && tries < STALE_TRIES_MAX => {
                    // The state is ahead of the rows; they are there once it is durable.
                    self.look(&caller.account, &session_id, |_: &SessionState| Ok(())).await?;
                    tries += 1;
                }
                decided => return decided.map(|(output, _)| output),
            }
        }
    }
}

/// The refusal of an edge to a task of another session.
fn other_session(task_id: &TaskId) -> Refusal {
    Refusal::invalid("a task and those it is below or behind belong to one session").with("task_id", task_id.as_str())
}

/// Whether a row was older than the state it was used with.
pub(crate) fn is_stale(refusal: &Refusal) -> bool {
    refusal.code == ErrorCode::Unavailable && refusal.details.get("cause").is_some_and(|cause| cause == "stale_row")
}
