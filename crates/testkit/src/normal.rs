//! Making two runs comparable: ids and times become numbers in the order they appear, everything else stays.

use std::collections::HashMap;

use serde_json::Value;

/// A value in which every id made by a runtime, every time and every cursor is replaced by its kind and a number. Equal
/// values get equal numbers, so that what refers to what is still compared.
pub fn normalise(value: &Value) -> Value {
    Names::default().value(value)
}

#[derive(Default)]
struct Names {
    known: HashMap<String, String>,
    counters: HashMap<String, usize>,
}

impl Names {
    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => {
                Value::Object(members.iter().map(|(name, member)| (name.clone(), self.member(name, member))).collect())
            }
            other => other.clone(),
        }
    }

    fn member(&mut self, name: &str, value: &Value) -> Value {
        match (name, value) {
            (
                "next_cursor" | "cursor" | "next_item_cursor" | "item_cursor" | "nextPageToken" | "pageToken",
                Value::String(cursor),
            ) => Value::String(self.name("cursor", cursor)),
            ("key" | "resume_token", Value::String(key)) => Value::String(self.name("secret", key)),
            ("resume_token_ref", Value::String(name)) => Value::String(self.name("token", name)),
            // It covers ids.
            ("params_digest", Value::String(digest)) => Value::String(self.name("digest", digest)),
            // Messaging has its times in milliseconds.
            ("timestamp" | "createdAt" | "joinedAt" | "since", Value::Number(_)) => Value::String("<time>".to_owned()),
            // How a peer came is what differs between the runs that are compared.
            ("transport", Value::String(_)) => Value::String("<transport>".to_owned()),
            // How long something took is nobody's promise.
            ("duration_ms", Value::Number(_)) => Value::String("<duration>".to_owned()),
            _ => self.value(value),
        }
    }

    fn text(&mut self, text: &str) -> String {
        if is_time(text) {
            return "<time>".to_owned();
        }
        // A key that an id stands for has ids in it.
        if let Some(key) = text.strip_prefix('@') {
            let parts: Vec<String> = key.split('/').map(|part| self.text(part)).collect();
            return format!("@{}", parts.join("/"));
        }
        match made_id(text) {
            Some(prefix) => self.name(prefix, text),
            None => text.to_owned(),
        }
    }

    fn name(&mut self, kind: &str, text: &str) -> String {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let counter = self.counters.entry(kind.to_owned()).or_default();
        *counter += 1;
        let name = format!("<{kind} {counter}>");
        self.known.insert(text.to_owned(), name.clone());
        name
    }
}

/// The prefix of an id that a runtime made: `turn_` and a UUID.
fn made_id(text: &str) -> Option<&str> {
    let (prefix, uuid) = text.rsplit_once('_')?;
    let shape = uuid.len() == 36
        && uuid.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    shape.then_some(prefix)
}

fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 20
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && bytes[10] == b'T'
        && bytes.ends_with(b"Z")
        && bytes[..4].iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_become_numbers_and_references_stay_references() {
        let (a, b) = ("turn_0198c0de-0000-7000-8000-000000000000", "turn_0198c0de-0000-7000-8000-000000000001");
        let value = json!([{ "turn_id": b, "at": "2026-01-01T00:00:00.123Z" }, { "turn_id": a }, b, "mine", 7]);
        let expected =
            json!([{ "turn_id": "<turn 1>", "at": "<time>" }, { "turn_id": "<turn 2>" }, "<turn 1>", "mine", 7]);
        assert_eq!(normalise(&value), expected);
    }
}
