//! `create_session`.

use factum_engine::Context;
use factum_engine::session::{SessionState, create_session};
use factum_model::Refusal;
use factum_model::commands::{CreateSession, CreateSessionResult};
use factum_model::id::SessionId;

use crate::aggregate::Aggregate;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

impl Handle<CreateSession> for Runtime {
    async fn handle(&self, caller: &Caller, command: CreateSession) -> Result<CreateSessionResult, Refusal> {
        let accept = match self.repeat(caller, &command, None).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        let agent = self.resolve_agent(command.agent.as_deref())?;
        let session_id = match &command.session_id {
            Some(session_id) => {
                self.refuse_existing(caller, session_id).await?;
                session_id.clone()
            }
            None => self.new_session_id(),
        };
        let decide = |state: &SessionState, context: &mut Context<'_>| {
            create_session(state, &session_id, &agent, &command, context)
        };
        let actor = caller.actor();
        self.begin(&caller.account, &session_id, &actor, &accept, decide).await
    }
}

impl Runtime {
    pub(crate) fn new_session_id(&self) -> SessionId {
        SessionId::from_uuid(self.0.sources.ids.source(self.now()).next_uuid())
    }

    async fn refuse_existing(&self, caller: &Caller, session_id: &SessionId) -> Result<(), Refusal> {
        let stream = SessionState::stream(&caller.account, session_id);
        let head = self.0.store.head(&stream).await.map_err(|error| read_refusal(&error))?;
        if head.is_some() {
            return Err(
                Refusal::conflict("a session with this id exists already").with("session_id", session_id.as_str())
            );
        }
        Ok(())
    }
}
