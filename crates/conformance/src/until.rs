//! The conditions of `repeat.until`: `path == value`, `path != value`, `path in [value, …]`.

use anyhow::{Result, bail};
use serde_json::Value;

use crate::path;

/// Whether the condition holds of an answer.
pub(crate) fn holds(condition: &str, answer: &Value) -> Result<bool> {
    let text = |path: &str| {
        path::one(answer, path.trim()).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let plain = |value: &str| value.trim().trim_matches(['"', '\'']).to_owned();
    if let Some((path, values)) = condition.split_once(" in ") {
        let values = values.trim().trim_start_matches('[').trim_end_matches(']');
        let found = text(path);
        return Ok(values.split(',').any(|value| found.as_deref() == Some(&plain(value))));
    }
    if let Some((path, value)) = condition.split_once("==") {
        return Ok(text(path) == Some(plain(value)));
    }
    if let Some((path, value)) = condition.split_once("!=") {
        return Ok(text(path) != Some(plain(value)));
    }
    bail!("until {condition:?} is neither ==, != nor in")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_compare_texts() {
        let answer = json!({"status": {"state": "DONE"}, "n": 3});
        for (condition, expected) in [
            ("status.state == DONE", true),
            ("status.state == \"DONE\"", true),
            ("status.state != DONE", false),
            ("status.state in [WORKING, DONE]", true),
            ("status.state in [WORKING]", false),
            ("nothing in [DONE]", false),
            ("n == 3", true),
        ] {
            assert_eq!(holds(condition, &answer).unwrap(), expected, "{condition}");
        }
        assert!(holds("status.state ~ DONE", &answer).is_err());
    }
}
