//! `channels/create`.

use factum_engine::messaging::{ChannelState, create_channel, meant_to_create};
use factum_engine::{Context, params_digest};
use factum_model::commands::{ChannelResult, CreateChannel};
use factum_model::id::MessagingChannelId;
use factum_model::{Command, Refusal};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

impl Handle<CreateChannel> for Runtime {
    async fn handle(&self, caller: &Caller, command: CreateChannel) -> Result<ChannelResult, Refusal> {
        let meaning = meant_to_create(&command, &caller.principal);
        let (key, digest) = (command.idempotency_key.as_deref(), params_digest(&meaning)?);
        let accept = match self.repeat_of(caller, CreateChannel::NAME, key, digest).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        let channel_id = MessagingChannelId::from_uuid(self.0.sources.ids.source(self.now()).next_uuid());
        let actor = caller.actor();
        let decide =
            |state: &ChannelState, context: &mut Context<'_>| create_channel(state, &channel_id, &command, context);
        self.begin(&caller.account, &channel_id, &actor, &accept, decide).await
    }
}
