//! 0.3 over HTTP+JSON at the edge: requests of 1.0 written as the protocol buffers of 0.3 are in JSON (`content`, `ROLE_USER`,
//! files by what they are with). Whoever reads them by that definition refuses what it does not have, so nothing else is
//! written: it knows no references to other tasks.
//!
//! What comes back is read with JSON-RPC's answers (`v0_3`). Some servers read JSON-RPC's form here, too; which one it is
//! shows when they are asked (`json`).

use serde_json::{Map, Value, json};

use super::operation::Operation;

/// What a message has.
const OF_MESSAGE: [&str; 7] = ["messageId", "contextId", "taskId", "role", "content", "metadata", "extensions"];

/// Parameters of 1.0 as the body or the query. The id of a task is in the path.
pub(super) fn params_to(operation: Operation, mut params: Value) -> Value {
    let Some(fields) = params.as_object_mut() else { return params };
    if !operation.gives() {
        fields.remove("id");
        return params;
    }
    fields.retain(|name, _| matches!(name.as_str(), "message" | "configuration" | "metadata"));
    fields.get_mut("message").into_iter().for_each(message_to);
    if let Some(configuration) = fields.get_mut("configuration").and_then(Value::as_object_mut) {
        let at_once = configuration.remove("returnImmediately").and_then(|value| value.as_bool()).unwrap_or(false);
        configuration.insert("blocking".to_owned(), (!at_once).into());
        if let Some(push) = configuration.remove("taskPushNotificationConfig") {
            configuration.insert("pushNotification".to_owned(), push);
        }
    }
    params
}

fn message_to(message: &mut Value) {
    let Some(message) = message.as_object_mut() else { return };
    if let Some(Value::Array(parts)) = message.remove("parts") {
        message.insert("content".to_owned(), parts.into_iter().map(part_to).collect());
    }
    message.retain(|name, _| OF_MESSAGE.contains(&name.as_str()));
}

fn part_to(mut part: Value) -> Value {
    let Some(part) = part.as_object_mut() else { return part };
    let mut old = if let Some(text) = part.remove("text") {
        json!({ "text": text })
    } else if let Some(data) = part.remove("data") {
        let data = if data.is_object() { data } else { json!({ "value": data }) };
        json!({ "data": { "data": data } })
    } else {
        json!({ "file": file_of(part) })
    };
    if let Some(metadata) = part.remove("metadata") {
        old["metadata"] = metadata;
    }
    old
}

fn file_of(part: &mut Map<String, Value>) -> Map<String, Value> {
    let names = [("raw", "fileWithBytes"), ("url", "fileWithUri"), ("filename", "name"), ("mediaType", "mimeType")];
    names.into_iter().filter_map(|(new, old)| Some((old.to_owned(), part.remove(new)?))).collect()
}

#[cfg(test)]
mod tests {
    use a2a::{Message, Part, Role, SendMessageConfiguration, SendMessageRequest};

    use super::*;

    #[test]
    fn a_request_has_what_the_protocol_buffers_of_0_3_have_and_nothing_else() {
        let mut file = Part::raw(vec![1, 2]);
        (file.filename, file.media_type) = (Some("x".to_owned()), Some("image/png".to_owned()));
        file.metadata = Some([("k".to_owned(), json!(1))].into_iter().collect());
        let parts = vec![Part::text("hi"), Part::data(json!(7)), Part::data(json!({ "n": 1 })), file];
        let mut message = Message::new(Role::User, parts);
        message.message_id = "m".to_owned();
        message.task_id = Some("t".to_owned());
        message.reference_task_ids = Some(vec!["other".to_owned()]);
        let configuration = SendMessageConfiguration {
            accepted_output_modes: None,
            task_push_notification_config: None,
            history_length: Some(1),
            return_immediately: Some(true),
        };
        let request = SendMessageRequest {
            message,
            configuration: Some(configuration),
            metadata: None,
            tenant: Some("acme".to_owned()),
        };
        let expected = json!({
            "message": { "messageId": "m", "taskId": "t", "role": "ROLE_USER", "content": [
                { "text": "hi" },
                { "data": { "data": { "value": 7 } } },
                { "data": { "data": { "n": 1 } } },
                { "file": { "fileWithBytes": "AQI=", "name": "x", "mimeType": "image/png" }, "metadata": { "k": 1 } },
            ]},
            "configuration": { "historyLength": 1, "blocking": false },
        });
        assert_eq!(params_to(Operation::Send, serde_json::to_value(request).unwrap()), expected);
        assert_eq!(params_to(Operation::Cancel, json!({ "id": "t" })), json!({}));
    }
}
