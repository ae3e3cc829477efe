//! `close_channel`: a peer leaves for good. Its tasks stay what they are.

use factum_model::commands::{CloseChannel, CloseChannelResult};
use factum_model::events::ChannelDisconnected;
use factum_model::peer::{ChannelState, DisconnectReason};
use factum_model::{NewEvent, Refusal, Scope};

use super::reconnect_channel::disconnected;
use super::state::PeerState;
use crate::context::{Context, Decision};

pub fn close_channel(
    state: &PeerState,
    command: &CloseChannel,
    context: &Context<'_>,
) -> Result<Decision<CloseChannelResult>, Refusal> {
    let peer = state.of(context.caller).ok_or_else(Refusal::not_found)?;
    context.limits.check_title(command.reason.as_deref())?;
    let mut events = Vec::new();
    if !peer.closed {
        let gone = disconnected(peer, DisconnectReason::ClosedByPeer, Some(context.now));
        let fact = ChannelDisconnected { detail: command.reason.clone(), ..gone };
        events.push(NewEvent::new(Scope::default().channel_id(&peer.channel_id), fact));
    }
    let sequence = context.sequence_after(state.sequence, &events);
    let output =
        CloseChannelResult { channel_id: peer.channel_id.clone(), state: ChannelState::Disconnected, sequence };
    Ok(Decision { events, output })
}
