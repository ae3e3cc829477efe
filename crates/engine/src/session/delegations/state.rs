//! What is remembered of the tasks that peers do for us, until both sides are done with them.

use std::collections::BTreeMap;

use factum_model::Timestamp;
use factum_model::events::ActionType;
use factum_model::id::*;
use factum_model::peer::{PeerRecovery, PeerTask};
use serde::{Deserialize, Serialize};

use super::questions::differ;
use crate::peers::channel_of_peer;

/// The delegations of a session that are not over, by run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delegations {
    pub(super) open: BTreeMap<RunId, Delegation>,
}

/// A run that a peer does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delegation {
    pub task_id: TaskId,
    pub run_id: RunId,
    pub attempt_id: AttemptId,
    /// Its name in the configuration.
    pub peer: String,
    /// The id of the message that gives the peer the task. Chosen before anything was sent.
    pub message_id: String,
    /// What that message says: the task's objective as it was then, whatever it is now. Kept until the peer has it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    pub peer_task: PeerTask,
    /// Grows with each change of the peer's task.
    pub generation: u64,
    /// What was taken in, by the peer's id for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub artifacts: BTreeMap<String, KnownArtifact>,
    /// The open question of the peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<ActionId>,
    /// Which of the peer's questions was asked here last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// What it was asked for: an answer or an authorization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_type: Option<ActionType>,
    /// What the peer calls that question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_action_id: Option<String>,
    /// When the peer took the answer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<Timestamp>,
    /// An answer that the peer has not got yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<PendingAnswer>,
    /// An answer to what the peer asks may have arrived, or not: whoever is asked next is told so.
    #[serde(default)]
    pub doubted: bool,
    /// The remote channel that decides what the peer asks permission for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_through: Option<ChannelId>,
    /// Nobody here wants it any more.
    #[serde(default)]
    pub cancel: bool,
    /// The run ended before the peer did: only the peer has to be told.
    #[serde(default)]
    pub over: bool,
    pub linked_at: Timestamp,
}

/// Something of the peer's that is here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownArtifact {
    pub artifact_id: ArtifactId,
    pub version: u32,
    /// What tells one version from the next.
    pub content: Option<String>,
}

/// What somebody here answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingAnswer {
    /// Also the id of the message that carries it.
    pub action_id: ActionId,
    pub decision: String,
    pub text: String,
    /// What the peer calls the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_action_id: Option<String>,
    /// A restart came before it was known whether it was sent.
    #[serde(default)]
    pub doubted: bool,
}

impl Delegations {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub fn get(&self, run_id: &RunId) -> Option<&Delegation> {
        self.open.get(run_id)
    }

    pub fn all(&self) -> impl Iterator<Item = &Delegation> {
        self.open.values()
    }

    pub(in super::super) fn of_action(&self, action_id: &ActionId) -> Option<&Delegation> {
        self.open.values().find(|delegation| delegation.action.as_ref() == Some(action_id))
    }
}

impl Delegation {
    /// The remote channel that the peer is spoken to through, which its facts are of.
    pub fn channel_id(&self) -> Option<ChannelId> {
        channel_of_peer(&self.peer_task.native_protocol, &self.peer)
    }

    /// Whether a peer that stands so waits for something else than what was asked here last: for an answer instead of an
    /// authorization, or the other way round. Its words do not matter: it need not say any.
    pub fn asks_another_kind(&self, recovery: PeerRecovery) -> bool {
        self.asked_type.zip(asked_by(recovery)).is_some_and(|(asked, now)| asked != now)
    }

    /// Whether a peer that waits and shows this question, where it names it, has the answer to what was asked here last: it asks
    /// something else by now.
    pub fn asks_another(&self, recovery: PeerRecovery, question: Option<&str>) -> bool {
        let asked = self.asked.as_deref().filter(|asked| !asked.is_empty());
        let another = question.zip(asked).is_some_and(|(shown, asked)| differ(shown, asked, self));
        another || self.asks_another_kind(recovery)
    }

    /// Whether the peer is done, as far as is known.
    pub fn peer_is_done(&self) -> bool {
        self.peer_task.recovery == PeerRecovery::CompletedUnreconciled
    }
}

/// What a peer asks for that stands so, if it waits for anything.
pub(super) fn asked_by(recovery: PeerRecovery) -> Option<ActionType> {
    match recovery {
        PeerRecovery::WaitingInput => Some(ActionType::Input),
        PeerRecovery::WaitingAuthorization => Some(ActionType::Authorization),
        _ => None,
    }
}

/// Whether nothing more will come of the peer's task.
pub(super) fn is_final(recovery: PeerRecovery) -> bool {
    matches!(recovery, PeerRecovery::Reconciled | PeerRecovery::Missing | PeerRecovery::Archived)
}
