//! The index rules of peers, and what their streams are called. Rows are pure functions of the events.

use std::collections::BTreeMap;

use factum_model::id::{ChannelId, SessionId};
use factum_model::peer::{ChannelState, PeerRole};
use factum_model::{Event, Fact};
use serde::{Deserialize, Serialize};

use super::apply::apply;
use super::state::{Peer, PeerState};
use crate::key::{IndexChange, Key, KeyReader, row_bytes};
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

    /// A peer of a principal, by its channel.
    pub fn peer(account: &str, principal: &str, channel_id: &ChannelId) -> Vec<u8> {
        Key::table("peer").text(account).text(principal).text(channel_id.as_str()).into_bytes()
    }

    pub fn peers_of(account: &str, principal: &str) -> Vec<u8> {
        Key::table("peer").text(account).text(principal).into_bytes()
    }

    /// There while the last that was recorded of a channel is that it is connected.
    pub fn connected(account: &str, channel_id: &ChannelId) -> Vec<u8> {
        Key::table("peer_connected").text(account).text(channel_id.as_str()).into_bytes()
    }

    pub fn all_connected() -> Vec<u8> {
        Key::table("peer_connected").into_bytes()
    }

    pub fn read_connected(key: &[u8]) -> Option<(String, ChannelId)> {
        let mut reader = KeyReader::new(key);
        reader.text().filter(|table| *table == "peer_connected")?;
        Some((reader.text()?.to_owned(), reader.text()?.parse().ok()?))
    }

    /// There while a channel that decides follows a session, and while one that was asked in it has not heard how that came out.
    pub fn decider(account: &str, session_id: &SessionId, channel_id: &ChannelId) -> Vec<u8> {
        Key::table("peer_decider").text(account).text(session_id.as_str()).text(channel_id.as_str()).into_bytes()
    }

    pub fn deciders_of(account: &str, session_id: &SessionId) -> Vec<u8> {
        Key::table("peer_decider").text(account).text(session_id.as_str()).into_bytes()
    }

    pub fn read_decider(key: &[u8]) -> Option<ChannelId> {
        let mut reader = KeyReader::new(key);
        reader.text().filter(|table| *table == "peer_decider")?;
        let (_account, _session) = (reader.text()?, reader.text()?);
        reader.text()?.parse().ok()
    }
}

/// A line of a list of peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerRow {
    pub channel_id: ChannelId,
    pub peer_role: PeerRole,
}

/// Applies the events of one commit and returns what they change in the index.
pub fn apply_commit(state: &mut PeerState, events: &[Event]) -> Vec<IndexChange> {
    let before = state.peer.as_ref().map(rows).unwrap_or_default();
    for event in events {
        apply(state, event);
    }
    let Some(peer) = &state.peer else { return Vec::new() };
    let now = rows(peer);
    let gone = before.keys().filter(|key| !now.contains_key(*key)).map(|key| IndexChange::Delete { key: key.clone() });
    let mut changes: Vec<IndexChange> = gone.collect();
    changes.extend(
        now.into_iter()
            .filter(|(key, value)| before.get(key) != Some(value))
            .map(|(key, value)| IndexChange::Put { key, value }),
    );
    changes.extend(events.iter().filter_map(|event| match &event.fact {
        Fact::CommandAccepted(fact) => Some(idempotency_row(&peer.account, fact)),
        _ => None,
    }));
    changes
}

/// Every row that a peer has as it stands.
fn rows(peer: &Peer) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let row = PeerRow { channel_id: peer.channel_id.clone(), peer_role: peer.identity.peer_role };
    let key = keys::peer(&peer.account, &peer.principal, &peer.channel_id);
    let mut rows = BTreeMap::from([(key, row_bytes(&row))]);
    if peer.state == ChannelState::Connected {
        rows.insert(keys::connected(&peer.account, &peer.channel_id), Vec::new());
    }
    let decider = |session_id| (keys::decider(&peer.account, &session_id, &peer.channel_id), Vec::new());
    rows.extend(peer.bridged_with().into_iter().map(decider));
    rows
}
