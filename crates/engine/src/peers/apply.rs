//! The fold: how each fact changes what is known of a peer. Total: it never fails and never asks the clock.

use std::collections::BTreeMap;

use factum_model::events::*;
use factum_model::id::SessionId;
use factum_model::peer::{ChannelState, DisconnectReason, PeerTask, PeerTaskLink, PermissionBridge};
use factum_model::{Event, Fact, Scope, Timestamp};

use super::push_ahead;
use super::state::{Bridged, Cursor, DECIDED_KEPT_MAX, Followed, PEER_TASKS_KEPT_MAX, Peer, PeerState};

/// Applies one event.
pub fn apply(state: &mut PeerState, event: &Event) {
    apply_fact(state, event.sequence, event.timestamp, &event.scope, &event.fact);
}

/// The same for a fact that is about to become an event.
pub(super) fn apply_fact(state: &mut PeerState, sequence: u64, at: Timestamp, scope: &Scope, fact: &Fact) {
    state.sequence = sequence;
    if let Fact::ChannelConnected(fact) = fact {
        connect(state, at, scope, fact);
    }
    let Some(peer) = &mut state.peer else { return };
    peer.updated_at = at;
    peer.seen_at = peer.seen_at.max(seen_at(at, fact));
    match fact {
        Fact::ChannelDisconnected(fact) => disconnect(peer, fact.reason),
        Fact::ChannelResumed(fact) => resume(peer, fact),
        Fact::ChannelFollowed(fact) => follow(peer, &fact.since),
        Fact::ChannelUnfollowed(fact) => peer.sessions.retain(|session_id, _| !fact.session_ids.contains(session_id)),
        Fact::ChannelAcknowledged(fact) => acknowledge(peer, &fact.cursors),
        Fact::ChannelPermissionForwarded(fact) => forward(peer, at, scope, fact),
        Fact::ChannelPermissionReturned(fact) => give_back(peer, scope, fact),
        Fact::ChannelPeerTaskLinked(fact) => task_changed(peer, scope, &fact.peer_task),
        Fact::ChannelPeerTaskUpdated(fact) => task_changed(peer, scope, &fact.peer_task),
        Fact::PushConfigSet(fact) => push_ahead::set(peer, scope, fact),
        Fact::PushConfigDeleted(_) => push_ahead::drop(peer, scope),
        _ => {}
    }
}

/// When the peer was there, by a fact: it made it come about, or somebody says when it was last heard of.
fn seen_at(at: Timestamp, fact: &Fact) -> Option<Timestamp> {
    match fact {
        Fact::ChannelConnected(_)
        | Fact::ChannelResumed(_)
        | Fact::ChannelFollowed(_)
        | Fact::ChannelUnfollowed(_)
        | Fact::ChannelAcknowledged(_)
        | Fact::PushConfigSet(_)
        | Fact::PushConfigDeleted(_) => Some(at),
        Fact::ChannelDisconnected(fact) => fact.last_seen_at,
        _ => None,
    }
}

/// The first connection says whose the channel is; later ones say what the peer is now.
fn connect(state: &mut PeerState, at: Timestamp, scope: &Scope, fact: &ChannelConnected) {
    let identity = fact.identity.clone();
    let since = fact.session_ids.iter().map(|session_id| (session_id.clone(), 0)).collect();
    if let Some(peer) = &mut state.peer {
        peer.identity = identity;
        peer.state = ChannelState::Connected;
        peer.closed = false;
        follow(peer, &since);
        return;
    }
    let (Some(channel_id), Some(account), Some(principal)) =
        (scope.channel_id.clone(), identity.account_ref.clone(), identity.peer_ref.clone())
    else {
        return;
    };
    let mut peer = Peer {
        account,
        channel_id,
        principal,
        identity,
        enrolled_at: at,
        updated_at: at,
        seen_at: None,
        state: ChannelState::Connected,
        closed: false,
        own: Cursor::default(),
        sessions: BTreeMap::new(),
        bridge: Vec::new(),
        peer_tasks: Vec::new(),
        push_ahead: Vec::new(),
    };
    follow(&mut peer, &since);
    state.peer = Some(peer);
}

/// A peer that left for good is sent nothing more and cannot resume; one that was lost can.
fn disconnect(peer: &mut Peer, reason: DisconnectReason) {
    peer.state = ChannelState::Disconnected;
    if reason == DisconnectReason::ClosedByPeer {
        peer.closed = true;
        peer.identity.resume_token_ref = None;
        peer.sessions.clear();
    }
}

/// Where a stream goes on says nothing about what its peer took in: it may go on behind a gap.
fn resume(peer: &mut Peer, fact: &ChannelResumed) {
    peer.state = ChannelState::Connected;
    if fact.resume_token_ref.is_some() {
        peer.identity.resume_token_ref = fact.resume_token_ref.clone();
    }
    for (stream, position) in &fact.cursors {
        if let Some(cursor) = peer.cursor_mut(stream) {
            cursor.position = *position;
            cursor.resumed = Some(*position);
        }
    }
}

/// A session that is followed already keeps its place.
fn follow(peer: &mut Peer, since: &BTreeMap<SessionId, u64>) {
    for (session_id, since) in since {
        let cursor = Cursor { acknowledged: *since, position: *since, resumed: None };
        peer.sessions.entry(session_id.clone()).or_insert(Followed { since: *since, cursor });
    }
}

fn acknowledge(peer: &mut Peer, cursors: &BTreeMap<String, u64>) {
    for (stream, sequence) in cursors {
        if let Some(cursor) = peer.cursor_mut(stream) {
            cursor.acknowledged = cursor.acknowledged.max(*sequence);
            cursor.position = cursor.position.max(*sequence);
        }
    }
}

fn forward(peer: &mut Peer, at: Timestamp, scope: &Scope, fact: &ChannelPermissionForwarded) {
    let Some(action_id) = scope.action_id.clone() else { return };
    let entry = PermissionBridge {
        action_id,
        session_id: scope.session_id.clone(),
        requesting_peer: fact.requesting_peer.clone(),
        subject: fact.subject.clone(),
        prompt: fact.prompt.clone(),
        channel_scoped: fact.channel_scoped,
        forwarded_at: at,
        expires_at: fact.expires_at,
        decision: None,
        decided_by: None,
        source: None,
    };
    peer.bridge.push(Bridged { entry, scope: scope.clone() });
}

fn give_back(peer: &mut Peer, scope: &Scope, fact: &ChannelPermissionReturned) {
    let open = |bridged: &&mut Bridged| {
        bridged.entry.decision.is_none() && Some(&bridged.entry.action_id) == scope.action_id.as_ref()
    };
    if let Some(bridged) = peer.bridge.iter_mut().find(open) {
        bridged.entry.decision = Some(fact.decision);
        bridged.entry.decided_by = Some(fact.decided_by.clone());
        bridged.entry.source = Some(fact.source);
    }
    let decided = peer.bridge.iter().filter(|bridged| bridged.entry.decision.is_some()).count();
    if decided > DECIDED_KEPT_MAX
        && let Some(oldest) = peer.bridge.iter().position(|bridged| bridged.entry.decision.is_some())
    {
        peer.bridge.remove(oldest);
    }
}

/// A peer's task is known by the peer's own id, or by the context it is talked about in where it has none yet.
fn task_changed(peer: &mut Peer, scope: &Scope, task: &PeerTask) {
    let name = |task: &PeerTask| (task.remote_task_id.clone(), task.remote_context_id.clone());
    let same = |known: &PeerTaskLink| match (&known.peer_task.remote_task_id, &task.remote_task_id) {
        (Some(known), Some(task)) => known == task,
        _ => name(&known.peer_task) == name(task),
    };
    let link = PeerTaskLink {
        session_id: scope.session_id.clone(),
        task_id: scope.task_id.clone(),
        subagent_id: scope.subagent_id.clone(),
        peer_task: task.clone(),
    };
    match peer.peer_tasks.iter_mut().find(|known| same(known)) {
        Some(known) => *known = link,
        None => {
            if peer.peer_tasks.len() == PEER_TASKS_KEPT_MAX {
                peer.peer_tasks.remove(0);
            }
            peer.peer_tasks.push(link);
        }
    }
}
