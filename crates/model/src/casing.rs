//! The camelCase form of an event, as the published schemas spell it (`?casing=camel`).
//!
//! Field names we own are renamed; what belongs to a caller is not ours to rename. Which fields those are is one list,
//! and a test holds it against the schemas of all event classes. Values, `type` among them, stay as they are.

use serde_json::{Map, Value};

/// Payload fields whose content is somebody else's: everything inside keeps its keys.
pub const FREE_FORM: &[&str] = &[
    "arguments",
    "constraints",
    "counters",
    "current",
    "cursors",
    "data",
    "details",
    "input_schema",
    "message_parts",
    "metadata",
    "metadata_set",
    "options",
    "payload",
    "previous",
    "result",
    "scope",
    "since",
    "structured_content",
    "verification_outcomes",
];

/// The same event with camelCase field names.
pub fn to_camel(event: &Value) -> Value {
    let Value::Object(envelope) = event else { return event.clone() };
    let rename = |(key, value): (&String, &Value)| {
        // The envelope's own `payload` is ours; one inside it is not. `refs` are names, not fields.
        let value = if key == "payload" { rename_fields(value) } else { value.clone() };
        (camel(key), value)
    };
    Value::Object(envelope.iter().map(rename).collect())
}

fn rename_fields(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(fields.iter().map(rename_field).collect::<Map<_, _>>()),
        Value::Array(items) => Value::Array(items.iter().map(rename_fields).collect()),
        other => other.clone(),
    }
}

fn rename_field((key, value): (&String, &Value)) -> (String, Value) {
    let value = if FREE_FORM.contains(&key.as_str()) { value.clone() } else { rename_fields(value) };
    (camel(key), value)
}

/// `tool_call_id` becomes `toolCallId`.
fn camel(snake: &str) -> String {
    let mut words = snake.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::schema;

    #[test]
    fn our_fields_are_renamed_and_a_callers_are_not() {
        let event = json!({
            "type": "task.cancel_requested",
            "event_id": "evt_1",
            "refs": { "raw_ref": "blob:1" },
            "payload": {
                "requested_by": "agent://a_b",
                "metadata": { "my_key": { "my_other_key": 1 } },
                "input": [{ "type": "data", "data": { "a_b": [{ "c_d": 1 }] }, "media_type": "text/plain" }],
                "payload": { "a_b": 1 },
                "edge": { "created_at": "2026-01-02T03:04:05Z" },
            },
        });
        let expected = json!({
            "type": "task.cancel_requested",
            "eventId": "evt_1",
            "refs": { "raw_ref": "blob:1" },
            "payload": {
                "requestedBy": "agent://a_b",
                "metadata": { "my_key": { "my_other_key": 1 } },
                "input": [{ "type": "data", "data": { "a_b": [{ "c_d": 1 }] }, "mediaType": "text/plain" }],
                "payload": { "a_b": 1 },
                "edge": { "createdAt": "2026-01-02T03:04:05Z" },
            },
        });
        assert_eq!(to_camel(&event), expected);
    }

    #[test]
    fn the_list_names_every_free_form_field_of_the_catalogue_and_no_other() {
        let definitions = schema::payload_definitions();
        let mut seen = Seen { definitions: &definitions, free_form: BTreeSet::new(), structured: BTreeSet::new() };
        for definition in definitions.values() {
            seen.walk(definition);
        }
        let listed: BTreeSet<String> = FREE_FORM.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(seen.free_form, listed);
        let both: Vec<_> = seen.structured.intersection(&listed).collect();
        assert!(both.is_empty(), "these names are free-form in one place and structs in another: {both:?}");
        assert!(FREE_FORM.is_sorted());
    }

    /// Property names, by what their schema says of them.
    struct Seen<'a> {
        definitions: &'a Map<String, Value>,
        free_form: BTreeSet<String>,
        structured: BTreeSet<String>,
    }

    impl Seen<'_> {
        fn walk(&mut self, schema: &Value) {
            if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
                for (name, property) in properties {
                    if is_free_form(property) {
                        self.free_form.insert(name.clone());
                    } else if self.is_structured(property) {
                        self.structured.insert(name.clone());
                    }
                    self.walk(property);
                }
            }
            for keyword in ["oneOf", "anyOf", "allOf"] {
                for branch in schema.get(keyword).and_then(Value::as_array).into_iter().flatten() {
                    self.walk(branch);
                }
            }
            if let Some(items) = schema.get("items") {
                self.walk(items);
            }
        }

        /// Whether there are fields of ours below. A reference to a word or an id has none.
        fn is_structured(&self, schema: &Value) -> bool {
            let target = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
            let mut branches =
                ["anyOf", "oneOf"].iter().filter_map(|keyword| schema.get(keyword)?.as_array()).flatten();
            schema.get("properties").is_some()
                || target.and_then(|name| self.definitions.get(name)).is_some_and(|found| self.is_structured(found))
                || branches.any(|branch| self.is_structured(branch))
                || schema.get("items").is_some_and(|items| self.is_structured(items))
        }
    }

    const SHAPES: [&str; 7] = ["$ref", "type", "enum", "const", "anyOf", "oneOf", "allOf"];

    fn is_free_form(schema: &Value) -> bool {
        let anything = SHAPES.iter().all(|keyword| schema.get(keyword).is_none()) && schema != &Value::Bool(false);
        let map = has_type(schema, "object") && schema.get("properties").is_none();
        anything || map || schema.get("items").is_some_and(is_free_form)
    }

    fn has_type(schema: &Value, name: &str) -> bool {
        match schema.get("type") {
            Some(Value::String(one)) => one == name,
            Some(Value::Array(several)) => several.iter().any(|one| one == name),
            _ => false,
        }
    }
}
