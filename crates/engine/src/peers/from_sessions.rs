//! What a session's facts say of a channel that has no facts of its own for it: the channels of A2A clients and of the peers
//! that we speak to. Each piece is what the fact says that stands in the session.

use std::collections::BTreeSet;

use factum_model::Timestamp;
use factum_model::events::ActionType;
use factum_model::id::{RunId, SessionId, TaskId};
use factum_model::peer::{
    ChannelSnapshot, ChannelState, FollowedSession, PeerRecovery, PeerTask, PeerTaskLink, PermissionBridge,
};

use crate::session::tasks::inbound::{InboundRow, native_status, recovery};
use crate::session::{Asked, OpenAction, SessionState, asked_in};

/// What sessions add to a channel's summary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FromSessions {
    pub sessions: Vec<FollowedSession>,
    pub peer_tasks: Vec<PeerTaskLink>,
    pub permission_bridge: Vec<PermissionBridge>,
    pub last_seen_at: Option<Timestamp>,
    /// Where they tell whether the peer is there.
    pub state: Option<ChannelState>,
}

impl FromSessions {
    pub fn add_to(self, summary: &mut ChannelSnapshot) {
        // One that the channel follows as well is told of once, with what it acknowledged.
        let followed: BTreeSet<SessionId> = summary.sessions.iter().map(|one| one.session_id.clone()).collect();
        summary.sessions.extend(self.sessions.into_iter().filter(|one| !followed.contains(&one.session_id)));
        summary.peer_tasks.extend(self.peer_tasks);
        summary.permission_bridge.extend(self.permission_bridge);
        let channel = &mut summary.channel;
        channel.last_seen_at = channel.last_seen_at.max(self.last_seen_at);
        channel.state = self.state.unwrap_or(channel.state);
    }
}

/// A task that a client gave to us. `linked` is what its first fact says; how it stands is in its row.
pub fn linked_by_client(row: &InboundRow, linked: PeerTask) -> PeerTaskLink {
    let native_status = native_status(&linked.native_protocol, row.status, row.rejected).map(str::to_owned);
    PeerTaskLink {
        session_id: Some(row.session_id.clone()),
        task_id: Some(row.task_id.clone()),
        subagent_id: None,
        peer_task: PeerTask { remote_status: row.status, recovery: recovery(row.status), native_status, ..linked },
    }
}

/// What a client is asked permission for by its task.
pub fn asked_of_client(state: &SessionState, task_id: &TaskId) -> Vec<PermissionBridge> {
    let (Some(shell), Some(link)) = (&state.shell, state.inbound.get(task_id)) else { return Vec::new() };
    let Some(turn_id) = &link.turn_id else { return Vec::new() };
    let asks = |action: &&OpenAction| {
        matches!(action.required.action_type, ActionType::ToolPermission | ActionType::Authorization)
    };
    let question = |action: &OpenAction| open(state, action, &shell.session_id, action.decided_through.is_some());
    asked_in(state, turn_id).filter(asks).map(question).collect()
}

/// A run that a peer does, and what that peer asks permission for.
pub fn given_to_peer(state: &SessionState, run_id: &RunId) -> Option<(PeerTaskLink, Option<PermissionBridge>)> {
    let (shell, delegation) = (state.shell.as_ref()?, state.delegations.get(run_id)?);
    let task = PeerTaskLink {
        session_id: Some(shell.session_id.clone()),
        task_id: Some(delegation.task_id.clone()),
        subagent_id: None,
        peer_task: delegation.peer_task.clone(),
    };
    let asked = delegation.action.as_ref().and_then(|action_id| state.action(action_id));
    let asked = asked.filter(|action| action.required.action_type == ActionType::Authorization);
    let question = asked.map(|action| open(state, action, &shell.session_id, true));
    Some((task, question))
}

fn open(state: &SessionState, action: &OpenAction, session_id: &SessionId, channel_scoped: bool) -> PermissionBridge {
    let Asked { by: requesting_peer, subject } = Asked::in_session(state, action);
    PermissionBridge {
        action_id: action.action_id.clone(),
        session_id: Some(session_id.clone()),
        requesting_peer,
        subject,
        prompt: Some(action.required.prompt.clone()),
        channel_scoped,
        forwarded_at: action.required_at,
        expires_at: action.required.timeout_at,
        decision: None,
        decided_by: None,
        source: None,
    }
}

/// Whether a peer is there, by what is known of the tasks that it has. Nothing where it has none.
pub fn reachable(tasks: &[PeerTaskLink]) -> Option<ChannelState> {
    let state = |task: &PeerTaskLink| match task.peer_task.recovery {
        PeerRecovery::NetworkUnavailable | PeerRecovery::AuthUnavailable => ChannelState::Disconnected,
        PeerRecovery::Unknown | PeerRecovery::Missing => ChannelState::Unknown,
        _ => ChannelState::Connected,
    };
    let rank = |state: &ChannelState| match state {
        ChannelState::Connected => 2,
        ChannelState::Disconnected => 1,
        _ => 0,
    };
    tasks.iter().map(state).max_by_key(rank)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn task(recovery: &str) -> PeerTaskLink {
        let task = json!({
            "native_protocol": "a2a", "delivery_mechanism": "polling", "remote_status": "unknown", "recovery": recovery,
        });
        serde_json::from_value(task).expect("a task")
    }

    #[test]
    fn a_peer_is_there_if_any_of_its_tasks_can_be_seen() {
        for (recoveries, state) in [
            (&[][..], None),
            (&["unknown"], Some(ChannelState::Unknown)),
            (&["unknown", "network_unavailable"], Some(ChannelState::Disconnected)),
            (&["auth_unavailable"], Some(ChannelState::Disconnected)),
            (&["network_unavailable", "waiting_authorization"], Some(ChannelState::Connected)),
        ] {
            let tasks: Vec<PeerTaskLink> = recoveries.iter().map(|recovery| task(recovery)).collect();
            assert_eq!(reachable(&tasks), state, "{recoveries:?}");
        }
    }
}
