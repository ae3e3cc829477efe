//! One file for each command that is carried out here.

mod api_keys;
pub use api_keys::KEY_PREFIX;
mod cancel_job;
mod close_subagent;
mod create_job;
mod create_schedule;
mod create_session;
mod end_schedule;
mod filtered;
mod get_job;
mod get_queue;
mod get_session;
mod get_subagent_job_summary;
mod get_thread_read;
mod interrupt_turn;
mod job_rows;
mod list_jobs;
mod list_schedules;
pub(crate) mod list_sessions;
mod list_subagents;
mod promote_queued_turn;
pub(crate) mod read_events;
mod remove_queued_turn;
mod respond_action;
mod resume_subagent;
mod resume_thread;
mod retry_job_item;
mod send_subagent_input;
mod spawn_subagent;
mod subagents;
mod submit_turn;
mod tasks;
mod update_session;
mod wait_subagents;

use factum_engine::session::SessionState;
use factum_engine::{Context, Decision};
use factum_model::id::SessionId;
use factum_model::{Command, ErrorCode, Refusal};

use crate::caller::Caller;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

impl Runtime {
    /// The common way of a mutation of one session: a repeat is answered from its row, anything else is decided.
    pub(crate) async fn mutate<C: Command>(
        &self,
        caller: &Caller,
        session_id: &SessionId,
        command: &C,
        decide: impl FnOnce(&SessionState, &C, &mut Context<'_>) -> Result<Decision<C::Output>, Refusal>,
    ) -> Result<C::Output, Refusal> {
        self.mutate_unless_ended(caller, session_id, command, decide, async |refusal| Err(refusal)).await
    }

    /// The same of something that leaves the state when it ends, which makes it `not_found` there. `ended` answers from what
    /// is left of it; a repeat gets that answer again, whatever has become of the thing meanwhile.
    pub(crate) async fn mutate_unless_ended<C: Command>(
        &self,
        caller: &Caller,
        session_id: &SessionId,
        command: &C,
        decide: impl FnOnce(&SessionState, &C, &mut Context<'_>) -> Result<Decision<C::Output>, Refusal>,
        ended: impl AsyncFnOnce(Refusal) -> Result<C::Output, Refusal>,
    ) -> Result<C::Output, Refusal> {
        let accept = match self.repeat(caller, command, None).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        let actor = caller.actor();
        let decide = |state: &SessionState, context: &mut Context<'_>| decide(state, command, context);
        match self.execute(&caller.account, session_id, &actor, &accept, decide).await {
            Err(refusal) if refusal.code == ErrorCode::NotFound => {
                let output = ended(refusal).await?;
                self.answered_also(caller, &accept, &output).await?;
                Ok(output)
            }
            decided => decided.map(|(output, _)| output),
        }
    }

    /// The agent a command means: the one it names, or the default.
    pub(crate) fn resolve_agent(&self, named: Option<&str>) -> Result<String, Refusal> {
        let name = named.unwrap_or_else(|| self.0.agents.default_name());
        if self.0.agents.get(name).is_none() {
            let known: Vec<String> = self.0.agents.names().map(str::to_owned).collect();
            return Err(Refusal::invalid(format!("there is no agent named {name:?}")).with("agents", known));
        }
        Ok(name.to_owned())
    }
}
