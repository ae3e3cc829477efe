//! `list_remote_channels`: a page of the caller's own.

use factum_engine::peers::{PeerRow, PeerState, keys, record};
use factum_model::Refusal;
use factum_model::commands::{ListRemoteChannels, ListRemoteChannelsResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::handlers::list_sessions::Page;
use crate::runtime::Runtime;

impl Handle<ListRemoteChannels> for Runtime {
    async fn handle(&self, caller: &Caller, command: ListRemoteChannels) -> Result<ListRemoteChannelsResult, Refusal> {
        let page = Page { purpose: "list_remote_channels", limit: command.limit, cursor: command.cursor.as_deref() };
        let prefix = keys::peers_of(&caller.account, &caller.principal);
        let (rows, next_cursor) = self.page::<PeerRow>(caller, prefix, page).await?;
        let mut channels = Vec::with_capacity(rows.len());
        for row in rows {
            let presence = self.presence_of(caller, &row.channel_id);
            let own = |state: &PeerState| {
                let peer = state.of(&caller.principal).ok_or_else(Refusal::not_found)?;
                Ok(record(peer, &presence))
            };
            channels.push(self.look(&caller.account, &row.channel_id, own).await?.0);
        }
        Ok(ListRemoteChannelsResult { channels, next_cursor })
    }
}
