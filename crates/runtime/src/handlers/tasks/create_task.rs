//! `create_task`: into a session that is named, into that of the parent, or into a new one.

use factum_engine::Context;
use factum_engine::session::SessionState;
use factum_engine::session::tasks::{create_task, keys};
use factum_model::commands::{CreateTask, CreateTaskResult};
use factum_model::id::{SessionId, TaskId};
use factum_model::task::TaskRow;
use factum_model::{ErrorCode, Refusal};

use super::{STALE_TRIES_MAX, is_stale, other_session};
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::idempotency::{Repeat, own_id_key};
use crate::runtime::Runtime;

impl Handle<CreateTask> for Runtime {
    async fn handle(&self, caller: &Caller, command: CreateTask) -> Result<CreateTaskResult, Refusal> {
        let own_id = command.task_id.as_ref().map(|task_id| own_id_key("task", task_id.as_str()));
        let mut accept = match self.repeat(caller, &command, own_id).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        // Two sessions must not make the same task at once.
        let id_lock = command.task_id.iter().map(|task_id| keys::task(&caller.account, task_id)).collect();
        accept.hold(self.0.keyed.lock(id_lock).await);
        if let Some(agent) = &command.execution.agent {
            self.resolve_agent(Some(agent))?;
        }
        self.require_peer(command.execution.peer.as_deref())?;
        self.require_peer_of(command.assignee.as_deref())?;
        let named: Vec<TaskId> =
            command.task_id.iter().chain(&command.parent_task_id).chain(&command.blocked_by).cloned().collect();
        let agent = self.0.agents.default_name().to_owned();
        let actor = caller.actor();
        let mut tries = 0;
        loop {
            let rows = self.task_rows(caller, &named).await?;
            if let Some(row) = rows.iter().find(|row| command.task_id.as_ref() == Some(&row.task_id)) {
                return Err(
                    Refusal::conflict("a task with this id exists already").with("task_id", row.task_id.as_str())
                );
            }
            let target = target(&command, &rows)?;
            let session_id = target.clone().unwrap_or_else(|| self.new_session_id());
            let decide = |state: &SessionState, context: &mut Context<'_>| {
                create_task(state, &session_id, &agent, &rows, &command, context)
            };
            let account = &caller.account;
            let decided = match target {
                Some(_) => self.execute(account, &session_id, &actor, &accept, decide).await.map(|(output, _)| output),
                None => self.begin(account, &session_id, &actor, &accept, decide).await,
            };
            let decided = match decided {
                // A session that is named and missing comes to be, as with a turn that is submitted.
                Err(refusal)
                    if refusal.code == ErrorCode::NotFound
                        && !self.is_there::<SessionState>(account, &session_id).await? =>
                {
                    self.begin(account, &session_id, &actor, &accept, decide).await
                }
                decided => decided,
            };
            match decided {
                Err(refusal) if is_stale(&refusal) && tries < STALE_TRIES_MAX => {
                    self.look(&caller.account, &session_id, |_: &SessionState| Ok(())).await?;
                    tries += 1;
                }
                decided => return decided,
            }
        }
    }
}

/// The session it goes to, if there is one yet. Tasks of one graph are in one session.
fn target(command: &CreateTask, rows: &[TaskRow]) -> Result<Option<SessionId>, Refusal> {
    let mut session_id = command.session_id.clone();
    for task_id in command.parent_task_id.iter().chain(&command.blocked_by) {
        let row = rows.iter().find(|row| row.task_id == *task_id).ok_or_else(Refusal::not_found)?;
        match &session_id {
            Some(session_id) if *session_id != row.session_id => {
                return Err(other_session(task_id));
            }
            _ => session_id = Some(row.session_id.clone()),
        }
    }
    Ok(session_id)
}
