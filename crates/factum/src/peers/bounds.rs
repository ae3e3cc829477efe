//! How much of what a peer calls things is taken. Ids and addresses stand in many facts, so what is not bounded here would be
//! written again and again. What the peer made is not meant: that is kept once, as a blob.

use factum_runtime::{ArtifactContent, PeerView, Remote, Trouble, ViewedArtifact};
use serde_json::json;

/// The longest id of a task, a context, an artifact, a question or an event, and the longest word for a state or a media type.
const NAME_BYTES_MAX: usize = 256;
/// The longest address of content that stays with the peer.
const LINK_BYTES_MAX: usize = 2 << 10;

/// What a view says of the task that was asked for. Another task is not what was asked for; one without a name is taken for it.
pub(super) fn of_asked(mut view: PeerView, remote: &Remote) -> Result<PeerView, Trouble> {
    if !is_of(&view.remote.task_id, remote) {
        return Err(malformed("it answers with another task than the one that it was asked for".to_owned()));
    }
    view.remote.task_id.clone_from(&remote.task_id);
    bounded(view)
}

/// Whether what says to be of that task is of the one that is meant.
pub(super) fn is_of(task_id: &str, remote: &Remote) -> bool {
    task_id.is_empty() || task_id == remote.task_id
}

/// A view that can be recorded: its ids are ids, and its addresses are no content.
pub(super) fn bounded(view: PeerView) -> Result<PeerView, Trouble> {
    if view.remote.task_id.is_empty() {
        return Err(malformed("its task has no id".to_owned()));
    }
    let context_id = view.remote.context_id.iter().map(|id| ("context", id));
    let artifacts = view.artifacts.iter().map(|artifact| ("artifact", &artifact.remote_id));
    let ids = std::iter::once(("task", &view.remote.task_id)).chain(context_id).chain(artifacts);
    for (what, id) in ids {
        if id.len() > NAME_BYTES_MAX {
            let problem =
                format!("the id of its {what} has {} bytes, and at most {NAME_BYTES_MAX} are taken", id.len());
            return Err(malformed(problem));
        }
    }
    Ok(PeerView {
        native_status: clipped(view.native_status),
        // One that cannot be told by its name is told from others by what else is known of it.
        question: view.question.filter(|question| fits(question)),
        artifacts: view.artifacts.into_iter().map(kept).collect(),
        ..view
    })
}

/// Whether it is short enough for a name.
pub(super) fn fits(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX
}

/// What a peer made, with an address that is one.
pub(super) fn kept(artifact: ViewedArtifact) -> ViewedArtifact {
    let content = match artifact.content {
        // An address as long as that is content, and is kept as content is.
        ArtifactContent::Link { media_type, url } if url.len() > LINK_BYTES_MAX => {
            let part = json!({ "url": url, "mediaType": media_type });
            ArtifactContent::Bytes { media_type: "application/json".to_owned(), bytes: part.to_string().into() }
        }
        ArtifactContent::Link { media_type, url } => ArtifactContent::Link { media_type: clipped(media_type), url },
        ArtifactContent::Bytes { media_type, bytes } => {
            ArtifactContent::Bytes { media_type: clipped(media_type), bytes }
        }
    };
    ViewedArtifact { content, ..artifact }
}

fn clipped(mut word: String) -> String {
    word.truncate(word.floor_char_boundary(NAME_BYTES_MAX));
    word
}

fn malformed(problem: String) -> Trouble {
    Trouble::Malformed { problem, may_have_arrived: true }
}
