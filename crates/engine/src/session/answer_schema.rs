//! What an answer has to look like, where the question said so by a JSON Schema.
//!
//! A refusal is no answer of that form and needs none. A schema that is none holds nobody to anything: whoever waits for
//! the answer could not be answered otherwise.

use factum_model::Refusal;
use factum_model::events::ActionRequired;
use serde_json::Value;

use super::verdict::{Verdict, answer_text};

/// The object or list that an answer is, where the question asked for one: typed as a text, or sent as it is.
pub(super) fn structured(required: &ActionRequired, decision: &str, payload: Option<&Value>) -> Option<Value> {
    let validator = jsonschema::validator_for(required.input_schema.as_ref()?).ok()?;
    let typed = serde_json::from_str::<Value>(&answer_text(decision, payload)).ok();
    let fits = |value: &Value| (value.is_object() || value.is_array()) && validator.is_valid(value);
    typed.into_iter().chain(payload.cloned()).find(fits)
}

/// Refuses an answer that does not fit. Its payload counts, or what it says as a text.
pub(super) fn check_answer(
    required: &ActionRequired,
    verdict: Verdict,
    decision: &str,
    payload: Option<&Value>,
) -> Result<(), Refusal> {
    let Some(schema) = required.input_schema.as_ref().filter(|_| verdict != Verdict::Deny) else { return Ok(()) };
    let Ok(validator) = jsonschema::validator_for(schema) else { return Ok(()) };
    let text = answer_text(decision, payload);
    // Where people type, a number is a text that looks like one.
    let meant = serde_json::from_str::<Value>(&text).is_ok_and(|value| validator.is_valid(&value));
    let text = Value::String(text);
    match validator.validate(payload.filter(|payload| !payload.is_null()).unwrap_or(&text)) {
        Err(fault) if !meant && !validator.is_valid(&text) => {
            let message = format!("the answer does not fit the action's input_schema: {fault}");
            let at = fault.instance_path().to_string();
            Err(Refusal::invalid(message).with("at", at).with("input_schema", schema.clone()))
        }
        _ => Ok(()),
    }
}
