//! What peers leave out although the protocol asks for it, and nothing here depends on.
//!
//! A whole task is not refused because one message of its history has no id: the id is for its sender.

use serde_json::Value;

/// An answer of 1.0 with what may be missing put in, so that the protocol's types can read it.
pub fn forgiven(mut answer: Value) -> Value {
    forgive(&mut answer);
    answer
}

fn forgive(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("role") && fields.contains_key("parts") {
                fields.entry("messageId").or_insert_with(|| "".into());
            }
            let inside = ["task", "message", "statusUpdate", "status", "history", "tasks"];
            inside.iter().for_each(|key| fields.get_mut(*key).into_iter().for_each(forgive));
        }
        Value::Array(items) => items.iter_mut().for_each(forgive),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_get_an_id_wherever_they_stand_and_content_is_left_alone() {
        let message = |id: Option<&str>| {
            let mut message = json!({ "role": "ROLE_USER", "parts": [{ "data": { "role": "x", "parts": [] } }] });
            id.into_iter().for_each(|id| message["messageId"] = id.into());
            message
        };
        let task = |id| json!({ "id": "t", "status": { "message": message(id) }, "history": [message(id)] });
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
}
