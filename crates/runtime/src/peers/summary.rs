//! `get_channel_summary`: seed 003's `channel_summary`. Of the caller's own channels, and of those of the peers we speak to.

use factum_engine::peers::{PeerState, summary};
use factum_model::Refusal;
use factum_model::commands::{GetChannelSummary, GetChannelSummaryResult};
use factum_model::id::SessionId;

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<GetChannelSummary> for Runtime {
    async fn handle(&self, caller: &Caller, command: GetChannelSummary) -> Result<GetChannelSummaryResult, Refusal> {
        let own = |state: &PeerState| {
            state.read_by(&caller.principal).ok_or_else(Refusal::not_found)?;
            Ok(state.clone())
        };
        let (state, _) = self.look(&caller.account, &command.channel_id, own).await?;
        let sessions: Vec<SessionId> = state.peer.iter().flat_map(|peer| peer.sessions.keys()).cloned().collect();
        let heads = self.heads(&caller.account, sessions).await?;
        let presence = self.presence_of(caller, &command.channel_id);
        let mut summary = summary(&state, &presence, &heads).ok_or_else(Refusal::not_found)?;
        if let Some(peer) = &state.peer {
            self.told_by_sessions(&caller.account, peer).await?.add_to(&mut summary);
        }
        Ok(GetChannelSummaryResult { summary })
    }
}
