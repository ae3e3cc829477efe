//! `channels/markRead`.

use factum_engine::Context;
use factum_engine::messaging::{ChannelState, mark_read, meant_to_mark_read};
use factum_model::Refusal;
use factum_model::commands::{MarkChannelRead, MarkChannelReadResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

impl Handle<MarkChannelRead> for Runtime {
    async fn handle(&self, caller: &Caller, mut command: MarkChannelRead) -> Result<MarkChannelReadResult, Refusal> {
        let target = self.target(caller, command.channel_id.as_ref(), command.peer.as_deref()).await?;
        let meaning = meant_to_mark_read(&command, &target.channel_id);
        let accept = match self.repeat_inside(caller, &target.channel_id, &meaning).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        command.peer = target.peer().map(str::to_owned);
        let decide = |state: &ChannelState, context: &mut Context<'_>| mark_read(state, &command, context);
        self.decide_in(caller, &target, &accept, decide).await
    }
}
