//! How a peer's task stands, as a fact of the peer's channel (seed 000, `channel.peer_task.updated`): our status and the word
//! that the peer's own protocol has for it.
//!
//! A link lets expect that the task is done and completes, and the facts of the task say when. Only what departs from that is told,
//! and everything behind it: that it waits for its peer and goes on, that it ended otherwise. A task that is simply done costs
//! nothing here.

use factum_model::events::ChannelPeerTaskUpdated;
use factum_model::id::TaskId;
use factum_model::peer::{PeerRecovery, PeerTask};
use factum_model::task::TaskStatus;
use factum_model::{Fact, NewEvent};

use super::links::Link;
use super::shown::Word;
use crate::session::tasks::draft::Draft;

/// The protocol whose words are known.
const A2A: &str = "a2a";

/// Behind a fact that changed how a task stands.
pub(in crate::session::tasks) fn tell_peer(draft: &mut Draft<'_, '_>, task_id: &TaskId) {
    let Some(link) = draft.state.inbound.get(task_id) else { return };
    let told = last_told(&draft.events, task_id).or(link.told);
    let Some(task) = draft.tasks.get(task_id) else { return };
    let status = task.row.status;
    let expected = told.is_none() && matches!(status, TaskStatus::Running | TaskStatus::Completed);
    if expected || told == Some(status) {
        return;
    }
    let rejected = task.row.last_error.as_ref().is_some_and(|error| error.is_rejection());
    let fact = ChannelPeerTaskUpdated {
        previous_recovery: Some(told.map_or(PeerRecovery::Running, recovery)),
        message: task.row.status_reason.clone(),
        peer_task: peer_task(link, status, rejected),
    };
    draft.push(draft.scope(task_id).channel_id(&link.channel_id), fact);
}

/// What this decision said already: a task may end twice over in one, once for itself and once for what was below it.
fn last_told(events: &[NewEvent], task_id: &TaskId) -> Option<TaskStatus> {
    events.iter().rev().filter(|event| event.scope.task_id.as_ref() == Some(task_id)).find_map(|event| {
        match &event.fact {
            Fact::ChannelPeerTaskUpdated(fact) if event.scope.run_id.is_none() => Some(fact.peer_task.remote_status),
            _ => None,
        }
    })
}

fn peer_task(link: &Link, status: TaskStatus, rejected: bool) -> PeerTask {
    PeerTask {
        native_protocol: link.native_protocol.to_string(),
        remote_task_id: Some(link.remote_task_id.to_string()),
        remote_context_id: Some(link.remote_context_id.to_string()),
        remote_agent_ref: Some(link.principal.to_string()),
        agent_card_ref: None,
        delivery_mechanism: link.delivery,
        remote_status: status,
        native_status: native_status(&link.native_protocol, status, rejected).map(str::to_owned),
        recovery: recovery(status),
        remote_artifact_refs: Vec::new(),
    }
}

/// What is known of a peer's task that is done here.
pub(crate) fn recovery(status: TaskStatus) -> PeerRecovery {
    match status {
        TaskStatus::WaitingInput => PeerRecovery::WaitingInput,
        TaskStatus::WaitingPermission => PeerRecovery::WaitingAuthorization,
        status if status.is_terminal() || status == TaskStatus::Archived => PeerRecovery::Reconciled,
        TaskStatus::Running => PeerRecovery::Running,
        _ => PeerRecovery::Idle,
    }
}

/// The word that the peer's protocol has for a status of ours, where it is known.
pub(crate) fn native_status(protocol: &str, status: TaskStatus, rejected: bool) -> Option<&'static str> {
    if protocol != A2A {
        return None;
    }
    Some(match Word::of(status) {
        Some(Word::Submitted) => "TASK_STATE_SUBMITTED",
        Some(Word::Working) => "TASK_STATE_WORKING",
        Some(Word::InputRequired) => "TASK_STATE_INPUT_REQUIRED",
        Some(Word::AuthRequired) => "TASK_STATE_AUTH_REQUIRED",
        Some(Word::Completed) => "TASK_STATE_COMPLETED",
        Some(Word::Failed) if rejected => "TASK_STATE_REJECTED",
        Some(Word::Failed) => "TASK_STATE_FAILED",
        Some(Word::Canceled) => "TASK_STATE_CANCELED",
        None => "TASK_STATE_UNSPECIFIED",
    })
}
