//! The index rules of peers, and what their streams are called. Rows are pure functions of the events.

use factum_model::id::ChannelId;
use factum_model::peer::PeerRole;
use factum_model::{Event, Fact};
use serde::{Deserialize, Serialize};

use super::apply::apply;
use super::state::{Peer, PeerState};
use crate::key::{IndexChange, Key};
use crate::session::idempotency_row;

/// One remote channel is one stream. The account is in the name, so another account's is a lookup that misses.
pub fn stream_name(account: &str, channel_id: &ChannelId) -> String {
    ["peer/", account, "/", channel_id.as_str()].concat()
}

/// Not an account's name: a channel is its peer's own, so the account's feed does not show it.
pub fn partition_name(account: &str) -> String {
    format!("*peer/{account}")
}

/// The keys.
pub mod keys {
    use super::*;

    /// A peer of the account, by its channel.
    pub fn peer(account: &str, channel_id: &ChannelId) -> Vec<u8> {
        Key::table("peer").text(account).text(channel_id.as_str()).into_bytes()
    }

    pub fn peers_of(account: &str) -> Vec<u8> {
        Key::table("peer").text(account).into_bytes()
    }
}

/// A line of a list of peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerRow {
    pub principal: String,
    pub peer_role: PeerRole,
}

/// Applies the events of one commit and returns what they change in the index.
pub fn apply_commit(state: &mut PeerState, events: &[Event]) -> Vec<IndexChange> {
    let before = state.peer.as_ref().map(row);
    for event in events {
        apply(state, event);
    }
    let Some(peer) = &state.peer else { return Vec::new() };
    let mut changes = Vec::new();
    let now = row(peer);
    if before.as_ref() != Some(&now) {
        // A plain struct of two texts: writing it cannot fail.
        let value = serde_json::to_vec(&now).unwrap_or_default();
        changes.push(IndexChange::Put { key: keys::peer(&peer.account, &peer.channel_id), value });
    }
    changes.extend(events.iter().filter_map(|event| match &event.fact {
        Fact::CommandAccepted(fact) => Some(idempotency_row(&peer.account, fact)),
        _ => None,
    }));
    changes
}

fn row(peer: &Peer) -> PeerRow {
    PeerRow { principal: peer.principal.clone(), peer_role: peer.identity.peer_role }
}
