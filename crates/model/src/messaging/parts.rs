//! The parts of a message, kept and given back exactly as they were sent.
//!
//! Legacy parts (`{"type": "text", …}`) and those of A2A 1.0 (`{"text": …}`) are both fine, so parts are JSON here, and its
//! text: nothing of it is taken apart and put together again between a publisher and its readers. Which forms there are is
//! checked where a message is decided on, in `engine`, with words for the caller.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A list as JSON on one line, shared: a message is a fact, an answer and something to send, all at once and without
/// copies.
#[derive(Clone, Debug)]
pub struct Parts(Arc<RawValue>);

impl Parts {
    /// The list as JSON.
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// The list taken apart, for those who look into it.
    pub fn values(&self) -> Vec<Value> {
        // It was read as JSON, and as a list.
        serde_json::from_str(self.as_json()).unwrap_or_default()
    }

    /// Reads parts without taking them apart. For fields of what is read from text; inside of tagged enums serde has
    /// taken everything apart already.
    pub fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if !raw.get().starts_with('[') {
            return Err(D::Error::custom("parts must be a list"));
        }
        // A text of JSON has no line breaks inside of its strings, and streams want none outside of them, where they mean nothing.
        if memchr::memchr2(b'\n', b'\r', raw.get().as_bytes()).is_none() {
            return Ok(Self(raw.into()));
        }
        let on_one_line = RawValue::from_string(raw.get().replace(['\n', '\r'], ""));
        on_one_line.map(|raw| Self(raw.into())).map_err(D::Error::custom)
    }
}

impl PartialEq for Parts {
    fn eq(&self, other: &Self) -> bool {
        self.as_json() == other.as_json()
    }
}

impl Default for Parts {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl From<Vec<Value>> for Parts {
    fn from(parts: Vec<Value>) -> Self {
        // A value always serializes, and what it gives is JSON.
        let raw = serde_json::value::to_raw_value(&parts).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self(raw.into())
    }
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Value>::deserialize(deserializer).map(Self::from)
    }
}

impl JsonSchema for Parts {
    /// Inline, so that a reader of a payload's schema sees at once that the content is a caller's.
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Parts".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": { "type": "object", "additionalProperties": true },
            "examples": [[{ "type": "text", "text": "hello" }]],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Holder {
        #[serde(deserialize_with = "Parts::from_text")]
        parts: Parts,
    }

    fn read(parts: &str) -> Option<Parts> {
        serde_json::from_str(&format!(r#"{{"parts":{parts}}}"#)).ok().map(|holder: Holder| holder.parts)
    }

    #[test]
    fn parts_come_back_as_they_were_sent() {
        let sent = r#"[{"type":"text","text":"a","z":null,"a":[1.50,1e3]}, {"data":{"b":1,"a":{}},"metadata":{}}]"#;
        let parts = read(sent).expect("parts parse");
        assert_eq!(serde_json::to_string(&parts).expect("parts serialize"), sent);
        assert_eq!(parts.values().len(), 2);
    }

    #[test]
    fn parts_are_on_one_line() {
        let parts = read("[{\n  \"text\":\r\n\"a\\nb\"}\n]").expect("parts parse");
        assert_eq!(parts.as_json(), r#"[{  "text":"a\nb"}]"#);
        // And otherwise as they were sent: no digit is lost.
        let parts = read("[\n{\"data\":[1.10,12345678901234567890123]}]").expect("parts parse");
        assert_eq!(parts.as_json(), r#"[{"data":[1.10,12345678901234567890123]}]"#);
    }

    #[test]
    fn only_a_list_is_parts() {
        for not in ["{}", "\"[]\"", "1", "null"] {
            assert_eq!(read(not), None, "{not}");
        }
        assert_eq!(read("[]"), Some(Parts::default()));
    }
}
