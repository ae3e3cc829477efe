//! `enroll_channel`.

use factum_engine::Context;
use factum_engine::peers::{PeerState, enroll_channel};
use factum_model::Refusal;
use factum_model::commands::{EnrollChannel, EnrollChannelResult};
use factum_model::id::ChannelId;

use crate::caller::Caller;
use crate::commit::Actor;
use crate::dispatch::Handle;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

impl Handle<EnrollChannel> for Runtime {
    async fn handle(&self, caller: &Caller, command: EnrollChannel) -> Result<EnrollChannelResult, Refusal> {
        let (accept, _held) = match self.repeat(caller, &command, None).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New { accept, held } => (accept, held),
        };
        let made = || ChannelId::from_uuid(self.0.sources.ids.source(self.now()).next_uuid());
        let channel_id = command.channel_id.clone().unwrap_or_else(made);
        let actor = Actor { principal: &caller.principal, trace: &caller.trace };
        let decide =
            |state: &PeerState, context: &mut Context<'_>| enroll_channel(state, &channel_id, &command, context);
        if self.is_there::<PeerState>(&caller.account, &channel_id).await? {
            return self.execute(&caller.account, &channel_id, &actor, &accept, decide).await.map(|(output, _)| output);
        }
        self.begin(&caller.account, &channel_id, &actor, &accept, decide).await
    }
}
