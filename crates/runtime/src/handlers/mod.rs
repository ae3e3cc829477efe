//! One file for each command that is carried out here.

mod api_keys;
mod create_session;
mod get_queue;
mod get_session;
mod get_thread_read;
mod interrupt_turn;
mod list_sessions;
mod promote_queued_turn;
mod read_events;
mod remove_queued_turn;
mod respond_action;
mod resume_thread;
mod submit_turn;
mod update_session;

use factum_engine::session::SessionState;
use factum_engine::{Context, Decision};
use factum_model::id::SessionId;
use factum_model::{Command, Refusal};

use crate::caller::Caller;
use crate::commit::Actor;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

impl Runtime {
    /// The common way of a mutation of one session: a repeat is answered from its row, anything else is decided.
    async fn mutate<C: Command>(
        &self,
        caller: &Caller,
        session_id: &SessionId,
        command: &C,
        decide: impl FnOnce(&SessionState, &C, &mut Context<'_>) -> Result<Decision<C::Output>, Refusal>,
    ) -> Result<C::Output, Refusal> {
        let (accept, _held) = match self.repeat(caller, command, None).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New { accept, held } => (accept, held),
        };
        let actor = Actor { principal: &caller.principal, trace: &caller.trace };
        let decide = |state: &SessionState, context: &mut Context<'_>| decide(state, command, context);
        let (output, _) = self.execute(&caller.account, session_id, &actor, &accept, decide).await?;
        Ok(output)
    }

    /// The agent a command means: the one it names, or the default.
    fn resolve_agent(&self, named: Option<&str>) -> Result<String, Refusal> {
        let name = named.unwrap_or_else(|| self.0.agents.default_name());
        if self.0.agents.get(name).is_none() {
            let known: Vec<String> = self.0.agents.names().map(str::to_owned).collect();
            return Err(Refusal::invalid(format!("there is no agent named {name:?}")).with("agents", known));
        }
        Ok(name.to_owned())
    }
}
