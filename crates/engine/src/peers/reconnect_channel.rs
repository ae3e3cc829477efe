//! `reconnect_channel`: a peer comes back. Where each of its streams goes on is decided here; what it cannot be given is said.

use std::collections::BTreeMap;

use factum_model::commands::{ReconnectChannel, ReconnectChannelResult};
use factum_model::events::{ChannelAcknowledged, ChannelDisconnected, ChannelResumed, Gap, SnapshotRepaired};
use factum_model::id::SessionId;
use factum_model::peer::{DisconnectReason, OWN_STREAM, ResumeMethod, StreamCursor};
use factum_model::{NewEvent, Refusal, Scope, Timestamp};

use super::apply::apply_fact;
use super::cursors::{Heads, addressed, head, named};
use super::read_model::{Presence, summary};
use super::state::{Cursor, Peer, PeerState};
use super::token::check_token;
use crate::context::{Context, Decision};

/// The name of the read model a peer loads first.
pub(super) const CHANNEL_SUMMARY: &str = "channel_summary";

/// What the shell knows that no fact says.
pub struct Return<'a> {
    /// The name of the token that was shown.
    pub shown: Option<&'a str>,
    /// The name of the token it gets.
    pub token_ref: String,
    /// An older connection of the channel is open.
    pub replaces: bool,
    pub last_seen_at: Option<Timestamp>,
    pub heads: &'a Heads,
}

pub fn reconnect_channel(
    state: &PeerState,
    command: &ReconnectChannel,
    back: &Return<'_>,
    context: &Context<'_>,
) -> Result<Decision<ReconnectChannelResult>, Refusal> {
    let peer = state.open_of(context.caller)?;
    check_token(peer, back.shown)?;
    let given = named(peer, command.session_id.as_ref(), command.last_acknowledged_sequence, &command.cursors)?;
    let about = addressed(peer, command.session_id.as_ref()).unwrap_or_else(|_| OWN_STREAM.to_owned());
    // What was acknowledged exists, also of a session that was joined since the shell looked.
    let head = |stream: &str, cursor: Cursor| head(stream, state.sequence, back.heads).max(cursor.acknowledged);
    let streams: Vec<StreamCursor> = peer
        .streams()
        .map(|(stream, cursor)| {
            let said = given.get(stream).copied();
            go_on(stream, cursor.acknowledged, said, head(stream, cursor), context.limits.replay_events_max)
        })
        .collect();
    // A peer that says what it has got has acknowledged it, as far as that exists.
    let got = |(stream, cursor): (&str, Cursor)| {
        let said = given.get(stream).filter(|said| **said > cursor.acknowledged && **said <= head(stream, cursor))?;
        Some((stream.to_owned(), *said))
    };
    let acknowledged: BTreeMap<String, u64> = peer.streams().filter_map(got).collect();
    let method = match (back.shown, given.is_empty()) {
        (Some(_), _) => ResumeMethod::Token,
        (None, false) => ResumeMethod::Cursor,
        (None, true) => ResumeMethod::Snapshot,
    };
    let scope = Scope::default().channel_id(&peer.channel_id);
    let mut events = Vec::new();
    if back.replaces {
        events.push(NewEvent::new(scope.clone(), disconnected(peer, DisconnectReason::Replaced, back.last_seen_at)));
    }
    let last_acknowledged_sequence =
        acknowledged.get(&about).copied().or(peer.cursor(&about).map(|cursor| cursor.acknowledged));
    if !acknowledged.is_empty() {
        events.push(NewEvent::new(scope.clone(), ChannelAcknowledged { cursors: acknowledged }));
    }
    events.extend(streams.iter().filter_map(|stream| repaired(&scope, stream)));
    let here = streams.iter().find(|stream| stream.stream == about);
    let (resume_from, gap) = here.map_or((0, None), |here| (here.resume_from, here.gap.clone()));
    let resumed = ChannelResumed {
        method,
        resume_from,
        last_acknowledged_sequence,
        gap: gap.clone(),
        resume_token_ref: Some(back.token_ref.clone()),
        cursors: streams.iter().map(|stream| (stream.stream.clone(), stream.resume_from)).collect(),
    };
    events.push(NewEvent::new(scope, resumed));
    let sequence = context.sequence_after(state.sequence, &events);
    let after = after(state, &events, sequence, context.now);
    let presence = Presence { here: true, last_seen_at: Some(context.now), transport: None };
    let snapshot = summary(&after, &presence, back.heads).ok_or_else(Refusal::not_found)?;
    // The token is the shell's to add: what is recorded of the answer must not hold it.
    let output = ReconnectChannelResult { snapshot, resume_from, gap, streams, resume_token: None, sequence };
    Ok(Decision { events, output })
}

/// A peer that is sent its streams again without having asked what it missed: it goes on where it stands.
pub(super) fn resumed_in_place(peer: &Peer, own: u64) -> ChannelResumed {
    ChannelResumed {
        method: ResumeMethod::Cursor,
        resume_from: peer.own.position.min(own),
        last_acknowledged_sequence: Some(peer.own.acknowledged),
        gap: None,
        resume_token_ref: None,
        cursors: BTreeMap::new(),
    }
}

pub(super) fn disconnected(
    peer: &Peer,
    reason: DisconnectReason,
    last_seen_at: Option<Timestamp>,
) -> ChannelDisconnected {
    let last_acknowledged_sequence = Some(peer.own.acknowledged);
    ChannelDisconnected { reason, detail: None, last_seen_at, last_acknowledged_sequence }
}

/// Where a stream goes on, and what of it cannot be given: behind what the peer says it has, or else behind what it
/// acknowledged (seed 000). A place that the log does not have is no place to go on from, so there it is the latter, too.
fn go_on(stream: &str, acknowledged: u64, said: Option<u64>, head: u64, replay_max: u64) -> StreamCursor {
    let stream = stream.to_owned();
    let gap =
        |from_sequence, to_sequence, reason: &str| Some(Gap { from_sequence, to_sequence, reason: reason.to_owned() });
    let ahead = said.filter(|said| *said > head);
    let from = said.filter(|said| *said <= head).unwrap_or(acknowledged);
    if head - from > replay_max {
        let resume_from = head - replay_max;
        let gap = gap(from + 1, resume_from, "more than replay_events_max events behind");
        return StreamCursor { stream, resume_from, gap };
    }
    let gap = ahead.and_then(|said| gap(head + 1, said, "the cursor is ahead of the log"));
    StreamCursor { stream, resume_from: from, gap }
}

/// Seed 000: where replay is unavailable, a repair fact marks the gap.
fn repaired(scope: &Scope, stream: &StreamCursor) -> Option<NewEvent> {
    let gap = stream.gap.clone()?;
    let session_id: Option<SessionId> = stream.stream.parse().ok();
    let fact = SnapshotRepaired {
        snapshot: CHANNEL_SUMMARY.to_owned(),
        as_of_sequence: stream.resume_from,
        reason: gap.reason.clone(),
        gap: Some(gap),
        degraded: true,
    };
    Some(NewEvent::new(Scope { session_id, ..scope.clone() }, fact))
}

/// The state once these events are recorded.
fn after(state: &PeerState, events: &[NewEvent], sequence: u64, now: Timestamp) -> PeerState {
    let mut after = state.clone();
    for event in events {
        apply_fact(&mut after, sequence, now, &event.scope, &event.fact);
    }
    after
}
