//! `create_schedule`: in a session that exists, or in a new one.

use factum_engine::Context;
use factum_engine::session::SessionState;
use factum_engine::session::jobs::{create_schedule, keys};
use factum_model::Refusal;
use factum_model::commands::{CreateSchedule, CreateScheduleResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::idempotency::{Repeat, schedule_key};
use crate::runtime::Runtime;

impl Handle<CreateSchedule> for Runtime {
    async fn handle(&self, caller: &Caller, command: CreateSchedule) -> Result<CreateScheduleResult, Refusal> {
        let mut accept = match self.repeat(caller, &command, schedule_key(&command)).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        let key = command.schedule_id.as_ref().map(|schedule_id| keys::schedule(&caller.account, schedule_id));
        self.new_id(key, &mut accept).await?;
        let agent = self.resolve_agent(command.schedule.job.execution.agent.as_deref());
        let session_id = command.session_id.clone().unwrap_or_else(|| self.new_session_id());
        let actor = caller.actor();
        let decide = |state: &SessionState, context: &mut Context<'_>| {
            // An agent that is not known is told only to those who may see the session.
            create_schedule(state, &session_id, &agent?, &command, context)
        };
        match &command.session_id {
            Some(_) => {
                let (output, _) = self.execute(&caller.account, &session_id, &actor, &accept, decide).await?;
                Ok(output)
            }
            None => self.begin(&caller.account, &session_id, &actor, &accept, decide).await,
        }
    }
}
