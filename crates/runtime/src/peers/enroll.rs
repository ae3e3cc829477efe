//! `enroll_channel`: the caller's principal owns the channel, and gets a token that no later answer repeats.

use factum_engine::Context;
use factum_engine::peers::{PeerState, enroll_channel, is_reserved};
use factum_model::Refusal;
use factum_model::commands::{EnrollChannel, EnrollChannelResult};
use factum_model::id::ChannelId;
use factum_model::peer::PERMISSIONS;
use factum_model::registry::Scope;

use super::heartbeat::key_of;
use super::token::new_token;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

impl Handle<EnrollChannel> for Runtime {
    async fn handle(&self, caller: &Caller, command: EnrollChannel) -> Result<EnrollChannelResult, Refusal> {
        if let Some(channel_id) = command.channel_id.as_ref().filter(|channel_id| is_reserved(channel_id)) {
            let refusal =
                Refusal::invalid("ids of this form are for the channels of A2A, which nobody enrolls; take another");
            return Err(refusal.with("channel_id", channel_id.as_str()));
        }
        self.enroll(caller, command).await
    }
}

impl Runtime {
    /// Enrolls under any id, also one that follows from who the caller is.
    pub(super) async fn enroll(
        &self,
        caller: &Caller,
        mut command: EnrollChannel,
    ) -> Result<EnrollChannelResult, Refusal> {
        let accept = match self.repeat(caller, &command, None).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        // Behind the look for a repeat: the same command may be sent again another way.
        command.transport.get_or_insert(caller.transport);
        if !command.session_ids.is_empty() {
            caller.require(Scope::SessionsRead)?;
            self.check_named(&command.session_ids)?;
            self.require_sessions(&caller.account, &command.session_ids).await?;
        }
        let made = || ChannelId::from_uuid(self.0.sources.ids.source(self.now()).next_uuid());
        let channel_id = command.channel_id.clone().unwrap_or_else(made);
        let token = new_token();
        let token_ref = self.token_ref(caller, &channel_id, &token);
        let key = key_of(caller, &channel_id);
        let decide = |state: &PeerState, context: &mut Context<'_>| {
            let decision = enroll_channel(state, &channel_id, &command, token_ref, context)?;
            self.0.presence.hear(&key, context.now, self.heartbeat());
            Ok(decision)
        };
        let actor = caller.actor();
        let mut result = if self.is_there::<PeerState>(&caller.account, &channel_id).await? {
            self.execute(&caller.account, &channel_id, &actor, &accept, decide).await.map(|(output, _)| output)?
        } else {
            self.begin(&caller.account, &channel_id, &actor, &accept, decide).await?
        };
        if command.capabilities.iter().any(|capability| capability == PERMISSIONS) {
            self.bridge_all(&caller.account, &command.session_ids).await;
        }
        result.resume_token = Some(token);
        Ok(result)
    }
}
