//! What the shell saw at a peer, and which facts about the peer's task follow from it. What they mean for the run is
//! decided in `tasks`.

use std::collections::BTreeMap;

use factum_model::events::{ArtifactChange, ArtifactChanged, ChannelPeerTaskUpdated};
use factum_model::id::ArtifactId;
use factum_model::peer::{DeliveryMechanism, PeerRecovery, PeerTask};
use factum_model::task::TaskStatus;
use factum_model::value::{Metadata, OutputRef};
use factum_model::{NewEvent, Scope};
use serde_json::Value;

use super::state::Delegation;
use crate::context::Context;
use crate::session::text::clip;

/// Under this name an artifact refers to what the peer calls it.
pub(super) const PEER_ARTIFACT_REF: &str = "remote_artifact_id";

/// The most artifacts of one peer's task that are taken in.
const ARTIFACTS_MAX: usize = 1_000;
/// The most of them that are named beside the task, in each fact about it. What each is called stands in its own fact.
const REFS_MAX: usize = 32;
/// The most characters of a peer's words that a fact repeats.
pub const WORDS_MAX: usize = 2_000;

/// Something the shell saw.
#[derive(Clone, Debug, PartialEq)]
pub enum Observed {
    /// The peer's task, in part or as a whole.
    Task(Box<PeerNews>),
    /// The peer answered with a message instead of a task: that is all there is to it. `artifacts` is what the message holds where
    /// its words alone, or as many of them as a fact repeats, are not all of it.
    Replied { text: String, artifacts: Vec<PeerArtifact> },
    /// The peer said something to a task that it has: what becomes of that is another matter.
    Said { text: String },
    /// The peer cannot be reached or does not let us in. `connected` where there was a connection that broke.
    Unavailable { recovery: PeerRecovery, problem: String, connected: bool },
    /// The peer knows no such task.
    Missing { problem: String },
    /// The peer does not take the task.
    Refused { problem: String },
    /// The peer may or may not have the task, and cannot be asked which.
    Untraceable { problem: String },
    /// The peer does not have it, and nobody wants it any more.
    NotSent,
    /// The peer has an answer now.
    Answered { action_id: factum_model::id::ActionId, text: String },
    /// Whether the peer has an answer is not known, and it goes on asking.
    Doubted,
    /// The peer does not take an answer, or does not stop: it is as it was.
    Declined { problem: String },
}

/// A peer's task as it was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerNews {
    pub remote_task_id: String,
    pub remote_context_id: Option<String>,
    /// In our words, and in the peer's.
    pub status: TaskStatus,
    pub native_status: String,
    pub recovery: PeerRecovery,
    pub delivery: DeliveryMechanism,
    pub agent_card_ref: Option<String>,
    /// What the peer says to it.
    pub message: Option<String>,
    /// Which question it is, where the peer asks one: the id of its message, or when it was asked.
    pub question: Option<String>,
    /// What the peer says of it to programs.
    pub terms: Terms,
    pub artifacts: Vec<PeerArtifact>,
    /// Whether this is all of it, artifacts included.
    pub whole: bool,
}

/// How a peer's question is to be answered, where the peer says so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    /// Which of its open actions it is: its answer names it, so that it is not taken for another.
    pub action_id: Option<String>,
    pub tool_name: Option<String>,
    /// The words that are understood.
    pub decisions: Vec<String>,
    pub input_schema: Option<Value>,
}

/// Something the peer made.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerArtifact {
    pub remote_id: String,
    pub name: Option<String>,
    pub content: Option<OutputRef>,
}

/// How the peer's task changed.
pub(in super::super) struct PeerChange {
    pub(in super::super) peer_task: PeerTask,
    pub(in super::super) message: Option<String>,
}

/// `peer:NAME`, as events and attempts name a peer.
pub(super) fn peer_ref(peer: &str) -> String {
    format!("peer:{peer}")
}

pub(super) fn peer_of_ref(reference: &str) -> Option<&str> {
    super::begin::peer_named(reference)
}

impl PeerNews {
    /// Whether these are of another task than the peer's that is known. They say nothing about ours.
    pub(in super::super) fn of_another(&self, delegation: &Delegation) -> bool {
        delegation.peer_task.remote_task_id.as_ref().is_some_and(|known| *known != self.remote_task_id)
    }
}

impl PeerChange {
    /// What these news say. Ids that are known stay as they are: nothing else tells that it is the same task.
    pub(in super::super) fn of(delegation: &Delegation, news: &PeerNews) -> Self {
        let known = &delegation.peer_task;
        let mut refs = known.remote_artifact_refs.clone();
        for artifact in &news.artifacts {
            if !refs.contains(&artifact.remote_id) && refs.len() < REFS_MAX {
                refs.push(artifact.remote_id.clone());
            }
        }
        let peer_task = PeerTask {
            native_protocol: known.native_protocol.clone(),
            remote_task_id: known.remote_task_id.clone().or_else(|| Some(news.remote_task_id.clone())),
            remote_context_id: known.remote_context_id.clone().or_else(|| news.remote_context_id.clone()),
            remote_agent_ref: known.remote_agent_ref.clone(),
            agent_card_ref: news.agent_card_ref.clone().or_else(|| known.agent_card_ref.clone()),
            delivery_mechanism: news.delivery,
            remote_status: news.status,
            native_status: Some(news.native_status.clone()),
            recovery: news.recovery,
            remote_artifact_refs: refs,
        };
        Self { peer_task, message: news.message.as_deref().map(|text| clip(text, WORDS_MAX)) }
    }

    /// The same task, of which something else is known now.
    pub(in super::super) fn only(delegation: &Delegation, recovery: PeerRecovery, message: Option<&str>) -> Self {
        let peer_task = PeerTask { recovery, ..delegation.peer_task.clone() };
        Self { peer_task, message: message.map(|text| clip(text, WORDS_MAX)) }
    }
}

/// The fact that the peer's task changed; nothing where it did not.
pub(in super::super) fn changed(delegation: &Delegation, change: PeerChange) -> Option<ChannelPeerTaskUpdated> {
    if change.peer_task == delegation.peer_task {
        return None;
    }
    let previous_recovery = Some(delegation.peer_task.recovery);
    Some(ChannelPeerTaskUpdated { previous_recovery, message: change.message, peer_task: change.peer_task })
}

/// An artifact that is new or has changed: its fact, its id, and whether it is new.
pub(in super::super) struct TakenIn {
    pub(in super::super) event: NewEvent,
    pub(in super::super) label: String,
    pub(in super::super) new: bool,
}

/// The artifacts among these that are not here yet, or are here in another version.
pub(in super::super) fn taken_in(
    delegation: &Delegation,
    seen: &[PeerArtifact],
    scope: &Scope,
    names: &[String],
    context: &mut Context<'_>,
) -> Vec<TakenIn> {
    let mut taken: Vec<TakenIn> = Vec::new();
    // Of several that are called the same, the last is what the peer made of it.
    let last: BTreeMap<&str, usize> =
        seen.iter().enumerate().map(|(at, artifact)| (artifact.remote_id.as_str(), at)).collect();
    for (at, artifact) in seen.iter().enumerate() {
        if last.get(artifact.remote_id.as_str()) != Some(&at) {
            continue;
        }
        let known = delegation.artifacts.get(&artifact.remote_id);
        let content = artifact.content.as_ref().map(content_key);
        let same = known.is_some_and(|known| known.content == content);
        if same || (known.is_none() && delegation.artifacts.len() + taken.len() >= ARTIFACTS_MAX) {
            continue;
        }
        let artifact_id = known.map_or_else(|| context.artifact_id(), |known| known.artifact_id.clone());
        let used = |name: &str| names.iter().chain(taken.iter().map(|one| &one.label)).any(|taken| taken == name);
        let label = label(artifact.name.as_deref(), &artifact_id, known.is_none(), used);
        let metadata: Metadata = [("peer".to_owned(), peer_ref(&delegation.peer).into())].into_iter().collect();
        let fact = ArtifactChanged {
            name: Some(label.clone()),
            change: ArtifactChange::Observed,
            version: known.map_or(1, |known| known.version + 1),
            content: artifact.content.clone(),
            metadata,
        };
        let mut event = NewEvent::new(scope.clone().artifact_id(&artifact_id), fact);
        event.refs.insert(PEER_ARTIFACT_REF.to_owned(), artifact.remote_id.as_str().into());
        taken.push(TakenIn { event, label, new: known.is_none() });
    }
    taken
}

/// The digest of content that is here, the address of content that is not.
pub(super) fn content_key(content: &OutputRef) -> String {
    content.digest.clone().unwrap_or_else(|| content.r#ref.clone())
}

/// The longest name of an artifact that is kept: it is part of a key.
const LABEL_BYTES_MAX: usize = 200;

/// What an artifact is called here: as the peer calls it, unless that is taken or cannot be a name.
fn label(name: Option<&str>, artifact_id: &ArtifactId, new: bool, used: impl Fn(&str) -> bool) -> String {
    let fits = |name: &&str| !name.is_empty() && name.len() <= LABEL_BYTES_MAX && !name.bytes().any(|byte| byte < b' ');
    match name.filter(fits) {
        Some(name) if !new || !used(name) => name.to_owned(),
        _ => artifact_id.as_str().to_owned(),
    }
}
