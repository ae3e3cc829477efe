//! `channels/removeMember`.

use factum_engine::messaging::remove_member;
use factum_model::Refusal;
use factum_model::commands::{ChannelResult, RemoveChannelMember};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<RemoveChannelMember> for Runtime {
    async fn handle(&self, caller: &Caller, command: RemoveChannelMember) -> Result<ChannelResult, Refusal> {
        self.manage(caller, &command.channel_id, &command, remove_member).await
    }
}
