//! The fold: how each fact changes what is known of a peer. Total: it never fails and never asks the clock.

use factum_model::events::ChannelConnected;
use factum_model::{Event, Fact};

use super::state::{Peer, PeerState};

/// Applies one event.
pub fn apply(state: &mut PeerState, event: &Event) {
    state.sequence = event.sequence;
    if let Fact::ChannelConnected(fact) = &event.fact {
        connect(state, event, fact);
    }
    if let Some(peer) = &mut state.peer {
        peer.updated_at = event.timestamp;
    }
}

/// The first connection says whose the channel is; later ones say what the peer is now.
fn connect(state: &mut PeerState, event: &Event, fact: &ChannelConnected) {
    let identity = fact.identity.clone();
    if let Some(peer) = &mut state.peer {
        peer.identity = identity;
        return;
    }
    let (Some(channel_id), Some(account), Some(principal)) =
        (event.scope.channel_id.clone(), identity.account_ref.clone(), identity.peer_ref.clone())
    else {
        return;
    };
    let (enrolled_at, updated_at) = (event.timestamp, event.timestamp);
    state.peer = Some(Peer { account, channel_id, principal, identity, enrolled_at, updated_at });
}
