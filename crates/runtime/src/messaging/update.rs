//! `channels/update`, and the common way of commands that change a channel itself.

use factum_engine::messaging::{ChannelState, update_channel};
use factum_engine::{Context, Decision};
use factum_model::commands::{ChannelResult, UpdateChannel};
use factum_model::id::MessagingChannelId;
use factum_model::{Command, Refusal};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

impl Handle<UpdateChannel> for Runtime {
    async fn handle(&self, caller: &Caller, command: UpdateChannel) -> Result<ChannelResult, Refusal> {
        self.manage(caller, &command.channel_id, &command, update_channel).await
    }
}

impl Runtime {
    /// The common way of a command that changes the channel itself: a repeat is answered from its row, which belongs to the
    /// caller; anything else goes through the gate and is decided.
    pub(super) async fn manage<C: Command>(
        &self,
        caller: &Caller,
        channel_id: &MessagingChannelId,
        command: &C,
        decide: impl FnOnce(&ChannelState, &C, &mut Context<'_>) -> Result<Decision<C::Output>, Refusal>,
    ) -> Result<C::Output, Refusal> {
        let (accept, _held) = match self.repeat(caller, command, None).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New { accept, held } => (accept, held),
        };
        let target = self.target_there(caller, channel_id).await?;
        let decide = |state: &ChannelState, context: &mut Context<'_>| decide(state, command, context);
        self.decide_in(caller, &target, &accept, decide).await
    }
}
