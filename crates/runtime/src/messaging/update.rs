//! `channels/update`, and the common way of commands that change a channel itself.

use factum_engine::messaging::{ChannelState, meant_to_update, update_channel};
use factum_engine::{Context, Decision};
use factum_model::commands::{ChannelResult, UpdateChannel};
use factum_model::id::MessagingChannelId;
use factum_model::{Command, ErrorCode, Refusal};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

impl Handle<UpdateChannel> for Runtime {
    async fn handle(&self, caller: &Caller, command: UpdateChannel) -> Result<ChannelResult, Refusal> {
        self.manage(caller, &command.channel_id, &meant_to_update(&command), Stays::Yes, update_channel).await
    }
}

/// Whether somebody who did a command successfully may still know of the channel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stays {
    Yes,
    /// They left by it, or ended it. Asking again how that went is no way to look at the channel.
    No,
}

impl Runtime {
    /// The common way of a command that changes the channel itself: through the gate; then a repeat is answered from its row,
    /// and anything else is decided.
    pub(super) async fn manage<C: Command>(
        &self,
        caller: &Caller,
        channel_id: &MessagingChannelId,
        command: &C,
        stays: Stays,
        decide: impl FnOnce(&ChannelState, &C, &mut Context<'_>) -> Result<Decision<C::Output>, Refusal>,
    ) -> Result<C::Output, Refusal> {
        let passed = self.target_there(caller, channel_id).await;
        if let (Stays::Yes, Err(refusal)) = (stays, &passed) {
            return Err(refusal.clone());
        }
        let repeat = match stays {
            Stays::Yes => self.repeat_inside(caller, channel_id, command).await?,
            Stays::No => match self.repeat_in(caller, channel_id, command).await {
                // What a key was used for before is for those who may still know of the channel.
                Err(refusal) if refusal.code == ErrorCode::Conflict => {
                    passed?;
                    self.takes_part(caller, channel_id).await?;
                    return Err(refusal);
                }
                repeat => repeat?,
            },
        };
        let accept = match repeat {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        let target = passed?;
        let decide = |state: &ChannelState, context: &mut Context<'_>| decide(state, command, context);
        self.decide_in(caller, &target, &accept, decide).await
    }
}
