//! How a peer names its places: one number for the one stream it can mean, or a number for each stream.

use std::collections::BTreeMap;

use factum_model::Refusal;
use factum_model::id::SessionId;
use factum_model::peer::OWN_STREAM;

use super::state::Peer;

/// The newest sequence of each session a channel follows, as the shell found it. They only grow, so a little late is fine.
pub type Heads = BTreeMap<SessionId, u64>;

/// Which stream a number without a name is about: the session that is named, the only one that is followed, or the
/// channel's own stream where none is.
pub(super) fn addressed(peer: &Peer, session_id: Option<&SessionId>) -> Result<String, Refusal> {
    if let Some(session_id) = session_id {
        return Ok(session_id.to_string());
    }
    let mut sessions = peer.sessions.keys();
    match (sessions.next(), sessions.next()) {
        (None, _) => Ok(OWN_STREAM.to_owned()),
        (Some(only), None) => Ok(only.to_string()),
        _ => Err(Refusal::invalid("the channel follows several sessions: name session_id, or give cursors")),
    }
}

/// Every place that was named, by stream. Streams that the channel is not sent are refused, whatever they are.
pub(super) fn named(
    peer: &Peer,
    session_id: Option<&SessionId>,
    sequence: Option<u64>,
    cursors: &BTreeMap<String, u64>,
) -> Result<BTreeMap<String, u64>, Refusal> {
    let mut named = cursors.clone();
    if let Some(sequence) = sequence {
        let stream = addressed(peer, session_id)?;
        // Nobody can say which of the two was meant, and the wrong one loses events or repeats them.
        if named.get(&stream).is_some_and(|other| *other != sequence) {
            let message = "one stream has two places: the number that stands alone and its cursor differ";
            return Err(Refusal::invalid(message).with("stream", stream));
        }
        named.insert(stream, sequence);
    }
    if named.keys().any(|stream| peer.cursor(stream).is_none()) {
        return Err(Refusal::precondition("the channel does not follow this session; follow_sessions lets it begin"));
    }
    Ok(named)
}

/// The newest sequence of a stream. A session that the shell did not look at has nothing that could be acknowledged.
pub(super) fn head(stream: &str, own: u64, heads: &Heads) -> u64 {
    if stream == OWN_STREAM {
        return own;
    }
    stream.parse().ok().and_then(|session_id: SessionId| heads.get(&session_id).copied()).unwrap_or(0)
}
