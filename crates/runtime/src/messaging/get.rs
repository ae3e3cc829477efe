//! `channels/get`.

use factum_engine::messaging::{ChannelState, Operation, allow, channel_view};
use factum_model::Refusal;
use factum_model::commands::{ChannelResult, GetChannel};
use factum_model::id::MessagingChannelId;
use factum_model::messaging::Channel;

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<GetChannel> for Runtime {
    async fn handle(&self, caller: &Caller, command: GetChannel) -> Result<ChannelResult, Refusal> {
        let channel_id = self.target_to_read(caller, command.channel_id.as_ref(), command.peer.as_deref()).await?;
        let channel = self.channel_of(caller, &channel_id).await?;
        Ok(ChannelResult { channel })
    }
}

impl Runtime {
    /// A channel as the caller sees it.
    pub(super) async fn channel_of(
        &self,
        caller: &Caller,
        channel_id: &MessagingChannelId,
    ) -> Result<Channel, Refusal> {
        let look = |state: &ChannelState| {
            allow(state, &caller.principal, Operation::Get)?;
            channel_view(state, &caller.principal).ok_or_else(Refusal::not_found)
        };
        self.look(&caller.account, channel_id, look).await.map(|(channel, _)| channel)
    }
}
