//! What is remembered of a peer between commands: who it is, and nothing of what it did.

use factum_model::Timestamp;
use factum_model::id::ChannelId;
use factum_model::peer::{ChannelIdentity, PeerRole};
use serde::{Deserialize, Serialize};

/// A remote channel as it stands at `sequence`. `peer` is absent before the first event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerState {
    pub sequence: u64,
    pub peer: Option<Peer>,
}

/// Who is on the other end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    pub account: String,
    pub channel_id: ChannelId,
    /// Whose channel it is. For every other principal it does not exist.
    pub principal: String,
    pub identity: ChannelIdentity,
    pub enrolled_at: Timestamp,
    /// When the last fact was recorded. Time never runs backwards within a channel.
    pub updated_at: Timestamp,
}

impl PeerState {
    /// The peer, for the principal that enrolled it.
    pub fn of(&self, principal: &str) -> Option<&Peer> {
        self.peer.as_ref().filter(|peer| peer.principal == principal)
    }
}

impl Peer {
    pub fn is_worker(&self) -> bool {
        self.identity.peer_role == PeerRole::Worker
    }
}
