//! States of tasks that no version of A2A has. A task is not unreadable because of one: it is unspecified how it stands, and
//! the peer's own word for that is kept beside it. The protocol's types have no place for such a word but the metadata.

use std::collections::HashMap;

use a2a::{StreamResponse, Task, TaskState};
use serde_json::{Map, Value};

use super::failure::cut;

/// Under this name the metadata of a task, or of an update, has the word.
const NATIVE_STATE: &str = "factum.native_state";

const UNSPECIFIED: &str = "TASK_STATE_UNSPECIFIED";

/// The word that was kept.
pub(super) fn kept(metadata: Option<&HashMap<String, Value>>) -> Option<&str> {
    metadata?.get(NATIVE_STATE)?.as_str()
}

/// An answer in the form of 1.0 whose states the types can read.
pub(super) fn readable(mut answer: Value) -> Value {
    keep(&mut answer);
    answer
}

fn keep(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let inside = ["task", "statusUpdate", "tasks"];
            inside.iter().for_each(|key| fields.get_mut(*key).into_iter().for_each(keep));
            if let Some(word) = fields.get_mut("status").and_then(|status| status.get_mut("state")).and_then(taken) {
                beside(fields, word);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(keep),
        _ => {}
    }
}

/// The word, where it is one that nobody knows; what is no word at all stays for the types to refuse.
fn taken(state: &mut Value) -> Option<String> {
    let word = state.as_str().filter(|_| serde_json::from_value::<TaskState>(state.clone()).is_err()).map(cut)?;
    *state = UNSPECIFIED.into();
    Some(word)
}

fn beside(fields: &mut Map<String, Value>, word: String) {
    let metadata = fields.entry("metadata").or_insert(Value::Null);
    if !metadata.is_object() {
        *metadata = Map::new().into();
    }
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert(NATIVE_STATE.to_owned(), word.into());
    }
}

/// The same for a task of protocol buffers, where a state is a number: `number` where nobody knows it.
pub(super) fn keep_number(task: &mut Task, number: Option<i32>) {
    if let Some(number) = number {
        task.metadata.get_or_insert_default().insert(NATIVE_STATE.to_owned(), number.to_string().into());
    }
}

/// The same for an item of a stream.
pub(super) fn keep_number_of(item: &mut StreamResponse, number: Option<i32>) {
    match (item, number) {
        (StreamResponse::Task(task), number) => keep_number(task, number),
        (StreamResponse::StatusUpdate(update), Some(number)) => {
            update.metadata.get_or_insert_default().insert(NATIVE_STATE.to_owned(), number.to_string().into());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_state_that_nobody_knows_is_unspecified_and_its_word_is_kept() {
        for metadata in [Value::Null, json!({ "a": 1 }), json!("nonsense")] {
            let task = json!({ "id": "t", "contextId": "c", "status": { "state": "pondering" }, "metadata": metadata });
            let read: Task = serde_json::from_value(readable(task.clone())).unwrap();
            assert_eq!(
                (&read.status.state, kept(read.metadata.as_ref())),
                (&TaskState::Unspecified, Some("pondering"))
            );
            let page = readable(json!({ "tasks": [task.clone()] }));
            assert_eq!(page["tasks"][0]["metadata"][NATIVE_STATE], "pondering");
            let item: StreamResponse = serde_json::from_value(readable(json!({ "task": task }))).unwrap();
            let StreamResponse::Task(item) = item else { panic!("{item:?}") };
            assert_eq!(kept(item.metadata.as_ref()), Some("pondering"));
        }
        let update = json!({ "statusUpdate": { "taskId": "t", "contextId": "c", "status": { "state": "pondering" } } });
        let update: StreamResponse = serde_json::from_value(readable(update)).unwrap();
        let StreamResponse::StatusUpdate(update) = update else { panic!("{update:?}") };
        assert_eq!(kept(update.metadata.as_ref()), Some("pondering"));
    }

    #[test]
    fn what_is_known_is_left_alone_and_what_is_no_word_too() {
        for state in [json!("TASK_STATE_WORKING"), json!("TASK_STATE_UNSPECIFIED"), json!(7), json!(null)] {
            let task = json!({ "id": "t", "status": { "state": state } });
            assert_eq!(readable(task.clone()), task);
        }
    }
}
