//! `channels/addMember`.

use factum_engine::messaging::add_member;
use factum_model::Refusal;
use factum_model::commands::{AddChannelMember, ChannelResult};

use super::update::Stays;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<AddChannelMember> for Runtime {
    async fn handle(&self, caller: &Caller, command: AddChannelMember) -> Result<ChannelResult, Refusal> {
        self.manage(caller, &command.channel_id, &command, Stays::Yes, add_member).await
    }
}
