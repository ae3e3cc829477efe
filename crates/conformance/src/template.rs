//! `{{name}}` in texts: what earlier steps captured, what the document and the runner define, fresh ids.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde_json::{Map, Value};

/// What names stand for in one run of one test.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    /// By step and name; `response` is the whole answer.
    captured: BTreeMap<(String, String), Value>,
    document: Map<String, Value>,
    /// What the runner knows: credentials, where it listens.
    runner: BTreeMap<String, String>,
}

impl Variables {
    pub(crate) fn new(document: Map<String, Value>, runner: BTreeMap<String, String>) -> Self {
        Self { captured: BTreeMap::new(), document, runner }
    }

    pub(crate) fn capture(&mut self, step: &str, name: &str, value: Value) {
        self.captured.insert((step.to_owned(), name.to_owned()), value);
    }

    /// What a name stands for. A document's word goes before the runner's, as the format has it.
    fn get(&self, name: &str) -> Option<Value> {
        if name == "$uuid" {
            return Some(uuid::Uuid::new_v4().to_string().into());
        }
        if let Some(variable) = name.strip_prefix("env.") {
            return std::env::var(variable).ok().map(Value::String);
        }
        if let Some((step, field)) = name.split_once('.') {
            return self.captured.get(&(step.to_owned(), field.to_owned())).cloned();
        }
        self.document.get(name).or(None).cloned().or_else(|| self.runner.get(name).cloned().map(Value::String))
    }

    /// A value with every name in its texts filled in. A text that is nothing but a name becomes the value itself.
    pub(crate) fn fill(&self, value: &Value) -> Result<Value> {
        Ok(match value {
            Value::String(text) => self.fill_text(text)?,
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect::<Result<_>>()?,
            Value::Object(fields) => {
                let filled = fields.iter().map(|(key, value)| Ok((key.clone(), self.fill(value)?)));
                filled.collect::<Result<Map<_, _>>>()?.into()
            }
            plain => plain.clone(),
        })
    }

    pub(crate) fn fill_map(&self, map: &Map<String, Value>) -> Result<Map<String, Value>> {
        map.iter().map(|(key, value)| Ok((key.clone(), self.fill(value)?))).collect()
    }

    pub(crate) fn fill_text(&self, text: &str) -> Result<Value> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("{{") {
            let Some((name, after)) = behind.split_once("}}") else { bail!("{text:?} has no end to its braces") };
            let Some(value) = self.get(name.trim()) else { bail!("{{{{{name}}}}} has no value") };
            if before.is_empty() && after.is_empty() && filled.is_empty() {
                return Ok(value);
            }
            filled.push_str(before);
            filled.push_str(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_filled_in_wherever_they_stand() {
        let document = json!({"url": "http://d"}).as_object().unwrap().clone();
        let runner = BTreeMap::from([("url".to_owned(), "http://r".to_owned()), ("token".to_owned(), "t".to_owned())]);
        let mut variables = Variables::new(document, runner);
        variables.capture("send", "taskId", json!("t-1"));
        variables.capture("send", "response", json!({"a": [1]}));
        let value = json!({"id": "{{send.taskId}}", "in": ["x {{token}} {{url}}"], "all": "{{send.response}}", "n": 1});
        let expected = json!({"id": "t-1", "in": ["x t http://d"], "all": {"a": [1]}, "n": 1});
        assert_eq!(variables.fill(&value).unwrap(), expected);
        assert_ne!(variables.fill_text("{{$uuid}}").unwrap(), variables.fill_text("{{$uuid}}").unwrap());
        assert_eq!(variables.fill_text("{{send.nothing}}").unwrap_err().to_string(), "{{send.nothing}} has no value");
    }
}
