//! 0.3 at the edge: requests of 1.0 written in its form, and its answers read into the form of 1.0.
//!
//! Works on JSON, not on types: whatever 0.3 has that 1.0 has too keeps its name and place, only what is called or shaped
//! otherwise is touched. Some servers of 0.3 write their HTTP+JSON as protocol buffers map it (`content`, `ROLE_USER`,
//! `TASK_STATE_…`); what they answer is understood too.

use a2a::TaskState;
use serde_json::{Map, Value, json};

use super::operation::Operation;
use crate::dialect::CANCELLED;

/// 0.3's word and 1.0's for each state.
const STATES: [(&str, &str, TaskState); 9] = [
    ("submitted", "TASK_STATE_SUBMITTED", TaskState::Submitted),
    ("working", "TASK_STATE_WORKING", TaskState::Working),
    ("input-required", "TASK_STATE_INPUT_REQUIRED", TaskState::InputRequired),
    ("completed", "TASK_STATE_COMPLETED", TaskState::Completed),
    ("canceled", "TASK_STATE_CANCELED", TaskState::Canceled),
    ("failed", "TASK_STATE_FAILED", TaskState::Failed),
    ("rejected", "TASK_STATE_REJECTED", TaskState::Rejected),
    ("auth-required", "TASK_STATE_AUTH_REQUIRED", TaskState::AuthRequired),
    ("unknown", "TASK_STATE_UNSPECIFIED", TaskState::Unspecified),
];

pub(super) fn state_to(state: &TaskState) -> &'static str {
    STATES.iter().find(|(_, _, known)| known == state).map_or("unknown", |(old, _, _)| old)
}

/// Parameters of 1.0 in 0.3's form.
pub(super) fn params_to(operation: Operation, mut params: Value) -> Value {
    if !matches!(operation, Operation::Send | Operation::Stream) {
        return params;
    }
    if let Some(message) = params.get_mut("message") {
        message_to(message);
    }
    if let Some(configuration) = params.get_mut("configuration").and_then(Value::as_object_mut) {
        let at_once = configuration.remove("returnImmediately").and_then(|value| value.as_bool()).unwrap_or(false);
        configuration.insert("blocking".to_owned(), (!at_once).into());
        if let Some(push) = configuration.remove("taskPushNotificationConfig") {
            configuration.insert("pushNotificationConfig".to_owned(), push);
        }
    }
    params
}

fn message_to(message: &mut Value) {
    let Some(message) = message.as_object_mut() else { return };
    message.insert("kind".to_owned(), "message".into());
    let role = if message.get("role").is_some_and(|role| role == "ROLE_AGENT") { "agent" } else { "user" };
    message.insert("role".to_owned(), role.into());
    for part in message.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten() {
        *part = part_to(part.take());
    }
}

fn part_to(mut part: Value) -> Value {
    let Some(part) = part.as_object_mut() else { return part };
    let mut old = Map::new();
    if let Some(text) = part.remove("text") {
        old.insert("kind".to_owned(), "text".into());
        old.insert("text".to_owned(), text);
    } else if let Some(data) = part.remove("data") {
        old.insert("kind".to_owned(), "data".into());
        // 0.3 wants an object here.
        old.insert("data".to_owned(), if data.is_object() { data } else { json!({ "value": data }) });
    } else {
        let mut file = Map::new();
        for (new, name) in [("raw", "bytes"), ("url", "uri"), ("filename", "name"), ("mediaType", "mimeType")] {
            if let Some(value) = part.remove(new) {
                file.insert(name.to_owned(), value);
            }
        }
        old.insert("kind".to_owned(), "file".into());
        old.insert("file".to_owned(), file.into());
    }
    if let Some(metadata) = part.remove("metadata") {
        old.insert("metadata".to_owned(), metadata);
    }
    old.into()
}

/// A result of 0.3 in 1.0's form.
pub(super) fn result_from(operation: Operation, value: Value) -> Value {
    match operation {
        Operation::Send | Operation::Stream | Operation::Subscribe => item_from(value),
        Operation::Get | Operation::Cancel => task_from(value),
        Operation::List => value,
    }
}

/// One thing of a stream or an answer, wrapped as 1.0 wraps it.
fn item_from(value: Value) -> Value {
    match value.get("kind").and_then(Value::as_str) {
        Some("task") => json!({ "task": task_from(value) }),
        Some("message") => json!({ "message": message_from(value) }),
        Some("status-update") => json!({ "statusUpdate": status_update_from(value) }),
        Some("artifact-update") => json!({ "artifactUpdate": artifact_update_from(value) }),
        _ => wrapped_from(value),
    }
}

/// As protocol buffers write it.
fn wrapped_from(value: Value) -> Value {
    let Value::Object(mut object) = value else { return value };
    let mut take = |name: &str| object.remove(name);
    if let Some(task) = take("task") {
        return json!({ "task": task_from(task) });
    }
    if let Some(message) = take("message").or_else(|| take("msg")) {
        return json!({ "message": message_from(message) });
    }
    if let Some(update) = take("statusUpdate") {
        return json!({ "statusUpdate": status_update_from(update) });
    }
    if let Some(update) = take("artifactUpdate") {
        return json!({ "artifactUpdate": artifact_update_from(update) });
    }
    Value::Object(object)
}

fn task_from(value: Value) -> Value {
    edit(value, |task| {
        change(task, "status", status_from);
        each(task, "history", message_from);
        each(task, "artifacts", artifact_from);
    })
}

fn status_update_from(value: Value) -> Value {
    edit(value, |update| change(update, "status", status_from))
}

fn artifact_update_from(value: Value) -> Value {
    edit(value, |update| change(update, "artifact", artifact_from))
}

fn status_from(value: Value) -> Value {
    edit(value, |status| {
        change(status, "state", |state| {
            let known = state.as_str().and_then(|word| STATES.iter().find(|(old, _, _)| *old == word));
            match known {
                Some((_, new, _)) => (*new).into(),
                None if state == CANCELLED => "TASK_STATE_CANCELED".into(),
                None => state,
            }
        });
        if let Some(update) = status.remove("update") {
            status.entry("message").or_insert(update);
        }
        change(status, "message", message_from);
    })
}

fn message_from(value: Value) -> Value {
    edit(value, |message| {
        change(message, "role", |role| match role.as_str() {
            Some("user") => "ROLE_USER".into(),
            Some("agent") => "ROLE_AGENT".into(),
            _ => role,
        });
        if let Some(content) = message.remove("content") {
            message.entry("parts").or_insert(content);
        }
        each(message, "parts", part_from);
    })
}

fn artifact_from(value: Value) -> Value {
    edit(value, |artifact| each(artifact, "parts", part_from))
}

fn part_from(value: Value) -> Value {
    edit(value, |part| {
        let nested = |data: Value| data.get("data").cloned().filter(|_| data.as_object().is_some_and(|o| o.len() == 1));
        if let Some(Value::Object(mut file)) = part.remove("file") {
            let names = [
                ("bytes", "raw"),
                ("fileWithBytes", "raw"),
                ("uri", "url"),
                ("fileWithUri", "url"),
                ("name", "filename"),
                ("mimeType", "mediaType"),
            ];
            for (old, new) in names {
                if let Some(value) = file.remove(old) {
                    part.insert(new.to_owned(), value);
                }
            }
        } else if part.get("kind").is_none() {
            // Protocol buffers wrap data once more.
            if let Some(inner) = part.get("data").cloned().and_then(nested) {
                part.insert("data".to_owned(), inner);
            }
        }
    })
}

/// Changes an object and takes its `kind` away, which 1.0 does not have. Anything else stays as it is.
fn edit(mut value: Value, change: impl FnOnce(&mut Map<String, Value>)) -> Value {
    if let Some(object) = value.as_object_mut() {
        change(object);
        object.remove("kind");
        object.remove("final");
    }
    value
}

fn change(object: &mut Map<String, Value>, name: &str, change: impl FnOnce(Value) -> Value) {
    if let Some(value) = object.get_mut(name) {
        *value = change(value.take());
    }
}

fn each(object: &mut Map<String, Value>, name: &str, change: impl Fn(Value) -> Value) {
    for value in object.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten() {
        *value = change(value.take());
    }
}

#[cfg(test)]
mod tests {
    use a2a::{Message, Part, Role, SendMessageConfiguration, SendMessageRequest, StreamResponse, Task};

    use super::*;

    #[test]
    fn a_request_is_written_as_0_3_writes_it() {
        let mut message = Message::new(Role::User, vec![Part::text("hi"), Part::data(json!(7)), Part::raw(vec![1, 2])]);
        message.message_id = "m".to_owned();
        let configuration = SendMessageConfiguration {
            accepted_output_modes: None,
            task_push_notification_config: None,
            history_length: Some(1),
            return_immediately: Some(true),
        };
        let request = SendMessageRequest { message, configuration: Some(configuration), metadata: None, tenant: None };
        let written = params_to(Operation::Send, serde_json::to_value(request).unwrap());
        let expected = json!({
            "message": { "kind": "message", "messageId": "m", "role": "user", "parts": [
                { "kind": "text", "text": "hi" },
                { "kind": "data", "data": { "value": 7 } },
                { "kind": "file", "file": { "bytes": "AQI=" } },
            ]},
            "configuration": { "historyLength": 1, "blocking": false },
        });
        assert_eq!(written, expected);
    }

    fn task() -> Task {
        let answer = json!({
            "id": "t", "contextId": "c",
            "status": { "state": "TASK_STATE_INPUT_REQUIRED", "message":
                { "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": "which?" }] } },
            "artifacts": [{ "artifactId": "a", "parts": [
                { "raw": "AQI=", "filename": "x", "mediaType": "image/png" }, { "data": { "n": 1 } }] }],
        });
        serde_json::from_value(answer).unwrap()
    }

    #[test]
    fn answers_are_read_in_both_spellings() {
        let plain = json!({
            "kind": "task", "id": "t", "contextId": "c",
            "status": { "state": "input-required", "message":
                { "kind": "message", "messageId": "m", "role": "agent", "parts": [{ "kind": "text", "text": "which?" }] } },
            "artifacts": [{ "artifactId": "a", "parts": [
                { "kind": "file", "file": { "bytes": "AQI=", "name": "x", "mimeType": "image/png" } },
                { "kind": "data", "data": { "n": 1 } }] }],
        });
        let buffers = json!({ "task": {
            "id": "t", "contextId": "c",
            "status": { "state": "TASK_STATE_INPUT_REQUIRED", "update":
                { "messageId": "m", "role": "ROLE_AGENT", "content": [{ "text": "which?" }] } },
            "artifacts": [{ "artifactId": "a", "parts": [
                { "file": { "fileWithBytes": "AQI=", "name": "x", "mimeType": "image/png" } },
                { "data": { "data": { "n": 1 } } }] }],
        }});
        for answer in [plain, buffers] {
            let read: StreamResponse = serde_json::from_value(result_from(Operation::Send, answer.clone())).unwrap();
            assert_eq!(read, StreamResponse::Task(task()), "{answer}");
        }
    }

    #[test]
    fn every_state_has_a_word_on_both_sides() {
        for (old, new, state) in STATES {
            assert_eq!(state_to(&state), old);
            let status: a2a::TaskStatus = serde_json::from_value(status_from(json!({ "state": old }))).unwrap();
            assert_eq!((serde_json::to_value(&status.state).unwrap(), status.state), (json!(new), state));
        }
        let status: a2a::TaskStatus = serde_json::from_value(status_from(json!({ "state": CANCELLED }))).unwrap();
        assert_eq!(status.state, TaskState::Canceled);
    }

    #[test]
    fn updates_of_a_stream_are_wrapped() {
        let status = json!({ "kind": "status-update", "taskId": "t", "contextId": "c", "final": true, "status": { "state": "completed" } });
        let artifact = json!({ "kind": "artifact-update", "taskId": "t", "contextId": "c", "append": true,
            "artifact": { "artifactId": "a", "parts": [{ "kind": "text", "text": "x" }] } });
        let read = |value| serde_json::from_value::<StreamResponse>(result_from(Operation::Stream, value)).unwrap();
        assert!(
            matches!(read(status), StreamResponse::StatusUpdate(update) if update.status.state == TaskState::Completed)
        );
        assert!(matches!(read(artifact), StreamResponse::ArtifactUpdate(update) if update.append == Some(true)));
    }
}
