//! The parts of a message, kept and given back exactly as they were sent.
//!
//! Legacy parts (`{"type": "text", …}`) and those of A2A 1.0 (`{"text": …}`) are both fine, so a part is JSON here. Which
//! forms there are is checked where a message is decided on, in `engine`, with words for the caller.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parts, shared: a message is a fact, an answer and something to send, all at once and without copies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parts(Arc<Vec<Value>>);

impl Parts {
    pub fn as_slice(&self) -> &[Value] {
        &self.0
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Vec<Value>> for Parts {
    fn from(parts: Vec<Value>) -> Self {
        Self(Arc::new(parts))
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

    #[test]
    fn parts_come_back_as_they_were_sent() {
        let sent = r#"[{"type":"text","text":"a","z":null,"a":[1.50,1e3]},{"data":{"b":1,"a":{}},"metadata":{}}]"#;
        let parts: Parts = serde_json::from_str(sent).expect("parts parse");
        let value: Value = serde_json::from_str(sent).expect("JSON");
        assert_eq!(serde_json::to_string(&parts).expect("parts serialize"), value.to_string());
        assert!(
            serde_json::to_string(&parts)
                .expect("parts serialize")
                .starts_with(r#"[{"type":"text","text":"a","z":null"#)
        );
    }
}
