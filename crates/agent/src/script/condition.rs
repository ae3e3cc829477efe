//! `when = { deploy = "denied" }`, `until = { answer = { equals = "done" } }`: what hangs on how saved calls ended and on what
//! they gave.

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

/// A saved call and what has to be so about it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub saved: String,
    pub is: Is,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Is {
    /// It ended in one of these ways.
    Ended(Vec<Ended>),
    /// What it gave, as text, is one of these, white space around it aside.
    Equal(Vec<String>),
    /// It is none of these. A call that was not made gave nothing.
    Not(Vec<String>),
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

/// Reads the conditions under a key, `when` or `until`. All of them have to hold.
pub(super) fn read_conditions(table: &mut Table<'_>, key: &'static str) -> Vec<Condition> {
    match table.value(key) {
        None => Vec::new(),
        Some(Value::Object(fields)) => {
            fields.into_iter().filter_map(|(saved, is)| read_condition(table, key, saved, is)).collect()
        }
        Some(_) => {
            table.problem(format_args!(r#"{key} has to be a table such as {key} = {{ answer = "succeeded" }}"#));
            Vec::new()
        }
    }
}

fn read_condition(table: &Table<'_>, key: &str, saved: String, is: Value) -> Option<Condition> {
    if !table.reading.is_saved(&saved) {
        let hint = suggestion(&saved, &table.reading.saved());
        table.problem(format_args!("{key}: no step before this one saves {saved:?}{hint}"));
        return None;
    }
    let is = match is {
        Value::Object(_) => read_text(Table::new(table.reading, format!("{}, {key}, {saved}", table.place), is)?)?,
        words => {
            let ended = listed(words).iter().map(|word| read_ended(table, key, word)).collect::<Option<_>>()?;
            Is::Ended(ended)
        }
    };
    Some(Condition { saved, is })
}

/// `{ equals = "done" }` or `{ not = ["done", "stop"] }`.
fn read_text(mut table: Table<'_>) -> Option<Is> {
    let (equals, not) = (table.value("equals"), table.value("not"));
    let texts = |texts: Value| -> Option<Vec<String>> {
        listed(texts).into_iter().map(|text| text.as_str().map(|text| text.trim().to_owned())).collect()
    };
    let is = match (equals, not) {
        (Some(equals), None) => texts(equals).map(Is::Equal),
        (None, Some(not)) => texts(not).map(Is::Not),
        _ => None,
    };
    if is.is_none() {
        table.problem(r#"what is it compared with? Say equals = "done" or not = "done", a text or a list of texts"#);
    }
    table.finish();
    is
}

/// One or several.
fn listed(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values,
        value => vec![value],
    }
}

fn read_ended(table: &Table<'_>, key: &str, word: &Value) -> Option<Ended> {
    let text = word.as_str().unwrap_or_default();
    let found = WORDS.iter().find(|(known, _)| *known == text).map(|(_, ended)| *ended);
    if found.is_none() {
        let known = WORDS.map(|(word, _)| word);
        table.problem(format_args!("{key}: {word} is not an outcome{}", suggestion(text, &known)));
    }
    found
}
