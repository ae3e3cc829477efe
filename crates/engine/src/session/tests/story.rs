//! What a fact says, in a line: its type and the few words that tables compare.

use factum_model::events::QueueChanged;
use factum_model::{Event, Fact};
use serde::Serialize;

pub(super) fn story(events: &[Event]) -> Vec<String> {
    events.iter().map(line).collect()
}

fn line(event: &Event) -> String {
    let about = words(event);
    let words: Vec<&str> = about.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    [&[event.fact.type_name()], words.as_slice()].concat().join(" ")
}

fn words(event: &Event) -> Vec<String> {
    let turn = event.scope.turn_id.as_ref().map_or_else(String::new, ToString::to_string);
    match &event.fact {
        Fact::TurnSubmitted(fact) => vec![turn, word(fact.status)],
        Fact::TurnStarted(fact) => vec![turn, format!("#{}", fact.attempt)],
        Fact::TurnCompleted(fact) => vec![turn, fact.stop_reason.clone()],
        Fact::TurnFailed(fact) => vec![turn, word(fact.status), fact.error.category.clone()],
        Fact::QueueChanged(fact) => vec![word(fact.change), turn, order(fact)],
        Fact::ModelRequested(fact) => vec![format!("{}.{}", fact.round, fact.attempt)],
        Fact::ModelFailed(fact) => {
            vec![fact.error.category.clone(), if fact.will_retry { "again" } else { "over" }.to_owned()]
        }
        Fact::ToolStarted(fact) => vec![fact.tool_name.clone()],
        Fact::ToolProgress(fact) => {
            vec![word(fact.state), fact.attempt.map_or_else(String::new, |attempt| format!("#{attempt}"))]
        }
        Fact::ToolResult(fact) => vec![fact.preview.clone().unwrap_or_default()],
        Fact::ToolFailed(fact) => vec![word(fact.outcome)],
        Fact::ActionRequired(fact) => vec![word(fact.action_type)],
        Fact::ActionResolved(fact) => vec![fact.decision.trim().to_owned(), format!("by {}", word(fact.source))],
        Fact::RunStatus(fact) => vec![word(fact.phase)],
        Fact::SubagentSpawned(fact) => vec![subagent(event), word(fact.status)],
        Fact::SubagentStatus(fact) => vec![subagent(event), word(fact.status)],
        Fact::SubagentInput(_) => vec![subagent(event)],
        Fact::SubagentCompleted(fact) => vec![subagent(event), word(fact.status)],
        Fact::SubagentFailed(fact) => vec![subagent(event), word(fact.status)],
        Fact::SubagentClosed(fact) => vec![subagent(event), format!("was {}", word(fact.previous_status))],
        _ => Vec::new(),
    }
}

fn subagent(event: &Event) -> String {
    event.scope.subagent_id.as_ref().map_or_else(String::new, ToString::to_string)
}

fn order(fact: &QueueChanged) -> String {
    let order: Vec<&str> = fact.entries.iter().map(|entry| entry.turn_id.as_str()).collect();
    format!("[{}]", order.join(" "))
}

/// An enum as it is spelled on the wire.
fn word(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).expect("words serialize");
    value.as_str().unwrap_or_default().to_owned()
}
