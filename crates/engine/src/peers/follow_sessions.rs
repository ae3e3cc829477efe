//! `follow_sessions`, and taking part in a session by a command that came through the channel.

use std::collections::{BTreeMap, BTreeSet};

use factum_model::commands::{FollowSessions, FollowSessionsResult};
use factum_model::events::{ChannelFollowed, ChannelUnfollowed};
use factum_model::id::SessionId;
use factum_model::{NewEvent, Refusal, Scope};

use super::state::PeerState;
use crate::context::{Context, Decision, check};

/// The shell has looked whether the sessions exist.
pub fn follow_sessions(
    state: &PeerState,
    command: &FollowSessions,
    context: &Context<'_>,
) -> Result<Decision<FollowSessionsResult>, Refusal> {
    let peer = state.open_of(context.caller)?;
    let unfollowed: BTreeSet<&SessionId> = command.unfollow.iter().collect();
    let (left, stay): (Vec<SessionId>, BTreeSet<SessionId>) = (
        peer.sessions.keys().filter(|session_id| unfollowed.contains(session_id)).cloned().collect(),
        peer.sessions.keys().filter(|session_id| !unfollowed.contains(session_id)).cloned().collect(),
    );
    let begun: BTreeMap<SessionId, u64> = command
        .follow
        .iter()
        .filter(|session_id| !stay.contains(*session_id))
        .map(|session_id| (session_id.clone(), 0))
        .collect();
    check("channel_sessions", stay.len() + begun.len(), context.limits.channel_sessions_max)?;
    let sessions: BTreeSet<SessionId> = stay.into_iter().chain(begun.keys().cloned()).collect();
    let scope = Scope::default().channel_id(&peer.channel_id);
    let mut events = Vec::new();
    if !left.is_empty() {
        events.push(NewEvent::new(scope.clone(), ChannelUnfollowed { session_ids: left }));
    }
    if !begun.is_empty() {
        events.push(NewEvent::new(scope, ChannelFollowed { since: begun }));
    }
    let sequence = context.sequence_after(state.sequence, &events);
    let output = FollowSessionsResult {
        channel_id: peer.channel_id.clone(),
        session_ids: sessions.into_iter().collect(),
        sequence,
    };
    Ok(Decision { events, output })
}

/// A command came through the channel and changed sessions: it takes part in them from there on. Their facts are recorded
/// already, so no bound refuses this; the shell asks for room before the command.
pub fn join_sessions(
    state: &PeerState,
    since: &BTreeMap<SessionId, u64>,
    context: &Context<'_>,
) -> Result<Decision<u64>, Refusal> {
    let peer = state.open_of(context.caller)?;
    let since: BTreeMap<SessionId, u64> = since
        .iter()
        .filter(|(session_id, _)| !peer.sessions.contains_key(*session_id))
        .map(|(session_id, since)| (session_id.clone(), *since))
        .collect();
    let mut events = Vec::new();
    if !since.is_empty() {
        events.push(NewEvent::new(Scope::default().channel_id(&peer.channel_id), ChannelFollowed { since }));
    }
    let output = context.sequence_after(state.sequence, &events);
    Ok(Decision { events, output })
}
