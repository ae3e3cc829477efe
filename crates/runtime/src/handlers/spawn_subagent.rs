//! `spawn_subagent`: below a thread of a session that exists. Ids of child agents are unique in an account.

use factum_engine::session::SessionState;
use factum_engine::session::subagents::{keys, spawn_subagent, subagent_exists};
use factum_engine::{Context, Decision};
use factum_model::Refusal;
use factum_model::commands::{SpawnSubagent, SpawnSubagentResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::idempotency::{Repeat, subagent_key};
use crate::runtime::Runtime;

impl Handle<SpawnSubagent> for Runtime {
    async fn handle(&self, caller: &Caller, command: SpawnSubagent) -> Result<SpawnSubagentResult, Refusal> {
        let mut accept = match self.repeat(caller, &command, subagent_key(&command)).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        self.find::<SessionState>(&caller.account, &command.session_id).await?;
        // Held until the spawn is durable, so that two sessions cannot both get a child with this id.
        let id_key = command.subagent_id.iter().map(|id| keys::subagent(&caller.account, id));
        accept.hold(self.0.keyed.lock(id_key.collect()).await);
        if let Some(id) = &command.subagent_id
            && self.find_subagent_row(caller, id).await?.is_some()
        {
            return Err(subagent_exists(id));
        }
        if let Some(parent) = &command.parent_subagent_id {
            let row = self.subagent_row(caller, parent).await?;
            if row.session_id != command.session_id {
                return Err(Refusal::not_found());
            }
        }
        let tasks: Vec<_> = command.parent_task_id.iter().chain(&command.task_id).cloned().collect();
        let rows = self.task_rows(caller, &tasks).await?;
        let named = command.agent.as_deref().map(|agent| self.resolve_agent(Some(agent))).transpose()?;
        let actor = caller.actor();
        let decide = |state: &SessionState, context: &mut Context<'_>| -> Result<Decision<_>, Refusal> {
            spawn_subagent(state, named.as_deref(), &rows, &command, context)
        };
        let (output, _) = self.execute(&caller.account, &command.session_id, &actor, &accept, decide).await?;
        Ok(output)
    }
}
