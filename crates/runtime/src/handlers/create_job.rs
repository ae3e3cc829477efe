//! `create_job`: in a session that is named, in that of its task, or in a new one.

use factum_engine::Context;
use factum_engine::session::SessionState;
use factum_engine::session::jobs::{create_job, keys};
use factum_model::Refusal;
use factum_model::commands::{CreateJob, CreateJobResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::idempotency::{Repeat, job_key};
use crate::runtime::Runtime;

impl Handle<CreateJob> for Runtime {
    async fn handle(&self, caller: &Caller, command: CreateJob) -> Result<CreateJobResult, Refusal> {
        let mut accept = match self.repeat(caller, &command, job_key(&command)).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        let key = command.job_id.as_ref().map(|job_id| keys::job(&caller.account, job_id));
        self.new_id(key, &mut accept).await?;
        let agent = self.resolve_agent(command.execution.agent.as_deref());
        let rows = self.task_rows(caller, command.task_id.as_slice()).await?;
        let target = match (&command.session_id, rows.first()) {
            (None, None) if command.task_id.is_some() => return Err(Refusal::not_found()),
            (None, task) => task.map(|task| task.session_id.clone()),
            (named, _) => named.clone(),
        };
        let session_id = target.clone().unwrap_or_else(|| self.new_session_id());
        let actor = caller.actor();
        let decide = |state: &SessionState, context: &mut Context<'_>| {
            // An agent that is not known is told only to those who may see the session.
            create_job(state, &session_id, &agent?, &rows, &command, context)
        };
        match target {
            Some(_) => {
                let (output, _) = self.execute(&caller.account, &session_id, &actor, &accept, decide).await?;
                Ok(output)
            }
            None => self.begin(&caller.account, &session_id, &actor, &accept, decide).await,
        }
    }
}
