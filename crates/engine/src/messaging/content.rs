//! What a message may hold: the forms of parts, and the bounds. What it means is nobody's business here.

use std::io;

use factum_model::Refusal;
use factum_model::commands::PublishMessage;
use factum_model::value::Metadata;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::context::{Limits, check};

const FORMS: &str = r#"{"type":"text","text":…}, {"type":"file","file":{…}}, {"type":"data","data":…}, or {"text":…}, {"raw":…}, {"url":…}, {"data":…}"#;

/// Refuses content of no known form or over a bound.
pub(super) fn check_content(command: &PublishMessage, limits: &Limits) -> Result<(), Refusal> {
    let parts = command.parts.as_slice();
    if parts.is_empty() {
        return Err(Refusal::invalid(
            "a message needs at least one part, such as {\"type\":\"text\",\"text\":\"hello\"}",
        ));
    }
    check("message_parts", parts.len(), limits.message_parts_max)?;
    if let Some(at) = parts.iter().position(|part| !is_part(part)) {
        return Err(Refusal::invalid(format!("parts[{at}] has none of the known forms: {FORMS}")));
    }
    let refs = artifact_refs(command).len() + task_refs(command).len();
    check("message_refs", refs, limits.message_refs_max)?;
    if let Some(metadata) = &command.metadata {
        limits.check_metadata("metadata_bytes", metadata)?;
    }
    check_bytes(command, limits)
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

/// Whether a part has the content that its discriminator promises, or, without one that we know, any content we know.
/// Everything else in it is the caller's.
fn is_part(part: &Value) -> bool {
    let Value::Object(part) = part else { return false };
    match known_discriminator(part) {
        Some("text") => holds_text(part, "text"),
        Some("data") => part.contains_key("data"),
        Some("file") => holds_file(part) || ["url", "raw", "uri", "bytes"].iter().any(|field| holds_text(part, field)),
        _ => {
            ["text", "raw", "url"].iter().any(|field| holds_text(part, field))
                || part.contains_key("data")
                || holds_file(part)
        }
    }
}

/// `type` (seed 002) or `kind` (A2A 0.3), where it is one of the legacy words.
fn known_discriminator(part: &Map<String, Value>) -> Option<&str> {
    DISCRIMINATORS.iter().filter_map(|field| part.get(*field)?.as_str()).find(|word| LEGACY.contains(word))
}

/// Fields that only say which form a part has.
pub(super) const DISCRIMINATORS: [&str; 2] = ["type", "kind"];

/// What they say in the legacy forms. The field of that name says it too, so the words carry no meaning of their own.
pub(super) const LEGACY: [&str; 3] = ["text", "file", "data"];

/// Fields that hold what a part is about. Empty content is content.
pub(super) const CONTENT: [&str; 5] = ["text", "raw", "url", "data", "file"];

fn holds_text(part: &Map<String, Value>, field: &str) -> bool {
    part.get(field).is_some_and(Value::is_string)
}

fn holds_file(part: &Map<String, Value>) -> bool {
    part.get("file").and_then(Value::as_object).is_some_and(|file| !file.is_empty())
}

fn check_bytes(command: &PublishMessage, limits: &Limits) -> Result<(), Refusal> {
    let max = limits.message_bytes_max;
    if bytes_at_most(command) <= max {
        return Ok(());
    }
    let refs = [artifact_refs(command), task_refs(command)];
    let refs: usize = refs.iter().filter(|refs| !refs.is_empty()).map(json_bytes).sum();
    let metadata = command.metadata.as_ref().filter(|metadata| !metadata.is_empty()).map_or(0, json_bytes);
    check("message_bytes", json_bytes(&command.parts) + refs + metadata, max)
}

/// A bound that costs no serializing. Nearly every message is far below the limit, and then this is all there is to do.
fn bytes_at_most(command: &PublishMessage) -> usize {
    let parts: usize = command.parts.as_slice().iter().map(value_at_most).sum();
    let refs = artifact_refs(command).iter().chain(task_refs(command));
    let refs: usize = refs.map(|text| text_at_most(text)).sum();
    // Brackets of the lists, besides what is in them.
    parts + refs + command.metadata.as_ref().map_or(0, object_at_most) + 6
}

fn value_at_most(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 6,
        Value::Number(_) => 32,
        Value::String(text) => text_at_most(text),
        Value::Array(items) => items.iter().map(value_at_most).sum::<usize>() + 3,
        Value::Object(fields) => object_at_most(fields),
    }
}

fn object_at_most(fields: &Metadata) -> usize {
    fields.iter().map(|(key, value)| text_at_most(key) + value_at_most(value)).sum::<usize>() + 3
}

/// Six bytes is the longest escape; two quotes and a separator.
fn text_at_most(text: &str) -> usize {
    6 * text.len() + 3
}

fn json_bytes(value: &(impl Serialize + ?Sized)) -> usize {
    let mut counter = Counter(0);
    // A value of texts and numbers always serializes, and counting takes everything.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

/// Counts what is written to it.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
