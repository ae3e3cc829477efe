//! The intent: that a peer does a run, and by which message it is told, recorded before anything is sent.

use factum_model::events::{ChannelPeerTaskLinked, ChannelPeerTaskUpdated};
use factum_model::id::ChannelId;
use factum_model::peer::{DeliveryMechanism, Direction, PeerRecovery, PeerTask};
use factum_model::task::TaskStatus;
use factum_model::{NewEvent, Scope};

use super::observe::peer_ref;
use super::state::{Delegation, Delegations};
use crate::context::Context;
use crate::peers::channel_of_peer;
use crate::session::state::Shell;

/// Under this name a link refers to the message that gives the peer the task.
pub(super) const MESSAGE_REF: &str = "message_id";

/// Under this name it refers to the remote channel that decides what the peer asks permission for.
pub(super) const DECIDER_REF: &str = "decided_through";

/// Under this name a restart refers to an answer that may have been sent.
pub(super) const ANSWER_REF: &str = "answer_cut_off";

/// What peers are spoken to in.
const PROTOCOL: &str = "a2a";

/// What a worker or assignee is called that is a peer.
const PREFIX: &str = "peer:";

/// The peer that a worker or an assignee names, if it is one.
pub fn peer_named(worker: &str) -> Option<&str> {
    worker.strip_prefix(PREFIX).filter(|name| !name.is_empty())
}

/// The fact that links a run to a peer's task that does not exist yet. `decider` is the channel that the work came through, where
/// its peer decides.
pub(in super::super) fn link(
    mut scope: Scope,
    peer: &str,
    decider: Option<ChannelId>,
    context: &mut Context<'_>,
) -> NewEvent {
    let peer_task = PeerTask {
        native_protocol: PROTOCOL.to_owned(),
        remote_task_id: None,
        remote_context_id: None,
        remote_agent_ref: Some(peer_ref(peer)),
        agent_card_ref: None,
        delivery_mechanism: DeliveryMechanism::Polling,
        remote_status: TaskStatus::Unknown,
        native_status: None,
        recovery: PeerRecovery::Unknown,
        remote_artifact_refs: Vec::new(),
    };
    scope.channel_id = channel_of_peer(PROTOCOL, peer);
    let message_id = context.message_id();
    let mut event = NewEvent::new(scope, ChannelPeerTaskLinked { direction: Direction::Outbound, peer_task });
    event.refs.insert(MESSAGE_REF.to_owned(), message_id.as_str().into());
    event.refs.extend(decider.map(|decider| (DECIDER_REF.to_owned(), decider.as_str().into())));
    event
}

/// After a restart nobody knows how the peers' tasks stand, until they are asked. None of them failed because of it.
pub(in super::super) fn carry_on(delegations: &Delegations, shell: &Shell, events: &mut Vec<NewEvent>) {
    for delegation in delegations.all() {
        // What is known to be done stays so: only our side has to catch up.
        let done = delegation.peer_is_done();
        let recovery = if done { PeerRecovery::CompletedUnreconciled } else { PeerRecovery::Unknown };
        let fact = ChannelPeerTaskUpdated {
            previous_recovery: Some(delegation.peer_task.recovery),
            message: Some("carried on after a restart".to_owned()),
            peer_task: PeerTask { recovery, ..delegation.peer_task.clone() },
        };
        let mut event = NewEvent::new(run_scope(delegation, shell), fact);
        let answer = delegation.answer.as_ref().map(|answer| answer.action_id.as_str().into());
        event.refs.extend(answer.map(|action_id| (ANSWER_REF.to_owned(), action_id)));
        events.push(event);
    }
}

fn run_scope(delegation: &Delegation, shell: &Shell) -> Scope {
    let scope = Scope::default().session_id(&shell.session_id).task_id(&delegation.task_id);
    let scope = scope.run_id(&delegation.run_id).attempt_id(&delegation.attempt_id);
    Scope { channel_id: delegation.channel_id(), ..scope }
}
