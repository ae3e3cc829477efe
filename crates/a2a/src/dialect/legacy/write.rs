//! Answers of 0.3 and April 2025, and of both in one.

use a2a::{
    Artifact, Message, Part, PartContent, Role, SendMessageResponse, StreamResponse, Task, TaskArtifactUpdateEvent,
    TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use super::shapes::WRAPPED;
use crate::card;
use crate::dialect::Dialect;
use crate::operation::Outcome;

type Object = Map<String, Value>;

/// Which fields are written.
#[derive(Clone, Copy)]
struct Fields {
    v0_3: bool,
    april: bool,
}

impl From<Dialect> for Fields {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::April2025 => Self { v0_3: false, april: true },
            Dialect::Either => Self { v0_3: true, april: true },
            _ => Self { v0_3: true, april: false },
        }
    }
}

pub(in crate::dialect) fn write(outcome: &Outcome, dialect: Dialect) -> Value {
    let fields = Fields::from(dialect);
    match outcome {
        Outcome::Sent(SendMessageResponse::Task(task)) | Outcome::Task(task) => fields.task(task).into(),
        Outcome::Sent(SendMessageResponse::Message(message)) if fields.v0_3 => fields.message(message).into(),
        Outcome::Sent(SendMessageResponse::Message(message)) => fields.task_around(message).into(),
        Outcome::Tasks(tasks) => tasks.tasks.iter().map(|task| Value::from(fields.task(task))).collect(),
        Outcome::PushConfig(config) => fields.push_config(config),
        Outcome::PushConfigs(configs) => configs.configs.iter().map(|config| fields.push_config(config)).collect(),
        Outcome::Card(agent) => card::v0_3(agent),
        Outcome::Deleted | Outcome::Updates(_) => Value::Null,
    }
}

/// The items that one item of 1.0 becomes. A task is no item in April 2025: it is its status, and each of its artifacts.
pub(in crate::dialect) fn stream_items(
    item: &StreamResponse,
    dialect: Dialect,
    artifacts: &mut Vec<String>,
) -> Vec<Value> {
    let fields = Fields::from(dialect);
    match item {
        StreamResponse::Task(task) => {
            let ids = task.artifacts.iter().flatten().map(|artifact| artifact.artifact_id.clone());
            artifacts.extend(ids);
            if fields.v0_3 { vec![fields.task(task).into()] } else { fields.task_in_parts(task) }
        }
        StreamResponse::Message(message) if fields.v0_3 => vec![fields.message(message).into()],
        StreamResponse::Message(message) => fields.task_in_parts_of(message),
        StreamResponse::StatusUpdate(update) => vec![fields.status_update(update)],
        StreamResponse::ArtifactUpdate(update) => vec![fields.artifact_update(update, artifacts)],
    }
}

impl Fields {
    fn task(self, task: &Task) -> Object {
        let mut out = Object::new();
        out.insert("id".to_owned(), task.id.as_str().into());
        self.context(&task.context_id, &mut out);
        out.insert("status".to_owned(), self.status(&task.status));
        if let Some(artifacts) = &task.artifacts {
            let numbered = artifacts.iter().enumerate().map(|(at, artifact)| Value::from(self.artifact(artifact, at)));
            out.insert("artifacts".to_owned(), numbered.collect());
        }
        if let Some(history) = &task.history {
            let history = history.iter().map(|message| Value::from(self.message(message))).collect();
            out.insert("history".to_owned(), history);
        }
        metadata(task.metadata.as_ref(), &mut out);
        self.kind("task", &mut out);
        out
    }

    fn context(self, id: &str, out: &mut Object) {
        if self.v0_3 {
            out.insert("contextId".to_owned(), id.into());
        }
        if self.april {
            out.insert("sessionId".to_owned(), id.into());
        }
    }

    fn kind(self, kind: &str, out: &mut Object) {
        if self.v0_3 {
            out.insert("kind".to_owned(), kind.into());
        }
    }

    /// April 2025 answers with tasks alone: a bare message is one that is done.
    fn task_around(self, message: &Message) -> Object {
        let id = message.task_id.clone().unwrap_or_else(|| message.message_id.clone());
        let context_id = message.context_id.clone().unwrap_or_default();
        let status = TaskStatus { state: TaskState::Completed, message: Some(message.clone()), timestamp: None };
        self.task(&Task { id, context_id, status, artifacts: None, history: None, metadata: None })
    }

    /// The status first, as a stream begins, unless it is final: nobody reads what comes behind that.
    fn task_in_parts(self, task: &Task) -> Vec<Value> {
        let is_final = is_final(&task.status.state);
        let status = json!({ "id": task.id, "status": self.status(&task.status), "final": is_final });
        let artifact = |(at, artifact)| json!({ "id": task.id, "artifact": self.artifact(artifact, at) });
        let mut items: Vec<Value> = task.artifacts.iter().flatten().enumerate().map(artifact).collect();
        items.insert(if is_final { items.len() } else { 0 }, status);
        items
    }

    fn task_in_parts_of(self, message: &Message) -> Vec<Value> {
        let task = self.task_around(message);
        vec![json!({ "id": task["id"], "status": task["status"], "final": true })]
    }

    fn status_update(self, update: &TaskStatusUpdateEvent) -> Value {
        let mut out = self.event("status-update", &update.task_id, &update.context_id);
        out.insert("status".to_owned(), self.status(&update.status));
        out.insert("final".to_owned(), is_final(&update.status.state).into());
        metadata(update.metadata.as_ref(), &mut out);
        out.into()
    }

    fn artifact_update(self, update: &TaskArtifactUpdateEvent, artifacts: &mut Vec<String>) -> Value {
        let id = &update.artifact.artifact_id;
        let at = artifacts.iter().position(|known| known == id).unwrap_or_else(|| {
            artifacts.push(id.clone());
            artifacts.len() - 1
        });
        let mut out = self.event("artifact-update", &update.task_id, &update.context_id);
        let mut artifact = self.artifact(&update.artifact, at);
        for (name, said) in [("append", update.append), ("lastChunk", update.last_chunk)] {
            let Some(said) = said else { continue };
            if self.v0_3 {
                out.insert(name.to_owned(), said.into());
            }
            if self.april {
                artifact.insert(name.to_owned(), said.into());
            }
        }
        out.insert("artifact".to_owned(), artifact.into());
        metadata(update.metadata.as_ref(), &mut out);
        out.into()
    }

    fn event(self, kind: &str, task_id: &str, context_id: &str) -> Object {
        let mut out = Object::new();
        if self.april {
            out.insert("id".to_owned(), task_id.into());
        }
        if self.v0_3 {
            out.insert("taskId".to_owned(), task_id.into());
            out.insert("contextId".to_owned(), context_id.into());
        }
        self.kind(kind, &mut out);
        out
    }

    fn status(self, status: &TaskStatus) -> Value {
        let mut out = Object::new();
        out.insert("state".to_owned(), self.state(&status.state).into());
        if let Some(message) = &status.message {
            out.insert("message".to_owned(), self.message(message).into());
        }
        if let Some(timestamp) = &status.timestamp {
            out.insert("timestamp".to_owned(), json!(timestamp));
        }
        out.into()
    }

    /// April 2025 has no word for two of them, and calls what nobody knows by its name.
    fn state(self, state: &TaskState) -> &'static str {
        match state {
            TaskState::Unspecified => "unknown",
            TaskState::Submitted => "submitted",
            TaskState::Working => "working",
            TaskState::Completed => "completed",
            TaskState::Canceled => "canceled",
            TaskState::InputRequired => "input-required",
            TaskState::Rejected if self.v0_3 => "rejected",
            TaskState::AuthRequired if self.v0_3 => "auth-required",
            TaskState::AuthRequired => "input-required",
            TaskState::Failed | TaskState::Rejected => "failed",
        }
    }

    fn message(self, message: &Message) -> Object {
        let mut out = Object::new();
        let role = if message.role == Role::User { "user" } else { "agent" };
        out.insert("role".to_owned(), role.into());
        out.insert("parts".to_owned(), message.parts.iter().map(|part| self.part(part)).collect());
        if self.v0_3 {
            out.insert("messageId".to_owned(), message.message_id.as_str().into());
            let texts = [("taskId", &message.task_id), ("contextId", &message.context_id)];
            for (name, text) in texts {
                if let Some(text) = text {
                    out.insert(name.to_owned(), text.as_str().into());
                }
            }
            let lists = [("extensions", &message.extensions), ("referenceTaskIds", &message.reference_task_ids)];
            for (name, list) in lists {
                if let Some(list) = list {
                    out.insert(name.to_owned(), json!(list));
                }
            }
        }
        metadata(message.metadata.as_ref(), &mut out);
        self.kind("message", &mut out);
        out
    }

    fn artifact(self, artifact: &Artifact, at: usize) -> Object {
        let mut out = Object::new();
        if self.v0_3 {
            out.insert("artifactId".to_owned(), artifact.artifact_id.as_str().into());
        }
        for (name, text) in [("name", &artifact.name), ("description", &artifact.description)] {
            if let Some(text) = text {
                out.insert(name.to_owned(), text.as_str().into());
            }
        }
        out.insert("parts".to_owned(), artifact.parts.iter().map(|part| self.part(part)).collect());
        if let Some(extensions) = artifact.extensions.as_ref().filter(|_| self.v0_3) {
            out.insert("extensions".to_owned(), json!(extensions));
        }
        if self.april {
            out.insert("index".to_owned(), at.into());
        }
        metadata(artifact.metadata.as_ref(), &mut out);
        out
    }

    fn part(self, part: &Part) -> Value {
        let mut out = Object::new();
        let (kind, content) = match &part.content {
            PartContent::Text(text) => ("text", text.as_str().into()),
            PartContent::Raw(bytes) => ("file", file(part, "bytes", BASE64.encode(bytes))),
            PartContent::Url(url) => ("file", file(part, "uri", url.clone())),
            PartContent::Data(data @ Value::Object(_)) => ("data", data.clone()),
            PartContent::Data(other) => ("data", json!({ "value": other })),
        };
        self.kind(kind, &mut out);
        if self.april {
            out.insert("type".to_owned(), kind.into());
        }
        out.insert(kind.to_owned(), content);
        metadata(part.metadata.as_ref(), &mut out);
        if matches!(&part.content, PartContent::Data(data) if !data.is_object()) {
            let marked = out.entry("metadata").or_insert_with(|| json!({}));
            marked[WRAPPED] = true.into();
        }
        out.into()
    }

    fn push_config(self, config: &TaskPushNotificationConfig) -> Value {
        let mut out = Object::new();
        if self.v0_3 {
            out.insert("taskId".to_owned(), config.task_id.as_str().into());
        }
        if self.april {
            out.insert("id".to_owned(), config.task_id.as_str().into());
        }
        // A task of April 2025 has one configuration, and that has no name.
        let id = config.id.clone().filter(|_| self.v0_3);
        let nested = push_config(&TaskPushNotificationConfig { id, ..config.clone() });
        out.insert("pushNotificationConfig".to_owned(), nested);
        out.into()
    }
}

/// Whether a stream ends with this.
pub(in crate::dialect) fn is_final(state: &TaskState) -> bool {
    state.is_terminal() || matches!(state, TaskState::InputRequired | TaskState::AuthRequired)
}

/// A configuration as it is nested, with the one scheme of 1.0 as a list.
pub(in crate::dialect) fn push_config(config: &TaskPushNotificationConfig) -> Value {
    let mut out = Object::new();
    for (name, text) in [("id", config.id.as_ref()), ("url", Some(&config.url)), ("token", config.token.as_ref())] {
        if let Some(text) = text {
            out.insert(name.to_owned(), text.as_str().into());
        }
    }
    if let Some(authentication) = &config.authentication {
        let mut info = json!({ "schemes": [authentication.scheme] });
        if let Some(credentials) = &authentication.credentials {
            info["credentials"] = credentials.as_str().into();
        }
        out.insert("authentication".to_owned(), info);
    }
    out.into()
}

fn file(part: &Part, key: &str, content: String) -> Value {
    let mut out = Object::new();
    out.insert(key.to_owned(), content.into());
    for (name, text) in [("name", &part.filename), ("mimeType", &part.media_type)] {
        if let Some(text) = text {
            out.insert(name.to_owned(), text.as_str().into());
        }
    }
    out.into()
}

fn metadata(metadata: Option<&std::collections::HashMap<String, Value>>, out: &mut Object) {
    if let Some(metadata) = metadata {
        out.insert("metadata".to_owned(), metadata.iter().map(|(name, value)| (name.clone(), value.clone())).collect());
    }
}
