//! `channels/delete`.

use factum_engine::messaging::delete_channel;
use factum_model::Refusal;
use factum_model::commands::{DeleteChannel, DeleteChannelResult};

use super::update::Stays;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<DeleteChannel> for Runtime {
    async fn handle(&self, caller: &Caller, command: DeleteChannel) -> Result<DeleteChannelResult, Refusal> {
        self.manage(caller, &command.channel_id, &command, Stays::No, delete_channel).await
    }
}
