//! Digests of JSON by meaning: the order of keys does not matter, the content does.

use factum_model::{Command, Refusal, json};
use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];

/// `sha256:` and 64 hex digits over the canonical form.
pub fn digest_of(value: &Value) -> String {
    let mut bytes = Vec::with_capacity(256);
    write_canonical(value, &mut bytes);
    sha256(&bytes)
}

/// The canonical form: keys sorted, no white space.
pub fn canonical_json(value: &Value) -> String {
    let mut bytes = Vec::new();
    write_canonical(value, &mut bytes);
    // JSON is written as UTF-8, so nothing is ever replaced.
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The digest an idempotency key is bound to: the command and its params, without the key itself.
pub fn params_digest<C: Command>(params: &C) -> Result<String, Refusal> {
    let mut value = serde_json::to_value(params).map_err(|error| Refusal::internal(error.to_string()))?;
    if let Value::Object(map) = &mut value {
        // Messaging spells it as seed 002 does.
        map.remove("idempotency_key");
        map.remove("idempotencyKey");
    }
    Ok(digest_of(&serde_json::json!([C::NAME, value])))
}

/// `sha256:` and the hex digest of some bytes.
pub fn sha256(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(71);
    text.push_str("sha256:");
    for byte in Sha256::digest(bytes) {
        text.push(HEX[usize::from(byte >> 4)]);
        text.push(HEX[usize::from(byte & 15)]);
    }
    text
}

pub(crate) fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            out.push(b'{');
            for (at, key) in keys.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_scalar(key, out);
                out.push(b':');
                write_canonical(&map[key], out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_canonical(item, out);
            }
            out.push(b']');
        }
        Value::Number(number) => write_number(number, out),
        scalar => write_scalar(scalar, out),
    }
}

/// A number is what it is worth, as RFC 8785 has it: `1`, `1.0` and `1e0` are one.
fn write_number(number: &Number, out: &mut Vec<u8>) {
    /// Up to here every whole number is a float of its own.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match number.as_f64().filter(|value| number.is_f64() && value.fract() == 0.0 && value.abs() <= EXACT_MAX) {
        Some(whole) => write_scalar(&(whole as i64), out),
        None => write_scalar(number, out),
    }
}

fn write_scalar(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    // Writing a scalar to memory cannot fail.
    let _ = json::put(out, value);
}

#[cfg(test)]
mod tests {
    use factum_model::commands::{DeleteChannel, InterruptTurn};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_no_part_of_what_it_is_bound_to_however_it_is_spelled() {
        fn check<C: Command>(without: Value, with: Value) {
            let digest =
                |params| params_digest(&serde_json::from_value::<C>(params).expect("params")).expect("a digest");
            assert_eq!(digest(without), digest(with), "{}", C::NAME);
        }
        check::<InterruptTurn>(json!({ "session_id": "s" }), json!({ "session_id": "s", "idempotency_key": "k" }));
        check::<DeleteChannel>(json!({ "channelId": "c" }), json!({ "channelId": "c", "idempotencyKey": "k" }));
    }

    #[test]
    fn order_of_keys_does_not_matter_and_content_does() {
        let one = json!({"a": 1, "b": {"x": [1, 2], "y": null}});
        let same = json!({"b": {"y": null, "x": [1, 2]}, "a": 1});
        let other = json!({"b": {"y": null, "x": [2, 1]}, "a": 1});
        assert_eq!(digest_of(&one), digest_of(&same));
        assert_ne!(digest_of(&one), digest_of(&other));
        assert_eq!(canonical_json(&same), r#"{"a":1,"b":{"x":[1,2],"y":null}}"#);
    }

    #[test]
    fn a_number_is_what_it_is_worth() {
        let digest = |text: &str| digest_of(&serde_json::from_str(text).expect("a number"));
        for text in ["1.0", "1e0", "10e-1"] {
            assert_eq!(digest(text), digest("1"), "{text}");
        }
        assert_eq!(digest("-0.0"), digest("0"));
        for other in ["1.5", "2", "\"1\"", "9007199254740993"] {
            assert_ne!(digest(other), digest("1"), "{other}");
        }
        assert_ne!(digest("9007199254740993"), digest("9007199254740992"), "whole numbers stay exact");
    }
}
