//! `follow_sessions`.

use factum_engine::Context;
use factum_engine::peers::{PeerState, follow_sessions};
use factum_model::Refusal;
use factum_model::commands::{FollowSessions, FollowSessionsResult};
use factum_model::id::SessionId;
use factum_model::registry::Scope;

use super::heartbeat::own_peer;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

impl Runtime {
    /// No channel can follow more sessions, so no more are looked up for one.
    pub(super) fn check_named(&self, sessions: &[SessionId]) -> Result<(), Refusal> {
        let (named, max) = (sessions.len(), self.0.limits.channel_sessions_max);
        if named > max { Err(Refusal::limit("channel_sessions", named as u64, max as u64)) } else { Ok(()) }
    }
}

impl Handle<FollowSessions> for Runtime {
    async fn handle(&self, caller: &Caller, command: FollowSessions) -> Result<FollowSessionsResult, Refusal> {
        let accept = match self.repeat(caller, &command, None).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        caller.require(Scope::SessionsRead)?;
        let channel_id = &command.channel_id;
        // Whose channel it is comes first: nobody learns through another's which sessions there are.
        let own = |state: &PeerState| own_peer(state, caller).map(factum_engine::peers::Peer::decides);
        let (decides, _) = self.look(&caller.account, channel_id, own).await?;
        self.check_named(&command.follow)?;
        self.require_sessions(&caller.account, &command.follow).await?;
        let decide = |state: &PeerState, context: &mut Context<'_>| follow_sessions(state, &command, context);
        let outcome = self.execute(&caller.account, channel_id, &caller.actor(), &accept, decide).await;
        let (result, _) = outcome?;
        if decides {
            self.bridge_all(&caller.account, &command.follow).await;
        }
        Ok(result)
    }
}
