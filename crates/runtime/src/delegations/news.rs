//! From what was seen at a peer to what the core is told: content goes into blobs first, so that a fact never refers to
//! what is not there.

use factum_engine::session::delegations::{Observed, PeerArtifact, PeerNews};
use factum_model::value::OutputRef;

use super::contract::{ArtifactContent, PeerView, ViewedArtifact};
use crate::runtime::Runtime;

/// What the core is told of a view. The error is the store's.
pub(super) async fn news_of(runtime: &Runtime, view: PeerView) -> Result<Observed, String> {
    let artifacts = all_kept(runtime, view.artifacts).await?;
    Ok(Observed::Task(Box::new(PeerNews {
        remote_task_id: view.remote.task_id,
        remote_context_id: view.remote.context_id,
        status: view.status,
        native_status: view.native_status,
        recovery: view.recovery,
        delivery: view.delivery,
        agent_card_ref: view.card,
        message: view.message,
        question: view.question,
        terms: view.terms,
        artifacts,
        whole: view.whole,
    })))
}

/// What the core is told of a message instead of a task.
pub(super) async fn reply_of(
    runtime: &Runtime,
    text: String,
    artifacts: Vec<ViewedArtifact>,
) -> Result<Observed, String> {
    Ok(Observed::Replied { text, artifacts: all_kept(runtime, artifacts).await? })
}

async fn all_kept(runtime: &Runtime, artifacts: Vec<ViewedArtifact>) -> Result<Vec<PeerArtifact>, String> {
    let mut all = Vec::with_capacity(artifacts.len());
    for artifact in artifacts {
        all.push(kept(runtime, artifact).await?);
    }
    Ok(all)
}

async fn kept(runtime: &Runtime, artifact: ViewedArtifact) -> Result<PeerArtifact, String> {
    let content = match artifact.content {
        ArtifactContent::Bytes { media_type, bytes } => runtime.keep(&media_type, bytes).await?,
        ArtifactContent::Link { media_type, url } => linked(&media_type, url),
    };
    Ok(PeerArtifact { remote_id: artifact.remote_id, name: artifact.name, content: Some(content) })
}

/// A reference to bytes that the peer keeps: how many they are, and which, is not known.
fn linked(media_type: &str, url: String) -> OutputRef {
    OutputRef {
        r#ref: url,
        owner: Some("peer".to_owned()),
        media_type: media_type.to_owned(),
        encoding: None,
        size: None,
        digest: None,
        preview: None,
        preview_dropped: 0,
        redacted: false,
        expires_at: None,
    }
}
