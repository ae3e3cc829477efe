//! What peers leave out although the protocol asks for it, and nothing here depends on; and what they write as another version
//! has it.
//!
//! A whole task is not refused because one message of its history has no id: the id is for its sender. Nor because it does not say
//! its context, which whoever asks for the task knows; nor because its time has no zone (Python's `datetime.now()` writes it so, and
//! the servers of April 2025 do). Nor because one part of an artifact is a file as older versions and drafts wrote it.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

/// Where something to be forgiven may stand. Not in `data`, which is whatever its author says.
const INSIDE: [&str; 9] =
    ["task", "message", "statusUpdate", "artifactUpdate", "status", "history", "tasks", "artifact", "artifacts"];

/// What a part of 1.0 has one of.
const CONTENT: [&str; 4] = ["text", "raw", "url", "data"];

/// What others put a file into, and what they call what is in there.
const FILES: [&str; 2] = ["file", "fileUrl"];
const OF_FILES: [(&str, &str); 8] = [
    ("bytes", "raw"),
    ("raw", "raw"),
    ("uri", "url"),
    ("url", "url"),
    ("name", "filename"),
    ("filename", "filename"),
    ("mimeType", "mediaType"),
    ("mediaType", "mediaType"),
];

/// An answer in the form of 1.0 with what may be missing put in, so that the protocol's types can read it.
pub fn forgiven(mut answer: Value) -> Value {
    forgive(&mut answer);
    answer
}

fn forgive(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("role") && fields.contains_key("parts") {
                fill(fields, "messageId");
            }
            if fields.contains_key("status") || fields.contains_key("artifact") {
                fill(fields, "contextId");
            }
            if fields.contains_key("state") {
                time(fields);
            }
            fields.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten().for_each(part);
            INSIDE.iter().for_each(|key| fields.get_mut(*key).into_iter().for_each(forgive));
        }
        Value::Array(items) => items.iter_mut().for_each(forgive),
        _ => {}
    }
}

/// A file in an object of its own becomes the members of its part. What a part of 1.0 has is left alone.
fn part(part: &mut Value) {
    let Some(fields) = part.as_object_mut() else { return };
    if CONTENT.iter().any(|name| fields.get(*name).is_some_and(|content| !content.is_null())) {
        return;
    }
    let Some(name) = FILES.into_iter().find(|name| fields.get(*name).is_some_and(Value::is_object)) else { return };
    let Some(Value::Object(mut file)) = fields.remove(name) else { return };
    for (old, new) in OF_FILES {
        if let Some(value) = file.remove(old).filter(|value| !value.is_null()) {
            fields.insert(new.to_owned(), value);
        }
    }
}

fn fill(fields: &mut Map<String, Value>, name: &str) {
    let value = fields.entry(name).or_insert(Value::Null);
    if value.is_null() {
        *value = "".into();
    }
}

/// A time without a zone is taken for UTC, which the protocol asks for. What is no time at all is left out.
fn time(fields: &mut Map<String, Value>) {
    let Some(said) = fields.get("timestamp").filter(|said| !said.is_null()) else { return };
    let is_time = |text: &String| text.parse::<DateTime<Utc>>().is_ok();
    let said = said.as_str().map(str::to_owned);
    let zoned = said.as_ref().map(|said| format!("{said}Z"));
    match [said, zoned].into_iter().flatten().find(is_time) {
        Some(time) => fields.insert("timestamp".to_owned(), time.into()),
        None => fields.remove("timestamp"),
    };
}

#[cfg(test)]
mod tests {
    use a2a::{StreamResponse, Task};
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_get_an_id_wherever_they_stand_and_content_is_left_alone() {
        let message = |id: Option<&str>| {
            let mut message = json!({ "role": "ROLE_USER", "parts": [{ "data": { "role": "x", "parts": [] } }] });
            id.into_iter().for_each(|id| message["messageId"] = id.into());
            message
        };
        let task =
            |id| json!({ "id": "t", "contextId": "c", "status": { "message": message(id) }, "history": [message(id)] });
        for (given, expected) in [
            (json!({ "message": message(None) }), json!({ "message": message(Some("")) })),
            (json!({ "task": task(None) }), json!({ "task": task(Some("")) })),
            (json!({ "tasks": [task(None)] }), json!({ "tasks": [task(Some(""))] })),
            (task(None), task(Some(""))),
            (task(Some("m")), task(Some("m"))),
        ] {
            assert_eq!(forgiven(given), expected);
        }
    }

    #[test]
    fn a_time_without_a_zone_is_utc_and_what_is_no_time_is_left_out() {
        let utc = "2025-04-22T10:00:00.123456Z";
        for (said, expected) in [
            (json!("2025-04-22T10:00:00.123456"), Some(utc)),
            (json!("2025-04-22 10:00:00.123456"), Some(utc)),
            (json!(utc), Some(utc)),
            (json!("2025-04-22T12:00:00.123456+02:00"), Some(utc)),
            (json!("yesterday"), None),
            (json!(1_745_316_000), None),
            (json!(null), None),
        ] {
            let status = json!({ "state": "TASK_STATE_WORKING", "timestamp": said });
            let task = json!({ "id": "t", "contextId": "c", "status": status.clone() });
            let update = json!({ "statusUpdate": { "taskId": "t", "contextId": "c", "status": status } });
            let read: Task = serde_json::from_value(forgiven(task)).unwrap();
            let expected = expected.map(|time| time.parse::<DateTime<Utc>>().unwrap());
            assert_eq!(read.status.timestamp, expected, "{said}");
            let read: StreamResponse = serde_json::from_value(forgiven(update)).unwrap();
            let StreamResponse::StatusUpdate(read) = read else { panic!("{read:?}") };
            assert_eq!(read.status.timestamp, expected, "{said}");
        }
    }

    #[test]
    fn a_file_in_an_object_of_its_own_is_read_wherever_parts_stand() {
        let part = |content: Value| {
            let mut part = json!({ "filename": "r.pdf", "mediaType": "application/pdf", "metadata": { "k": 1 } });
            part.as_object_mut().unwrap().extend(content.as_object().cloned().unwrap());
            part
        };
        let file = |name: &str, file: Value| json!({ name: file, "metadata": { "k": 1 } });
        let (raw, url) = (part(json!({ "raw": "AQI=" })), part(json!({ "url": "https://x/" })));
        let own = json!({ "data": { "parts": [{ "file": { "bytes": "AQI=" } }], "file": { "bytes": "AQI=" } } });
        for (given, expected) in [
            (file("file", json!({ "bytes": "AQI=", "name": "r.pdf", "mimeType": "application/pdf" })), raw.clone()),
            (file("file", json!({ "raw": "AQI=", "name": "r.pdf", "mediaType": "application/pdf" })), raw.clone()),
            (file("file", json!({ "uri": "https://x/", "name": "r.pdf", "mimeType": "application/pdf" })), url.clone()),
            (
                file("fileUrl", json!({ "url": "https://x/", "name": "r.pdf", "mediaType": "application/pdf" })),
                url.clone(),
            ),
            (raw.clone(), raw),
            (own.clone(), own),
        ] {
            let in_all = |part: &Value| {
                let artifact = json!({ "artifactId": "a", "parts": [{ "text": "x" }, part] });
                let message = json!({ "messageId": "m", "role": "ROLE_AGENT", "parts": [part] });
                let status = json!({ "state": "TASK_STATE_WORKING", "message": message });
                let task = json!({ "id": "t", "contextId": "c", "status": status, "artifacts": [artifact], "history": [message] });
                let update = json!({ "artifactUpdate": { "taskId": "t", "contextId": "c", "artifact": artifact } });
                [json!({ "task": task }), update, json!({ "message": message })]
            };
            for (given, expected) in in_all(&given).into_iter().zip(in_all(&expected)) {
                assert_eq!(forgiven(given), expected);
                assert!(serde_json::from_value::<StreamResponse>(expected).is_ok());
            }
        }
    }

    #[test]
    fn a_task_need_not_say_its_context() {
        let status = json!({ "state": "TASK_STATE_COMPLETED" });
        for context in [json!({}), json!({ "contextId": null })] {
            let with = |mut value: Value| {
                value.as_object_mut().unwrap().extend(context.as_object().cloned().unwrap());
                value
            };
            let task: Task = serde_json::from_value(forgiven(with(json!({ "id": "t", "status": status })))).unwrap();
            assert_eq!(task.context_id, "");
            let artifact = json!({ "artifactId": "a", "parts": [] });
            for item in [
                json!({ "task": with(json!({ "id": "t", "status": status })) }),
                json!({ "statusUpdate": with(json!({ "taskId": "t", "status": status })) }),
                json!({ "artifactUpdate": with(json!({ "taskId": "t", "artifact": artifact })) }),
            ] {
                let read = serde_json::from_value::<StreamResponse>(forgiven(item.clone()));
                assert!(read.is_ok(), "{item}: {read:?}");
            }
        }
    }
}
