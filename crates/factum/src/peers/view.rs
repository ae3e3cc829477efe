//! A task of A2A as the runtime sees it (seed 000, "A2A alignment"): its state in our words beside the peer's own, its
//! artifacts as content, its message as words.

use a2a::{Artifact, Message, Part, PartContent, Task, TaskState, TaskStatus as NativeStatus, TaskStatusUpdateEvent};
use factum_a2a::client::Peer;
use factum_model::peer::{DeliveryMechanism, PeerRecovery};
use factum_model::task::TaskStatus;
use factum_runtime::{ArtifactContent, PeerView, Remote, Terms, ViewedArtifact, WORDS_MAX};
use serde_json::Value;

/// The longest name of a message by which what it holds is named.
const MESSAGE_ID_BYTES_MAX: usize = 128;
/// The media type of a text that does not say which it is.
const PLAIN_TEXT: &str = "text/plain; charset=utf-8";

/// A whole task.
pub(super) fn of_task(peer: &Peer, task: &Task) -> PeerView {
    let native = peer.native_status(&task.status.state, task.metadata.as_ref());
    let view = of_status(peer, &task.id, &task.context_id, &task.status, native);
    // The last word of a task may be all that came of it.
    let over = view.recovery == PeerRecovery::CompletedUnreconciled;
    let said = task.status.message.as_ref().filter(|_| over).map(contents).unwrap_or_default();
    let artifacts = task.artifacts.iter().flatten().map(artifact).chain(said).collect();
    PeerView { artifacts, whole: true, ..view }
}

/// A status, without what was made so far.
pub(super) fn of_update(peer: &Peer, update: &TaskStatusUpdateEvent) -> PeerView {
    let native = peer.native_status(&update.status.state, update.metadata.as_ref());
    of_status(peer, &update.task_id, &update.context_id, &update.status, native)
}

fn of_status(peer: &Peer, task_id: &str, context_id: &str, status: &NativeStatus, native_status: String) -> PeerView {
    let (ours, recovery) = meaning(&status.state);
    let asks = matches!(recovery, PeerRecovery::WaitingInput | PeerRecovery::WaitingAuthorization);
    let terms = status.message.as_ref().filter(|_| asks).map(terms).unwrap_or_default();
    let question = || {
        let message = status.message.as_ref().map(|message| message.message_id.clone());
        // Who names the action that is open says best which question it is: not every form of A2A has a place for the message's
        // id. A message without an id tells nothing apart.
        let named = terms.action_id.clone().or(message.filter(|id| !id.is_empty()));
        named.or_else(|| status.timestamp.map(|at| at.to_rfc3339()))
    };
    let question = asks.then(question).flatten();
    let streaming = peer.card().streaming;
    PeerView {
        remote: Remote {
            task_id: task_id.to_owned(),
            context_id: Some(context_id.to_owned()).filter(|id| !id.is_empty()),
        },
        status: ours,
        native_status,
        recovery,
        delivery: if streaming { DeliveryMechanism::Subscription } else { DeliveryMechanism::Polling },
        card: Some(peer.card().url.clone()),
        message: status.message.as_ref().map(words).filter(|words| !words.is_empty()),
        question,
        terms,
        artifacts: Vec::new(),
        whole: false,
        rejected: status.state == TaskState::Rejected,
    }
}

/// What a state of A2A is here, and what is known by it.
fn meaning(state: &TaskState) -> (TaskStatus, PeerRecovery) {
    match state {
        TaskState::Submitted => (TaskStatus::Queued, PeerRecovery::Idle),
        TaskState::Working => (TaskStatus::Running, PeerRecovery::Running),
        TaskState::InputRequired => (TaskStatus::WaitingInput, PeerRecovery::WaitingInput),
        TaskState::AuthRequired => (TaskStatus::WaitingPermission, PeerRecovery::WaitingAuthorization),
        TaskState::Completed => (TaskStatus::Completed, PeerRecovery::CompletedUnreconciled),
        TaskState::Failed | TaskState::Rejected => (TaskStatus::Failed, PeerRecovery::CompletedUnreconciled),
        TaskState::Canceled => (TaskStatus::Cancelled, PeerRecovery::CompletedUnreconciled),
        TaskState::Unspecified => (TaskStatus::Unknown, PeerRecovery::Unknown),
    }
}

/// What a question says of its answer to programs, the way another Factum says it (`factum_a2a::view`).
fn terms(message: &Message) -> Terms {
    let data = message.parts.iter().find_map(|part| match &part.content {
        PartContent::Data(Value::Object(data)) => Some(data),
        _ => None,
    });
    let said = |name: &str| data.and_then(|data| data.get(name));
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let annotated = || message.metadata.as_ref().and_then(|metadata| metadata.get("action_id"));
    let words = said("decisions").and_then(Value::as_array).into_iter().flatten();
    Terms {
        action_id: said("action_id").or_else(annotated).and_then(word),
        tool_name: said("tool_name").and_then(word),
        decisions: words.filter_map(word).collect(),
        input_schema: said("input_schema").filter(|schema| schema.is_object()).cloned(),
    }
}

/// The text of a message.
pub(super) fn words(message: &Message) -> String {
    let texts: Vec<&str> = message.parts.iter().filter_map(Part::as_text).collect();
    texts.join("\n")
}

/// What a message holds, where that is more than a fact repeats of it: its text, whole, and each of its other parts as what it
/// is. Nothing for a short text.
pub(super) fn contents(message: &Message) -> Vec<ViewedArtifact> {
    let (texts, others): (Vec<_>, Vec<_>) =
        message.parts.iter().enumerate().partition(|(_, part)| part.as_text().is_some());
    let words = words(message);
    if others.is_empty() && words.chars().nth(WORDS_MAX).is_none() {
        return Vec::new();
    }
    // What a message is called is the peer's to choose, and so is what an artifact is: they must not be taken for each other. A
    // long name is left out: it would stand in every fact about what the message holds.
    let id = if message.message_id.len() <= MESSAGE_ID_BYTES_MAX { &message.message_id } else { "" };
    let remote_id = |what: &str| format!("message:{id}/{what}");
    let media_type = media_type_of(texts.iter().map(|(_, part)| *part));
    let text = (!words.is_empty()).then(|| ViewedArtifact {
        remote_id: remote_id("text"),
        name: Some("message".to_owned()),
        content: ArtifactContent::Bytes { media_type, bytes: words.into() },
    });
    let others = others.into_iter().map(|(at, part)| ViewedArtifact {
        remote_id: remote_id(&at.to_string()),
        name: part.filename.clone(),
        content: content(part),
    });
    text.into_iter().chain(others).collect()
}

pub(super) fn artifact(artifact: &Artifact) -> ViewedArtifact {
    let content = match artifact.parts.as_slice() {
        [part] => content(part),
        parts => text(parts).unwrap_or_else(|| json(&serde_json::to_value(parts).unwrap_or_default(), None)),
    };
    ViewedArtifact { remote_id: artifact.artifact_id.clone(), name: artifact.name.clone(), content }
}

/// The one text that pieces of text are: an agent that streams makes a part of each piece. `None` where they are not all text.
fn text(parts: &[Part]) -> Option<ArtifactContent> {
    let texts: Option<String> = parts.iter().map(Part::as_text).collect();
    Some(ArtifactContent::Bytes { media_type: media_type_of(parts), bytes: texts?.into() })
}

/// The media type of pieces of text: the one they all say.
fn media_type_of<'a>(parts: impl IntoIterator<Item = &'a Part>) -> String {
    let mut parts = parts.into_iter();
    let of_first = parts.next().and_then(|first| first.media_type.as_ref());
    let of_all = of_first.filter(|of_first| parts.all(|part| part.media_type.as_ref() == Some(of_first)));
    of_all.cloned().unwrap_or_else(|| PLAIN_TEXT.to_owned())
}

fn content(part: &Part) -> ArtifactContent {
    let media_type = |usual: &str| part.media_type.clone().unwrap_or_else(|| usual.to_owned());
    match &part.content {
        PartContent::Text(text) => {
            ArtifactContent::Bytes { media_type: media_type(PLAIN_TEXT), bytes: text.clone().into() }
        }
        PartContent::Raw(bytes) => {
            ArtifactContent::Bytes { media_type: media_type("application/octet-stream"), bytes: bytes.clone().into() }
        }
        PartContent::Url(url) => {
            ArtifactContent::Link { media_type: media_type("application/octet-stream"), url: url.clone() }
        }
        PartContent::Data(value) => json(value, part.media_type.clone()),
    }
}

fn json(value: &serde_json::Value, media_type: Option<String>) -> ArtifactContent {
    let media_type = media_type.unwrap_or_else(|| "application/json".to_owned());
    ArtifactContent::Bytes { media_type, bytes: value.to_string().into() }
}
