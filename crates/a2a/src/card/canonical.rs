//! What is signed of a card: its JSON without the signatures, in the one canonical form of RFC 8785.

use serde_json::Value;

/// Why there is none.
#[derive(Debug, thiserror::Error)]
#[error("the card has no canonical form: {0}")]
pub(super) struct NotCanonical(#[from] serde_json::Error);

pub(super) fn canonical(card: &Value) -> Result<Vec<u8>, NotCanonical> {
    let mut card = card.clone();
    if let Value::Object(fields) = &mut card {
        fields.remove("signatures");
    }
    Ok(serde_json_canonicalizer::to_vec(&card)?)
}

/// The same without anything that is empty. Signers differ in whether they leave such fields out, and they say nothing.
pub(super) fn canonical_without_empty(card: &Value) -> Result<Vec<u8>, NotCanonical> {
    let mut card = card.clone();
    if let Value::Object(fields) = &mut card {
        fields.remove("signatures");
    }
    drop_empty(&mut card);
    Ok(serde_json_canonicalizer::to_vec(&card)?)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn drop_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(drop_empty);
            fields.retain(|_, value| !is_empty(value));
        }
        Value::Array(items) => {
            items.iter_mut().for_each(drop_empty);
            items.retain(|item| !is_empty(item));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_numbers_are_short_and_signatures_are_left_out() {
        let card = json!({ "b": [1.0, 1e21, 0.1], "a": { "é": "\u{1}\"", "Z": true }, "signatures": [1] });
        let expected = "{\"a\":{\"Z\":true,\"é\":\"\\u0001\\\"\"},\"b\":[1,1e+21,0.1]}";
        assert_eq!(String::from_utf8(canonical(&card).unwrap()).unwrap(), expected);
    }

    /// The example of 1.0 §8.4.1, which keeps what is required even where it is empty, and the stricter reading.
    #[test]
    fn empty_fields_may_be_left_out() {
        let card = json!({ "name": "x", "description": "", "capabilities": { "streaming": false, "extensions": [] }, "skills": [] });
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let whole = r#"{"capabilities":{"extensions":[],"streaming":false},"description":"","name":"x","skills":[]}"#;
        assert_eq!(text(canonical(&card).unwrap()), whole);
        let less = r#"{"capabilities":{"streaming":false},"name":"x"}"#;
        assert_eq!(text(canonical_without_empty(&card).unwrap()), less);
    }
}
