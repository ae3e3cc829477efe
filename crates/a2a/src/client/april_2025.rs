//! April 2025 at the edge: requests of 1.0 written in its form, and its answers read, both by way of 0.3, which has most of
//! its words.
//!
//! Whoever sends chooses the task's id, and messages have none: the id of the first message is the task's. Artifacts have
//! a number instead of an id. A stream brings statuses and artifacts, never a task.

use serde_json::{Map, Value, json};

use super::operation::Operation;
use super::v0_3;

/// Parameters of 1.0 in the form of April 2025.
pub(super) fn params_to(operation: Operation, params: Value) -> Value {
    let Value::Object(mut old) = v0_3::params_to(operation, params) else { return Value::Null };
    let Some(Value::Object(mut message)) = old.remove("message") else {
        old.remove("tenant");
        return old.into();
    };
    let mut take = |name: &str| message.remove(name).filter(|value| !value.is_null());
    let (message_id, task_id, session_id) = (take("messageId"), take("taskId"), take("contextId"));
    for part in message.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten() {
        renamed(part, "kind", "type");
    }
    message.retain(|name, _| matches!(name.as_str(), "role" | "parts" | "metadata"));
    let mut new = Map::new();
    new.insert("id".to_owned(), task_id.or(message_id).unwrap_or_default());
    new.insert("message".to_owned(), message.into());
    let configuration = old.remove("configuration").unwrap_or_default();
    let rest = [
        ("sessionId", session_id),
        ("historyLength", configuration.get("historyLength").cloned()),
        ("acceptedOutputModes", configuration.get("acceptedOutputModes").cloned()),
        ("metadata", old.remove("metadata")),
    ];
    for (name, value) in rest {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            new.insert(name.to_owned(), value);
        }
    }
    new.into()
}

/// A result of April 2025 in the form of 1.0.
pub(super) fn result_from(operation: Operation, value: Value) -> Value {
    let old = match operation {
        Operation::Stream | Operation::Subscribe => item_from(value),
        Operation::Send | Operation::Get | Operation::Cancel | Operation::List => task_from(value),
    };
    v0_3::result_from(operation, old)
}

/// One thing of a stream. Some servers send the whole task all the same.
fn item_from(mut value: Value) -> Value {
    let Some(item) = value.as_object_mut() else { return value };
    if let Some(artifact) = item.remove("artifact") {
        let artifact = artifact_from(artifact, 0);
        let (append, last) = (artifact.get("append").cloned(), artifact.get("lastChunk").cloned());
        return json!({ "kind": "artifact-update", "taskId": item.remove("id"), "contextId": "", "artifact": artifact,
            "append": append, "lastChunk": last });
    }
    if ["sessionId", "artifacts", "history"].iter().any(|name| item.contains_key(*name)) {
        return task_from(value);
    }
    let status = item.remove("status").map(status_from);
    json!({ "kind": "status-update", "taskId": item.remove("id"), "contextId": "", "status": status })
}

fn task_from(mut value: Value) -> Value {
    let Some(task) = value.as_object_mut() else { return value };
    task.insert("kind".to_owned(), "task".into());
    let session_id = task.remove("sessionId").filter(Value::is_string).unwrap_or_else(|| "".into());
    task.insert("contextId".to_owned(), session_id);
    if let Some(status) = task.remove("status") {
        task.insert("status".to_owned(), status_from(status));
    }
    for name in ["artifacts", "history"] {
        let Some(Value::Array(list)) = task.remove(name) else { continue };
        let item = |(at, item)| if name == "history" { message_from(item) } else { artifact_from(item, at) };
        task.insert(name.to_owned(), list.into_iter().enumerate().map(item).collect());
    }
    value
}

fn status_from(mut value: Value) -> Value {
    if let Some(message) = value.get_mut("message") {
        *message = if message.is_null() { Value::Null } else { message_from(message.take()) };
    }
    value
}

/// Messages have no id; nothing here depends on one.
fn message_from(mut value: Value) -> Value {
    parts_from(&mut value);
    if let Some(message) = value.as_object_mut() {
        message.entry("messageId").or_insert_with(|| "".into());
    }
    value
}

/// What an artifact is called is its number: the one it says, or its place.
fn artifact_from(mut value: Value, at: usize) -> Value {
    parts_from(&mut value);
    if let Some(artifact) = value.as_object_mut() {
        let index = artifact.remove("index").and_then(|index| index.as_u64());
        let id = index.unwrap_or(at as u64).to_string();
        artifact.insert("artifactId".to_owned(), id.into());
    }
    value
}

fn parts_from(value: &mut Value) {
    for part in value.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten() {
        renamed(part, "type", "kind");
    }
}

fn renamed(value: &mut Value, from: &str, to: &str) {
    if let Some(object) = value.as_object_mut()
        && let Some(word) = object.remove(from)
    {
        object.insert(to.to_owned(), word);
    }
}

#[cfg(test)]
mod tests {
    use a2a::{
        CancelTaskRequest, Message, Part, Role, SendMessageConfiguration, SendMessageRequest, StreamResponse, Task,
        TaskState,
    };

    use super::*;

    fn sent(change: impl FnOnce(&mut Message)) -> Value {
        let mut message = Message::new(Role::User, vec![Part::text("hi"), Part::data(json!({ "n": 1 }))]);
        message.message_id = "m".to_owned();
        change(&mut message);
        let configuration = SendMessageConfiguration {
            accepted_output_modes: None,
            task_push_notification_config: None,
            history_length: Some(1),
            return_immediately: Some(true),
        };
        let request = SendMessageRequest { message, configuration: Some(configuration), metadata: None, tenant: None };
        params_to(Operation::Send, serde_json::to_value(request).unwrap())
    }

    #[test]
    fn a_task_is_called_by_its_first_message() {
        let parts = json!([{ "type": "text", "text": "hi" }, { "type": "data", "data": { "n": 1 } }]);
        let message = json!({ "role": "user", "parts": parts });
        assert_eq!(sent(|_| {}), json!({ "id": "m", "message": message, "historyLength": 1 }));
        let answer = sent(|message| {
            message.task_id = Some("t".to_owned());
            message.context_id = Some("s".to_owned());
        });
        assert_eq!(answer, json!({ "id": "t", "sessionId": "s", "message": message, "historyLength": 1 }));
        let cancel = CancelTaskRequest { id: "t".to_owned(), metadata: None, tenant: None };
        let cancel = params_to(Operation::Cancel, serde_json::to_value(cancel).unwrap());
        assert_eq!(cancel, json!({ "id": "t" }));
    }

    #[test]
    fn a_task_is_read_with_everything_in_it() {
        let old = json!({
            "id": "t", "sessionId": "s",
            "status": { "state": "input-required", "message": { "role": "agent", "parts": [{ "type": "text", "text": "which?" }] } },
            "artifacts": [
                { "name": "a", "parts": [{ "type": "file", "file": { "bytes": "AQI=", "name": "x", "mimeType": "image/png" } }] },
                { "index": 7, "parts": [{ "type": "data", "data": { "n": 1 } }] },
            ],
            "history": [{ "role": "user", "parts": [{ "type": "text", "text": "hi" }] }],
        });
        let message = |role: &str, text: &str| json!({ "messageId": "", "role": role, "parts": [{ "text": text }] });
        let new = json!({
            "id": "t", "contextId": "s",
            "status": { "state": "TASK_STATE_INPUT_REQUIRED", "message": message("ROLE_AGENT", "which?") },
            "artifacts": [
                { "artifactId": "0", "name": "a", "parts": [{ "raw": "AQI=", "filename": "x", "mediaType": "image/png" }] },
                { "artifactId": "7", "parts": [{ "data": { "n": 1 } }] },
            ],
            "history": [message("ROLE_USER", "hi")],
        });
        let expected: Task = serde_json::from_value(new).unwrap();
        let read: Task = serde_json::from_value(result_from(Operation::Get, old.clone())).unwrap();
        assert_eq!(read, expected);
        for operation in [Operation::Send, Operation::Subscribe] {
            let read: StreamResponse = serde_json::from_value(result_from(operation, old.clone())).unwrap();
            assert_eq!(read, StreamResponse::Task(expected.clone()));
        }
        let bare = json!({ "id": "t", "status": { "state": "completed" } });
        let read: Task = serde_json::from_value(result_from(Operation::Get, bare)).unwrap();
        assert_eq!((read.context_id.as_str(), read.status.state), ("", TaskState::Completed));
    }

    #[test]
    fn a_stream_brings_statuses_and_artifacts() {
        let read = |value| serde_json::from_value::<StreamResponse>(result_from(Operation::Stream, value)).unwrap();
        let status = read(json!({ "id": "t", "status": { "state": "working" }, "final": false }));
        assert!(matches!(&status, StreamResponse::StatusUpdate(update)
            if update.task_id == "t" && update.status.state == TaskState::Working));
        let artifact =
            json!({ "index": 2, "append": true, "lastChunk": false, "parts": [{ "type": "text", "text": "x" }] });
        let artifact = read(json!({ "id": "t", "artifact": artifact }));
        assert!(matches!(&artifact, StreamResponse::ArtifactUpdate(update)
            if update.artifact.artifact_id == "2" && update.append == Some(true) && update.last_chunk == Some(false)));
    }
}
