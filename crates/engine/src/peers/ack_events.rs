//! `ack_events`: how far a peer has taken in what it was sent.
//!
//! Checking what one peer says and recording what many said together are two steps, because the shell records several
//! acknowledgements of a channel in one commit: what was checked stays true, since streams only grow.

use std::collections::BTreeMap;

use factum_model::commands::{AckEvents, AckEventsResult};
use factum_model::events::ChannelAcknowledged;
use factum_model::{NewEvent, Refusal, Scope};

use super::cursors::{Heads, addressed, head, named};
use super::state::{Peer, PeerState};
use super::token::check_token;
use crate::context::{Context, Decision};

/// What is acknowledged, by stream, and which of them a lone number is about. `shown` names the token that was shown.
pub fn check_ack(
    state: &PeerState,
    command: &AckEvents,
    shown: Option<&str>,
    heads: &Heads,
    caller: &str,
) -> Result<Acknowledged, Refusal> {
    let peer = state.open_of(caller)?;
    check_token(peer, shown)?;
    let cursors = named(peer, command.session_id.as_ref(), command.acknowledged_sequence, &command.cursors)?;
    if cursors.is_empty() {
        return Err(Refusal::invalid("say what is acknowledged: acknowledged_sequence, or cursors"));
    }
    for (stream, sequence) in &cursors {
        let newest = head(stream, state.sequence, heads);
        if *sequence > newest {
            return Err(Refusal::precondition("what does not exist yet cannot be acknowledged")
                .with("stream", stream.as_str())
                .with("acknowledged_sequence", *sequence)
                .with("head_sequence", newest));
        }
    }
    let one = if cursors.len() == 1 { cursors.keys().next().cloned() } else { None };
    let about = match (command.acknowledged_sequence, one) {
        (None, Some(one)) => one,
        (Some(_), _) => addressed(peer, command.session_id.as_ref())?,
        (None, None) => factum_model::peer::OWN_STREAM.to_owned(),
    };
    Ok(Acknowledged { cursors, about })
}

/// An acknowledgement that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Acknowledged {
    pub cursors: BTreeMap<String, u64>,
    /// The stream whose number the answer gives by itself.
    pub about: String,
}

/// Records what moves. Nothing that does is no fact.
pub fn ack_events(
    state: &PeerState,
    cursors: &BTreeMap<String, u64>,
    context: &Context<'_>,
) -> Result<Decision<u64>, Refusal> {
    let peer = state.peer.as_ref().ok_or_else(Refusal::not_found)?;
    let moves = |stream: &str, sequence: u64| {
        peer.cursor(stream).is_some_and(|cursor| sequence > cursor.acknowledged || sequence > cursor.position)
    };
    let moved: BTreeMap<String, u64> =
        cursors.iter().filter(|(stream, sequence)| moves(stream, **sequence)).map(|(s, n)| (s.clone(), *n)).collect();
    let mut events = Vec::new();
    if !moved.is_empty() {
        let scope = Scope::default().channel_id(&peer.channel_id);
        events.push(NewEvent::new(scope, ChannelAcknowledged { cursors: moved }));
    }
    let sequence = context.sequence_after(state.sequence, &events);
    Ok(Decision { output: sequence, events })
}

/// What is acknowledged now, for whoever just said so.
pub fn acknowledged(peer: &Peer, about: &str, sequence: u64) -> AckEventsResult {
    AckEventsResult {
        channel_id: peer.channel_id.clone(),
        last_acknowledged_sequence: peer.cursor(about).unwrap_or_default().acknowledged,
        cursors: peer.streams().map(|(stream, cursor)| (stream.to_owned(), cursor.acknowledged)).collect(),
        sequence,
    }
}
