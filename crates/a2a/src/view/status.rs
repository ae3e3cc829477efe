//! What facts make of a task's status: what its agent does, what it waits for, and what the client answered.

use a2a::{Part, TaskState};
use factum_model::Event;
use factum_model::asked::asked_now;
use factum_model::events::{ActionRequired, Phase, RunStatus};
use factum_model::value::Part as Input;
use serde_json::{Map, Value, json};

use super::{OpenAction, Shown, TaskView};

/// Under this name a question says which one it is, and an answer which one it is for.
const ACTION_ID: &str = "action_id";

/// The agent says what it is doing.
pub(super) fn of_run(view: &mut TaskView, event: &Event, fact: &RunStatus) -> Vec<Shown> {
    // That the runtime carried on after a restart is not the client's concern, and while it waits nothing runs.
    if fact.phase == Phase::Recovering || view.is_interrupted() {
        return Vec::new();
    }
    let text = match &fact.detail {
        Some(detail) => format!("{}: {detail}", fact.title),
        None => fact.title.clone(),
    };
    let message = view.agent_says(&text, event);
    view.status(TaskState::Working, Some(message), event.timestamp)
}

/// Somebody has to decide or answer.
pub(super) fn of_action(view: &mut TaskView, event: &Event, fact: &ActionRequired) -> Vec<Shown> {
    let Some(action_id) = event.scope.action_id.clone() else { return Vec::new() };
    let state = if fact.action_type.is_permission() { TaskState::AuthRequired } else { TaskState::InputRequired };
    let mut parts = vec![Part::text(fact.prompt.as_str())];
    parts.extend(what_is_understood(fact, action_id.as_str()).map(Part::data));
    let mut message = view.agent_message(parts, event.event_id.as_str());
    message.metadata = Some([(ACTION_ID.to_owned(), action_id.as_str().into())].into());
    view.open.push(OpenAction { action_id, state, message });
    ask(view, event)
}

/// Shows the question that an answer which names none is for, unless it is shown already.
fn ask(view: &mut TaskView, event: &Event) -> Vec<Shown> {
    match asked_now(&view.open).cloned() {
        None => view.status(TaskState::Working, None, event.timestamp),
        Some(asked) if view.status_message.as_ref() == Some(&asked.message) => Vec::new(),
        Some(asked) => view.status(asked.state, Some(asked.message), event.timestamp),
    }
}

/// For programs: which answers are understood. A plain question needs nothing of the kind; its id is in its annotations.
fn what_is_understood(fact: &ActionRequired, action_id: &str) -> Option<Value> {
    if fact.decisions.is_empty() && fact.input_schema.is_none() {
        return None;
    }
    let mut data = Map::new();
    data.insert(ACTION_ID.to_owned(), action_id.into());
    if !fact.decisions.is_empty() {
        data.insert("decisions".to_owned(), json!(fact.decisions));
    }
    if let Some(tool) = &fact.tool_name {
        data.insert("tool_name".to_owned(), tool.as_str().into());
    }
    if let Some(schema) = &fact.input_schema {
        data.insert("input_schema".to_owned(), schema.clone());
    }
    Some(data.into())
}

/// An action is decided: the next open one is asked, or the work goes on.
pub(super) fn resolved(view: &mut TaskView, event: &Event) -> Vec<Shown> {
    let known = view.open.len();
    view.open.retain(|open| Some(&open.action_id) != event.scope.action_id.as_ref());
    if view.open.len() == known {
        return Vec::new();
    }
    ask(view, event)
}

/// The client's answer as the parts it came in, where they were not kept.
pub(super) fn answer_parts(payload: Option<&Value>, decision: &str) -> Vec<Input> {
    match payload {
        None => vec![Input::Text { text: decision.to_owned() }],
        Some(Value::Object(map)) if map.len() == 1 && map.contains_key("text") => {
            vec![Input::Text { text: map["text"].as_str().unwrap_or_default().to_owned() }]
        }
        Some(Value::Array(_)) => serde_json::from_value(payload.cloned().unwrap_or_default()).unwrap_or_default(),
        Some(data) => vec![Input::Data { data: data.clone() }],
    }
}
