//! `channel_summary`: what a peer loads before it goes on. What is only known while the runtime runs comes as an argument.

use factum_model::Timestamp;
use factum_model::peer::{ChannelIdentity, ChannelRecord, ChannelSnapshot, ChannelState, FollowedSession, Transport};

use super::cursors::Heads;
use super::state::{Peer, PeerState};

/// Whether a peer was heard of since the runtime started, and when; over what it is connected, while it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Presence {
    pub here: bool,
    pub last_seen_at: Option<Timestamp>,
    pub transport: Option<Transport>,
}

/// The line of a list.
pub fn record(peer: &Peer, presence: &Presence) -> ChannelRecord {
    // After a restart nobody knows whether those who were connected still are.
    let state = match peer.state {
        ChannelState::Connected if !presence.here => ChannelState::Unknown,
        // Who does not know of channels does not come back to one: what it says shows that it is there, and is no fact of it.
        ChannelState::Disconnected if presence.here && peer.derived().is_some() => ChannelState::Connected,
        state => state,
    };
    ChannelRecord {
        channel_id: peer.channel_id.clone(),
        identity: ChannelIdentity { transport: transport(peer, presence), ..peer.identity.clone() },
        state,
        last_seen_at: presence.last_seen_at.max(peer.seen_at),
        last_acknowledged_sequence: peer.own.acknowledged,
    }
}

/// What it really uses goes before what it enrolled over, but for a transport that only the peer can know of.
fn transport(peer: &Peer, presence: &Presence) -> Transport {
    match peer.identity.transport {
        own @ (Transport::Custom | Transport::InProcess) => own,
        enrolled => presence.transport.unwrap_or(enrolled),
    }
}

/// The whole, where the channel exists.
pub fn summary(state: &PeerState, presence: &Presence, heads: &Heads) -> Option<ChannelSnapshot> {
    let peer = state.peer.as_ref()?;
    let sessions = peer.sessions.iter().map(|(session_id, followed)| FollowedSession {
        session_id: session_id.clone(),
        since_sequence: followed.since,
        last_acknowledged_sequence: followed.cursor.acknowledged,
        head_sequence: heads.get(session_id).copied().unwrap_or(0),
    });
    Some(ChannelSnapshot {
        channel: record(peer, presence),
        sessions: sessions.collect(),
        peer_tasks: peer.peer_tasks.clone(),
        permission_bridge: peer.bridge.iter().map(|bridged| bridged.entry.clone()).collect(),
        as_of_sequence: state.sequence,
    })
}
