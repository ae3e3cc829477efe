//! What peers leave out although the protocol asks for it, and nothing here depends on.
//!
//! A whole task is not refused because one message of its history has no id: the id is for its sender. Nor because it does not say
//! its context, which whoever asks for the task knows; nor because its time has no zone (Python's `datetime.now()` writes it so, and
//! the servers of April 2025 do).

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

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
            let inside = ["task", "message", "statusUpdate", "artifactUpdate", "status", "history", "tasks"];
            inside.iter().for_each(|key| fields.get_mut(*key).into_iter().for_each(forgive));
        }
        Value::Array(items) => items.iter_mut().for_each(forgive),
        _ => {}
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
