//! What a message may hold, and the bounds. What it means is nobody's business here.

use factum_model::Refusal;
use factum_model::commands::PublishMessage;

use super::forms::{Fault, look_at};
use crate::context::{Limits, check};
use crate::size::json_bytes;

const FORMS: &str = r#"{"type":"text","text":…}, {"type":"file","file":{…}}, {"type":"data","data":…}, or {"text":…}, {"raw":…}, {"url":…}, {"data":…}"#;

/// Refuses content of no known form or over a bound.
pub(super) fn check_content(command: &PublishMessage, limits: &Limits) -> Result<(), Refusal> {
    let (parts, fault) = look_at(&command.parts);
    if parts == 0 {
        return Err(Refusal::invalid(
            "a message needs at least one part, such as {\"type\":\"text\",\"text\":\"hello\"}",
        ));
    }
    check("message_parts", parts, limits.message_parts_max)?;
    match fault {
        None => {}
        Some((at, Fault::Form)) => {
            return Err(Refusal::invalid(format!("parts[{at}] has to have exactly one of the known forms: {FORMS}")));
        }
        Some((at, Fault::Unreadable(error))) => {
            return Err(Refusal::invalid(format!(
                "parts[{at}] has JSON in it that its readers could not read: {error}"
            )));
        }
    }
    for (field, refs) in [("artifactRefs", artifact_refs(command)), ("taskRefs", task_refs(command))] {
        if let Some(at) = refs.iter().position(String::is_empty) {
            return Err(Refusal::invalid(format!("{field}[{at}] is empty; a reference names something")));
        }
    }
    let refs = artifact_refs(command).len() + task_refs(command).len();
    check("message_refs", refs, limits.message_refs_max)?;
    if let Some(metadata) = &command.metadata {
        limits.check_metadata("metadata_bytes", metadata)?;
    }
    check_bytes(command, limits)
}

/// Refuses parts that no message has, before anybody looks into them further.
pub(super) fn check_size(command: &PublishMessage, limits: &Limits) -> Result<(), Refusal> {
    check("message_bytes", command.parts.as_json().len(), limits.message_bytes_max)?;
    check("message_parts", look_at(&command.parts).0, limits.message_parts_max)
}

/// Refuses a key that is none. Its bound is the one of all idempotency keys.
pub(super) fn check_key(key: Option<&str>, limits: &Limits) -> Result<(), Refusal> {
    let Some(key) = key else { return Ok(()) };
    if key.is_empty() || key.chars().any(char::is_control) {
        return Err(Refusal::invalid("an idempotency key has 1 to 128 printable characters; leave it out for none"));
    }
    check("idempotency_key_chars", key.chars().count(), limits.idempotency_key_chars_max)
}

pub(super) fn artifact_refs(command: &PublishMessage) -> &[String] {
    command.artifact_refs.as_deref().unwrap_or_default()
}

pub(super) fn task_refs(command: &PublishMessage) -> &[String] {
    command.task_refs.as_deref().unwrap_or_default()
}

fn check_bytes(command: &PublishMessage, limits: &Limits) -> Result<(), Refusal> {
    let refs = [artifact_refs(command), task_refs(command)];
    let refs: usize = refs.iter().filter(|refs| !refs.is_empty()).map(json_bytes).sum();
    let metadata = command.metadata.as_ref().filter(|metadata| !metadata.is_empty()).map_or(0, json_bytes);
    check("message_bytes", command.parts.as_json().len() + refs + metadata, limits.message_bytes_max)
}
