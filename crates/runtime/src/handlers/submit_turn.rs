//! `submit_turn`: into a session that exists, or into a new one. A session or thread that is named and missing is created.

use factum_engine::session::{SessionState, keys, submit_turn, turn_exists, unknown_thread};
use factum_engine::{Context, Decision};
use factum_model::commands::{SubmitTurn, SubmitTurnResult};
use factum_model::id::{SessionId, TurnId};
use factum_model::{ErrorCode, Refusal};

use crate::caller::Caller;
use crate::commit::Accept;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::idempotency::{Held, Repeat, turn_key};
use crate::runtime::Runtime;

impl Handle<SubmitTurn> for Runtime {
    async fn handle(&self, caller: &Caller, command: SubmitTurn) -> Result<SubmitTurnResult, Refusal> {
        let mut accept = match self.repeat(caller, &command, turn_key(&command)).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        if let (Some(session_id), Some(turn_id)) = (&command.session_id, &command.turn_id) {
            accept.hold(self.new_turn_id(caller, session_id, turn_id).await?);
        }
        match &command.session_id {
            Some(session_id) => self.submit_to_existing(caller, session_id, &command, &accept).await,
            None => self.submit_to_new(caller, &self.new_session_id(), &command, &accept).await,
        }
    }
}

impl Runtime {
    /// Refuses an id that a turn of the session had which is over. Nobody else takes the id as long as the answer is held.
    async fn new_turn_id(&self, caller: &Caller, session_id: &SessionId, turn_id: &TurnId) -> Result<Held, Refusal> {
        let key = keys::turn(&caller.account, session_id, turn_id);
        let held = self.0.keyed.lock(vec![key.clone()]).await;
        // What ended before this look is durable behind it, and so is its row; what has not ended is in the state.
        match self.look(&caller.account, session_id, |_: &SessionState| Ok(())).await {
            Err(refusal) if refusal.code == ErrorCode::NotFound => return Ok(held),
            looked => looked.map(drop)?,
        }
        match self.0.store.get(&key).await.map_err(|error| read_refusal(&error))? {
            Some(_) => Err(turn_exists(turn_id)),
            None => Ok(held),
        }
    }

    async fn submit_to_existing(
        &self,
        caller: &Caller,
        session_id: &SessionId,
        command: &SubmitTurn,
        accept: &Accept,
    ) -> Result<SubmitTurnResult, Refusal> {
        let actor = caller.actor();
        let submit = |opens: bool| {
            let named = command.agent.as_deref().map(|agent| self.resolve_agent(Some(agent))).transpose();
            move |state: &SessionState, context: &mut Context<'_>| -> Result<Decision<_>, Refusal> {
                // An agent that is not known is told only to those who may see the session.
                let own = state.shell.as_ref().map(|shell| shell.agent.clone());
                let agent = named?.or(own).ok_or_else(Refusal::not_found)?;
                if !opens && unknown_thread(state, command).is_some() {
                    return Err(Refusal::not_found());
                }
                submit_turn(state, session_id, &agent, command, context)
            }
        };
        let account = &caller.account;
        match self.execute(account, session_id, &actor, accept, submit(false)).await {
            Err(refusal) if refusal.code == ErrorCode::NotFound => {}
            done => return done.map(|(output, _)| output),
        }
        // Something that is named is not there: it comes to be, but for a thread that was there and has left.
        if !self.is_there::<SessionState>(account, session_id).await? {
            return self.submit_to_new(caller, session_id, command, accept).await;
        }
        if self.left_thread(caller, session_id, command.thread_id.as_ref(), None).await.is_ok() {
            return Err(takes_no_more());
        }
        self.execute(account, session_id, &actor, accept, submit(true)).await.map(|(output, _)| output)
    }

    async fn submit_to_new(
        &self,
        caller: &Caller,
        session_id: &SessionId,
        command: &SubmitTurn,
        accept: &Accept,
    ) -> Result<SubmitTurnResult, Refusal> {
        let agent = self.resolve_agent(command.agent.as_deref())?;
        let actor = caller.actor();
        let decide =
            |state: &SessionState, context: &mut Context<'_>| submit_turn(state, session_id, &agent, command, context);
        self.begin(&caller.account, session_id, &actor, accept, decide).await
    }
}

/// The thread has left its session; what it came to can be read, and that is all.
fn takes_no_more() -> Refusal {
    Refusal::precondition(
        "the work that this thread was opened for ended long ago, and it takes no more input; \
         submit to another thread, or read what it came to with get_thread_read",
    )
}
