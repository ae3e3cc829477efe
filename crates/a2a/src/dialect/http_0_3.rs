//! What 0.3 wrote over HTTP+JSON: its protobuf definition (`a2a.v1`), which differs from its own JSON-RPC. Mostly
//! answers: the requests are read with those of JSON-RPC.

use a2a::{
    Artifact, Message, Part, PartContent, SendMessageResponse, StreamResponse, Task, TaskPushNotificationConfig,
    TaskState, TaskStatus,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use super::legacy::{is_final, push_config};
use crate::card;
use crate::operation::Outcome;

pub(super) fn write(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Sent(SendMessageResponse::Task(of)) => json!({ "task": task(of) }),
        Outcome::Sent(SendMessageResponse::Message(of)) => json!({ "message": message(of) }),
        Outcome::Task(of) => task(of),
        // 0.3 names the path and no fields: what 1.0 says of a page is said here, too.
        Outcome::Tasks(page) => json!({
            "tasks": page.tasks.iter().map(task).collect::<Vec<_>>(),
            "nextPageToken": page.next_page_token,
            "pageSize": page.page_size,
            "totalSize": page.total_size,
        }),
        Outcome::PushConfig(config) => named_config(config),
        Outcome::PushConfigs(page) => without_nulls(json!({
            "configs": page.configs.iter().map(named_config).collect::<Vec<_>>(),
            "nextPageToken": page.next_page_token,
        })),
        Outcome::Card(agent) => card::v0_3_http(agent),
        Outcome::Deleted | Outcome::Updates(_) => json!({}),
    }
}

/// The params of JSON-RPC for a configuration that came as a body. Clients send it as it is, or in the request of the protobuf
/// definition, with the underscores of its names or without.
pub fn push_params_0_3(task_id: &str, mut body: Map<String, Value>) -> String {
    let either =
        |fields: &mut Map<String, Value>, one: &str, other: &str| fields.remove(one).or_else(|| fields.remove(other));
    let id = either(&mut body, "configId", "config_id");
    let mut config = match body.remove("config") {
        Some(Value::Object(config)) => config,
        _ => body,
    };
    let mut push = either(&mut config, "pushNotificationConfig", "push_notification_config");
    if let (Some(Value::Object(push)), Some(id)) = (&mut push, id) {
        push.entry("id").or_insert(id);
    }
    without_nulls(json!({ "taskId": task_id, "pushNotificationConfig": push })).to_string()
}

pub(super) fn stream_item(item: &StreamResponse) -> Value {
    match item {
        StreamResponse::Task(of) => json!({ "task": task(of) }),
        StreamResponse::Message(of) => json!({ "message": message(of) }),
        StreamResponse::StatusUpdate(update) => {
            let fields = json!({
                "taskId": update.task_id,
                "contextId": update.context_id,
                "status": status(&update.status),
                "final": is_final(&update.status.state),
                "metadata": update.metadata,
            });
            json!({ "statusUpdate": without_nulls(fields) })
        }
        StreamResponse::ArtifactUpdate(update) => {
            let fields = json!({
                "taskId": update.task_id,
                "contextId": update.context_id,
                "artifact": artifact(&update.artifact),
                "append": update.append,
                "lastChunk": update.last_chunk,
                "metadata": update.metadata,
            });
            json!({ "artifactUpdate": without_nulls(fields) })
        }
    }
}

fn task(of: &Task) -> Value {
    without_nulls(json!({
        "id": of.id,
        "contextId": of.context_id,
        "status": status(&of.status),
        "artifacts": of.artifacts.as_ref().map(|all| all.iter().map(artifact).collect::<Vec<_>>()),
        "history": of.history.as_ref().map(|all| all.iter().map(message).collect::<Vec<_>>()),
        "metadata": of.metadata,
    }))
}

fn status(of: &TaskStatus) -> Value {
    without_nulls(json!({
        "state": state(&of.state),
        "message": of.message.as_ref().map(message),
        "timestamp": of.timestamp,
    }))
}

/// How the protocol buffers of 0.3 spell the one state that 1.0 spells otherwise.
pub(crate) const CANCELLED: &str = "TASK_STATE_CANCELLED";

/// 1.0's names, but for that one.
fn state(of: &TaskState) -> Value {
    if *of == TaskState::Canceled { CANCELLED.into() } else { json!(of) }
}

fn message(of: &Message) -> Value {
    without_nulls(json!({
        "messageId": of.message_id,
        "contextId": of.context_id,
        "taskId": of.task_id,
        "role": of.role,
        "content": of.parts.iter().map(part).collect::<Vec<_>>(),
        "metadata": of.metadata,
        "extensions": of.extensions,
    }))
}

fn artifact(of: &Artifact) -> Value {
    without_nulls(json!({
        "artifactId": of.artifact_id,
        "name": of.name,
        "description": of.description,
        "parts": of.parts.iter().map(part).collect::<Vec<_>>(),
        "metadata": of.metadata,
        "extensions": of.extensions,
    }))
}

fn part(of: &Part) -> Value {
    let file = |key: &str, content: Value| {
        let mut file = json!({ "mimeType": of.media_type, "name": of.filename });
        file[key] = content;
        without_nulls(json!({ "file": without_nulls(file), "metadata": of.metadata }))
    };
    match &of.content {
        PartContent::Text(text) => without_nulls(json!({ "text": text, "metadata": of.metadata })),
        PartContent::Raw(bytes) => file("fileWithBytes", BASE64.encode(bytes).into()),
        PartContent::Url(url) => file("fileWithUri", url.as_str().into()),
        PartContent::Data(data @ Value::Object(_)) => {
            without_nulls(json!({ "data": { "data": data }, "metadata": of.metadata }))
        }
        PartContent::Data(other) => {
            without_nulls(json!({ "data": { "data": { "value": other } }, "metadata": of.metadata }))
        }
    }
}

/// A configuration's name is where it is.
fn named_config(config: &TaskPushNotificationConfig) -> Value {
    let id = config.id.as_deref().unwrap_or_default();
    let name = format!("tasks/{}/pushNotificationConfigs/{id}", config.task_id);
    json!({ "name": name, "pushNotificationConfig": push_config(config) })
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>().into(),
        other => other,
    }
}
