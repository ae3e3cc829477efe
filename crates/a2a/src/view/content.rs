//! From what a view names to what a client gets: content that is kept elsewhere becomes parts.

use std::future::Future;

use a2a::{
    Artifact, Message, Part, PartContent, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus,
    TaskStatusUpdateEvent,
};
use factum_model::value::OutputRef;

use super::artifacts::Content;
use super::{Piece, Shown, TaskView, last_messages, text_part};

/// Where the bytes of outputs are.
pub trait Outputs: Send + Sync {
    /// The bytes, or nothing where they are not to be had any more.
    fn bytes(&self, output: &OutputRef) -> impl Future<Output = Option<Vec<u8>>> + Send;
}

impl TaskView {
    /// The task as it stands. `history` is how much of the conversation: absent means all.
    pub async fn task(&self, history: Option<i32>, artifacts: bool, outputs: &impl Outputs) -> Task {
        let mut kept = Vec::new();
        if artifacts {
            for artifact in &self.artifacts.all {
                let parts = match &artifact.content {
                    Content::Answer(answer) if answer.text.is_empty() => continue,
                    Content::Answer(answer) => vec![Part::text(answer.text.as_str())],
                    Content::Output(output) => vec![part_of(output, artifact.name.as_deref(), outputs).await],
                };
                kept.push(artifact_of(artifact.id.clone(), artifact.name.clone(), parts));
            }
        }
        let history: Vec<Message> = last_messages(&self.history, history).to_vec();
        Task {
            id: self.id.clone(),
            context_id: self.context_id.clone(),
            status: TaskStatus {
                state: self.state.clone(),
                message: self.status_message.clone(),
                timestamp: Some(self.status_at),
            },
            artifacts: (!kept.is_empty()).then_some(kept),
            history: (!history.is_empty()).then_some(history),
            metadata: self.metadata.clone(),
        }
    }

    /// What a stream sends of something shown.
    pub async fn update(&self, shown: Shown, outputs: &impl Outputs) -> StreamResponse {
        let (task_id, context_id) = (self.id.clone(), self.context_id.clone());
        match shown {
            Shown::Status { state, message, at } => StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
                task_id,
                context_id,
                status: TaskStatus { state, message, timestamp: Some(at) },
                metadata: None,
            }),
            Shown::Artifact { artifact_id, name, piece, append, last } => {
                let part = match piece {
                    Piece::Text(text) => Part::text(text),
                    Piece::Output(output) => part_of(&output, name.as_deref(), outputs).await,
                };
                StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                    task_id,
                    context_id,
                    artifact: artifact_of(artifact_id, name, vec![part]),
                    append: append.then_some(true),
                    last_chunk: last.then_some(true),
                    metadata: None,
                })
            }
        }
    }
}

fn artifact_of(artifact_id: String, name: Option<String>, parts: Vec<Part>) -> Artifact {
    Artifact { artifact_id, name, description: None, parts, metadata: None, extensions: None }
}

/// An output as the part that fits its kind: text, structured data, bytes, or an address where it is not ours.
async fn part_of(output: &OutputRef, name: Option<&str>, outputs: &impl Outputs) -> Part {
    let media_type = Some(output.media_type.clone()).filter(|media_type| !media_type.is_empty());
    let filename = name.map(str::to_owned);
    if !output.r#ref.starts_with("blob:") {
        let content = PartContent::Url(output.r#ref.clone());
        return Part { content, filename, media_type, metadata: None };
    }
    let whole = output.preview.as_ref().filter(|_| output.preview_dropped == 0).map(|text| text.clone().into_bytes());
    let bytes = match whole {
        Some(bytes) => Some(bytes),
        None => outputs.bytes(output).await,
    };
    let Some(bytes) = bytes else {
        let gone = format!("the content is not to be had any more ({})", output.r#ref);
        return text_part(&gone, None);
    };
    let kind = output.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if (kind == "application/json" || kind.ends_with("+json"))
        && let Ok(data) = serde_json::from_slice(&bytes)
    {
        return Part { content: PartContent::Data(data), filename: None, media_type, metadata: None };
    }
    if kind.starts_with("text/") {
        return match String::from_utf8(bytes) {
            Ok(text) => text_part(&text, media_type.as_deref().filter(|kind| !is_plain(kind))),
            Err(bytes) => raw(bytes.into_bytes(), filename, media_type),
        };
    }
    raw(bytes, filename, media_type)
}

fn raw(bytes: Vec<u8>, filename: Option<String>, media_type: Option<String>) -> Part {
    Part { content: PartContent::Raw(bytes), filename, media_type, metadata: None }
}

fn is_plain(media_type: &str) -> bool {
    media_type.eq_ignore_ascii_case("text/plain") || media_type.eq_ignore_ascii_case("text/plain; charset=utf-8")
}
