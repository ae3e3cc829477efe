//! `channels/removeMember`.

use factum_engine::messaging::remove_member;
use factum_model::Refusal;
use factum_model::commands::{ChannelResult, RemoveChannelMember};

use super::update::Stays;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<RemoveChannelMember> for Runtime {
    async fn handle(&self, caller: &Caller, command: RemoveChannelMember) -> Result<ChannelResult, Refusal> {
        let leaves = *command.principal_id == *caller.principal;
        let stays = if leaves { Stays::No } else { Stays::Yes };
        self.manage(caller, &command.channel_id, &command, stays, remove_member).await
    }
}
