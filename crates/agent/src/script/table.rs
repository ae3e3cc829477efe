//! Reading one table of a script: each key is taken once, and what is left at the end is unknown.

use factum_model::value::Effect;
use serde_json::{Map, Value};

use super::problem::{Reading, suggestion};
use super::template::{Template, ValueTemplate};

/// A table that is being read. Wrong types are noted as problems, and the key counts as absent.
pub(super) struct Table<'r> {
    pub reading: &'r Reading,
    pub place: String,
    fields: Map<String, Value>,
    known: Vec<&'static str>,
}

impl<'r> Table<'r> {
    pub(super) fn new(reading: &'r Reading, place: impl Into<String>, value: Value) -> Option<Table<'r>> {
        let place = place.into();
        match value {
            Value::Object(fields) => Some(Table { reading, place, fields, known: Vec::new() }),
            other => {
                reading.problem(&place, format_args!("this has to be a table, not {}", kind(&other)));
                None
            }
        }
    }

    pub(super) fn problem(&self, message: impl std::fmt::Display) {
        self.reading.problem(&self.place, message);
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.fields.contains_key(key)
    }

    pub(super) fn value(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.fields.shift_remove(key)
    }

    /// Knows these keys without reading them.
    pub(super) fn pass_over(&mut self, keys: impl IntoIterator<Item = &'static str>) {
        for key in keys {
            self.value(key);
        }
    }

    pub(super) fn text(&mut self, key: &'static str) -> Option<String> {
        match self.value(key)? {
            Value::String(text) => Some(text),
            other => self.wrong(key, "a text", &other),
        }
    }

    pub(super) fn whole(&mut self, key: &'static str) -> Option<u64> {
        let value = self.value(key)?;
        value.as_u64().or_else(|| self.wrong(key, "a whole number, 0 or more", &value))
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Option<bool> {
        match self.value(key)? {
            Value::Bool(flag) => Some(flag),
            other => self.wrong(key, "true or false", &other),
        }
    }

    pub(super) fn list(&mut self, key: &'static str) -> Option<Vec<Value>> {
        match self.value(key)? {
            Value::Array(list) => Some(list),
            other => self.wrong(key, "a list in [ ]", &other),
        }
    }

    /// A table inside this one.
    pub(super) fn table(&mut self, key: &'static str) -> Option<Table<'r>> {
        let value = self.value(key)?;
        Table::new(self.reading, format!("{}, {key}", self.place), value)
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&mut self, key: &'static str, words: &[(&'static str, T)]) -> Option<T> {
        let text = self.text(key)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.problem(format_args!("{key} = {text:?} is unknown{}", suggestion(&text, &known)));
        }
        found
    }

    pub(super) fn effect(&mut self) -> Option<Effect> {
        const WORDS: [(&str, Effect); 4] = [
            ("pure", Effect::Pure),
            ("idempotent", Effect::Idempotent),
            ("once", Effect::Once),
            ("unknown", Effect::Unknown),
        ];
        self.word("effect", &WORDS)
    }

    pub(super) fn template(&mut self, key: &'static str) -> Option<Template> {
        let text = self.text(key)?;
        Template::parse(&text, self.reading, &format!("{}, {key}", self.place))
    }

    pub(super) fn value_template(&mut self, key: &'static str) -> Option<ValueTemplate> {
        let value = self.value(key)?;
        ValueTemplate::parse(value, self.reading, &format!("{}, {key}", self.place))
    }

    /// Notes a problem where a key that has to be there is not.
    pub(super) fn require<T>(&self, key: &str, value: Option<T>, example: &str) -> Option<T> {
        // A value of the wrong type was noted already, and its key is gone either way.
        if value.is_none() && !self.reading.has_problem_at(&self.place, key) {
            self.problem(format_args!("{key} is missing; add {example}"));
        }
        value
    }

    /// The keys that nobody asked for, each with the one it may have been meant to be.
    pub(super) fn finish(self) {
        for key in self.fields.keys() {
            self.problem(format_args!("unknown key {key:?}{}", suggestion(key, &self.known)));
        }
    }

    fn wrong<T>(&self, key: &str, expected: &str, found: &Value) -> Option<T> {
        self.problem(format_args!("{key} has to be {expected}, not {}", kind(found)));
        None
    }
}

/// What a value is, for people.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}
