//! A peer is heard of, or is not any more. Facts only where that changes something: heartbeats are no facts, and nothing here
//! touches a task (seed 000: a running task is not completed because a channel disconnected).

use factum_model::peer::{ChannelState, DisconnectReason};
use factum_model::{NewEvent, Refusal, Scope, Timestamp};

use super::reconnect_channel::{disconnected, resumed_in_place};
use super::state::PeerState;
use crate::context::{Context, Decision};

/// A sign of life, as the shell saw it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sign {
    /// An older connection of the channel is open, and this one takes its place.
    pub replaces: bool,
    /// Nothing was heard of the channel since the runtime started.
    pub first: bool,
    pub last_seen_at: Option<Timestamp>,
}

/// A peer that was given up, or not heard of since a restart, is there. It goes on where it stands.
pub fn appear(state: &PeerState, sign: Sign, context: &Context<'_>) -> Result<Decision<u64>, Refusal> {
    let peer = state.open_of(context.caller)?;
    let scope = Scope::default().channel_id(&peer.channel_id);
    let mut events = Vec::new();
    if sign.replaces {
        let gone = disconnected(peer, DisconnectReason::Replaced, sign.last_seen_at);
        events.push(NewEvent::new(scope.clone(), gone));
    }
    if sign.replaces || sign.first || peer.state != ChannelState::Connected {
        events.push(NewEvent::new(scope, resumed_in_place(peer, state.sequence)));
    }
    let output = context.sequence_after(state.sequence, &events);
    Ok(Decision { events, output })
}

/// A peer is not there any more. Nothing where that is known.
pub fn vanish(
    state: &PeerState,
    reason: DisconnectReason,
    last_seen_at: Option<Timestamp>,
    context: &Context<'_>,
) -> Result<Decision<u64>, Refusal> {
    let mut events = Vec::new();
    if let Some(peer) = state.peer.as_ref().filter(|peer| peer.state == ChannelState::Connected) {
        let scope = Scope::default().channel_id(&peer.channel_id);
        events.push(NewEvent::new(scope, disconnected(peer, reason, last_seen_at)));
    }
    let output = context.sequence_after(state.sequence, &events);
    Ok(Decision { events, output })
}
