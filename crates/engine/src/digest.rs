//! Digests of JSON by meaning: the order of keys does not matter, the content does.

use std::fmt::Write;

use factum_model::{Command, Refusal};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// `sha256:` and 64 hex digits over the canonical form.
pub fn digest_of(value: &Value) -> String {
    let mut text = String::with_capacity(128);
    write_canonical(value, &mut text);
    sha256(text.as_bytes())
}

/// The canonical form: keys sorted, no white space.
pub fn canonical_json(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

/// The digest an idempotency key is bound to: the command and its params, without the key itself.
pub fn params_digest<C: Command>(params: &C) -> Result<String, Refusal> {
    let mut value = serde_json::to_value(params).map_err(|error| Refusal::internal(error.to_string()))?;
    if let Value::Object(map) = &mut value {
        map.remove("idempotency_key");
    }
    Ok(digest_of(&serde_json::json!([C::NAME, value])))
}

/// `sha256:` and the hex digest of some bytes.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(71);
    text.push_str("sha256:");
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for (at, key) in keys.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_scalar(&Value::String(key.clone()), out);
                out.push(':');
                write_canonical(&map[key], out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        scalar => write_scalar(scalar, out),
    }
}

fn write_scalar(value: &Value, out: &mut String) {
    let _ = write!(out, "{value}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn order_of_keys_does_not_matter_and_content_does() {
        let one = json!({"a": 1, "b": {"x": [1, 2], "y": null}});
        let same = json!({"b": {"y": null, "x": [1, 2]}, "a": 1});
        let other = json!({"b": {"y": null, "x": [2, 1]}, "a": 1});
        assert_eq!(digest_of(&one), digest_of(&same));
        assert_ne!(digest_of(&one), digest_of(&other));
        assert_eq!(canonical_json(&same), r#"{"a":1,"b":{"x":[1,2],"y":null}}"#);
    }
}
