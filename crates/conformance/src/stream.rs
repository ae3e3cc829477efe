//! What is expected of a stream of events.
//!
//! The suites look at an event in three ways, so it is shown to them in all: by the name of what it carries as the protocol
//! writes it (`statusUpdate`), as the format writes it (`status_update`), and by the fields of what it carries (`status`).

use serde_json::{Map, Value};

use crate::matcher::{self, shown};
use crate::suite::{ExpectStream, Ordering};

const TERMINAL: [&str; 4] = ["TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"];

/// Compares a whole stream. `framed` events are those of a raw request, which nobody has taken apart.
pub(crate) fn check(expected: &ExpectStream, events: &[Value], framed: bool) -> Result<(), String> {
    let count = events.len();
    if let Some(min) = expected.min_count.filter(|min| count < *min) {
        return Err(format!("{count} events, expected at least {min}"));
    }
    if let Some(max) = expected.max_count.filter(|max| count > *max) {
        return Err(format!("{count} events, expected at most {max}"));
    }
    let views: Vec<Value> = if framed { events.to_vec() } else { events.iter().map(view).collect() };
    if let Some(Ordering::MonotonicState) = expected.ordering {
        in_order(&views)?;
    }
    for event in &expected.events {
        one_event(event, &views)?;
    }
    if let Some(each) = &expected.each_event {
        for (at, event) in views.iter().enumerate() {
            matcher::check(each, Some(event)).map_err(|mismatch| format!("event {at}: {mismatch}"))?;
        }
    }
    if let Some(last) = &expected.final_event {
        matcher::check(last, views.last()).map_err(|mismatch| format!("the last event: {mismatch}"))?;
    }
    Ok(())
}

/// An event with everything the suites may call its parts.
fn view(event: &Value) -> Value {
    let Some(fields) = event.as_object() else { return event.clone() };
    let mut view = Map::new();
    for (key, inner) in fields {
        if let Some(inner) = inner.as_object() {
            view.extend(inner.clone());
        }
        let snake = match key.as_str() {
            "statusUpdate" => "status_update",
            "artifactUpdate" => "artifact_update",
            other => other,
        };
        view.insert(snake.to_owned(), inner.clone());
    }
    view.extend(fields.clone());
    view.into()
}

/// The state of the task that an event tells, if it tells one.
pub(crate) fn state(event: &Value) -> Option<&str> {
    let carried = event.get("statusUpdate").or_else(|| event.get("task"))?;
    carried["status"]["state"].as_str()
}

/// The task an event belongs to.
pub(crate) fn task_id(event: &Value) -> Option<&str> {
    let (_, carried) = event.as_object()?.iter().next()?;
    carried.get("taskId").or_else(|| carried.get("id"))?.as_str()
}

pub(crate) fn is_terminal(state: &str) -> bool {
    TERMINAL.contains(&state)
}

fn in_order(events: &[Value]) -> Result<(), String> {
    let states: Vec<&str> = events.iter().filter_map(state).collect();
    for pair in states.windows(2) {
        let [before, after] = pair else { continue };
        if is_terminal(before) || (*after == "TASK_STATE_SUBMITTED" && before != after) {
            return Err(format!("{before} is followed by {after}"));
        }
    }
    Ok(())
}

fn one_event(expected: &Map<String, Value>, events: &[Value]) -> Result<(), String> {
    let mut assertion = expected.clone();
    let (position, index) = (assertion.remove("match"), assertion.remove("index"));
    let description = assertion.remove("description");
    let assertion = Value::from(assertion);
    let fits = |event: &Value| matcher::check(&assertion, Some(event));
    let found = match (index.as_ref().and_then(Value::as_u64), position.as_ref().and_then(Value::as_str)) {
        (Some(index), _) => match events.get(usize::try_from(index).unwrap_or(usize::MAX)) {
            Some(event) => fits(event).map_err(|mismatch| format!("event {index}: {mismatch}")),
            None => Err(format!("there is no event {index}")),
        },
        (None, Some("exact_position")) => Err("exact_position needs an index".to_owned()),
        (None, _) if events.iter().any(|event| fits(event).is_ok()) => Ok(()),
        (None, _) => Err(format!("no event fits {}", shown(Some(&assertion)))),
    };
    let said = description.as_ref().and_then(Value::as_str).unwrap_or("an event");
    found.map_err(|why| format!("{said}: {why}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn expected(value: Value) -> ExpectStream {
        serde_json::from_value(value).unwrap()
    }

    fn status(state: &str) -> Value {
        json!({"statusUpdate": {"taskId": "t", "status": {"state": state}}})
    }

    #[test]
    fn streams_are_compared_event_by_event() {
        let events = [
            json!({"task": {"id": "t", "status": {"state": "TASK_STATE_SUBMITTED"}}}),
            status("TASK_STATE_WORKING"),
            json!({"artifactUpdate": {"taskId": "t", "artifact": {"parts": [{"text": "a"}]}}}),
            status("TASK_STATE_COMPLETED"),
        ];
        for (expectation, fits) in [
            (json!({"min_count": 4, "max_count": 4, "ordering": "monotonic_state"}), true),
            (json!({"min_count": 5}), false),
            (json!({"max_count": 3}), false),
            (json!({"final_event": {"status": {"state": "TASK_STATE_COMPLETED"}}}), true),
            (json!({"final_event": {"status_update": {"status": {"state": "TASK_STATE_FAILED"}}}}), false),
            (json!({"events": [{"match": "any_position", "artifact": {"exists": true}}]}), true),
            (json!({"events": [{"match": "any_position", "message": {"exists": true}}]}), false),
            (json!({"events": [{"index": 0, "one_of": [{"task": {"status": {"exists": true}}}]}]}), true),
            (json!({"events": [{"index": 1, "task": {"exists": true}}]}), false),
            (json!({"events": [{"index": 9, "task": {"exists": true}}]}), false),
            (json!({"each_event": {"taskId": "t"}}), false),
        ] {
            assert_eq!(check(&expected(expectation.clone()), &events, false).is_ok(), fits, "{expectation}");
        }
    }

    #[test]
    fn states_do_not_go_back() {
        let ordered = expected(json!({"ordering": "monotonic_state"}));
        for (states, fits) in [
            (&["SUBMITTED", "WORKING", "WORKING", "INPUT_REQUIRED", "WORKING", "COMPLETED"][..], true),
            (&["WORKING", "SUBMITTED"], false),
            (&["COMPLETED", "WORKING"], false),
            (&["FAILED", "FAILED"], false),
        ] {
            let events: Vec<Value> = states.iter().map(|state| status(&format!("TASK_STATE_{state}"))).collect();
            assert_eq!(check(&ordered, &events, false).is_ok(), fits, "{states:?}");
        }
    }
}
