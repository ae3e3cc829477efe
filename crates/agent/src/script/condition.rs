//! `when = { deploy = "denied" }`: a step that is taken only where saved calls ended in certain ways.

use factum_model::events::ToolOutcome;
use serde_json::Value;

use super::problem::suggestion;
use super::table::Table;
use crate::transcript::Outcome;

/// How a saved call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Succeeded,
    Failed,
    Denied,
    Cancelled,
    TimedOut,
    Lost,
    /// It was not made: its own `when` did not hold.
    Skipped,
}

/// A saved call and the endings that are meant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub saved: String,
    pub ended: Vec<Ended>,
}

const WORDS: [(&str, Ended); 7] = [
    ("succeeded", Ended::Succeeded),
    ("failed", Ended::Failed),
    ("denied", Ended::Denied),
    ("cancelled", Ended::Cancelled),
    ("timed_out", Ended::TimedOut),
    ("lost", Ended::Lost),
    ("skipped", Ended::Skipped),
];

impl Ended {
    pub(super) fn of(outcome: Option<&Outcome>) -> Ended {
        match outcome {
            None => Ended::Skipped,
            Some(Outcome::Succeeded { .. }) => Ended::Succeeded,
            Some(Outcome::Failed { outcome, .. }) => match outcome {
                ToolOutcome::Failed => Ended::Failed,
                ToolOutcome::Denied => Ended::Denied,
                ToolOutcome::Cancelled => Ended::Cancelled,
                ToolOutcome::TimedOut => Ended::TimedOut,
                ToolOutcome::Lost => Ended::Lost,
            },
        }
    }

    pub(super) fn word(self) -> &'static str {
        WORDS.iter().find(|(_, ended)| *ended == self).map_or("", |(word, _)| word)
    }
}

/// Reads the `when` of a step. All of its conditions have to hold.
pub(super) fn read_conditions(table: &mut Table<'_>) -> Vec<Condition> {
    match table.value("when") {
        None => Vec::new(),
        Some(Value::Object(fields)) => {
            fields.into_iter().filter_map(|(saved, ended)| read_condition(table, saved, ended)).collect()
        }
        Some(_) => {
            table.problem(r#"when has to be a table such as when = { answer = "succeeded" }"#);
            Vec::new()
        }
    }
}

fn read_condition(table: &Table<'_>, saved: String, ended: Value) -> Option<Condition> {
    if !table.reading.is_saved(&saved) {
        let hint = suggestion(&saved, &table.reading.saved());
        table.problem(format_args!("when: no step before this one saves {saved:?}{hint}"));
        return None;
    }
    let words = match ended {
        Value::Array(words) => words,
        word => vec![word],
    };
    let ended = words.iter().map(|word| read_ended(table, word)).collect::<Option<Vec<Ended>>>()?;
    Some(Condition { saved, ended })
}

fn read_ended(table: &Table<'_>, word: &Value) -> Option<Ended> {
    let text = word.as_str().unwrap_or_default();
    let found = WORDS.iter().find(|(known, _)| *known == text).map(|(_, ended)| *ended);
    if found.is_none() {
        let known = WORDS.map(|(word, _)| word);
        table.problem(format_args!("when: {word} is not an outcome{}", suggestion(text, &known)));
    }
    found
}
