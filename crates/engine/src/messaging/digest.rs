//! The digest a publish's idempotency key is bound to: the content by meaning, not by spelling.
//!
//! Two messages are the same where their parts are, whatever form they are sent in (`{"type":"text","text":"a"}` is
//! `{"text":"a"}`), and where references, metadata and thread are, with absent, null and empty being the same. The order of
//! keys does not matter, that of parts and references does. Numbers are the same where JSON writes them the same. The thread
//! is the one that the message is in, however it was named.

use factum_model::commands::PublishMessage;
use factum_model::id::MessageId;
use factum_model::json;
use serde_json::Value;

use super::content::{artifact_refs, task_refs};
use super::forms::{CONTENT, DISCRIMINATORS, LEGACY};
use crate::digest::{sha256, write_canonical};

/// Whether a digest that was kept is that of this message, which is in this thread.
///
/// Digests used to hold the thread as it was sent. So those of a reply may be without it, and others may name any message of the
/// thread; each of them still stands for a message that is in this thread.
pub(super) fn is_digest_of(kept: &str, command: &PublishMessage, thread: Option<&MessageId>) -> bool {
    let as_sent = command.thread_id.as_ref();
    let is = |thread| content_digest(command, thread) == kept || digest_in(Files::AsSent, command, thread) == kept;
    is(thread) || (as_sent != thread && is(as_sent)) || (command.reply_to_id.is_some() && is(None))
}

/// `sha256:` and 64 hex digits.
pub(super) fn content_digest(command: &PublishMessage, thread: Option<&MessageId>) -> String {
    digest_in(Files::OneForm, command, thread)
}

/// How parts that are files count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Files {
    /// The same in every form.
    OneForm,
    /// As they were sent, which is how digests used to be made.
    AsSent,
}

fn digest_in(files: Files, command: &PublishMessage, thread: Option<&MessageId>) -> String {
    let mut out = Vec::with_capacity(512);
    // A list of a fixed length: what is absent keeps its place, so nothing can stand for something else.
    out.push(b'[');
    match serde_json::from_str::<Vec<Value>>(command.parts.as_json()) {
        Ok(parts) => {
            for part in parts {
                let part = if files == Files::OneForm { in_one_form(part) } else { part };
                write_part(&part, &mut out);
                out.push(b',');
            }
        }
        // Refused as parts. What cannot be compared by meaning is compared by its text, never taken for something else.
        Err(_) => out.extend_from_slice(command.parts.as_json().as_bytes()),
    }
    for refs in [artifact_refs(command), task_refs(command)] {
        out.extend_from_slice(b"][");
        for text in refs {
            write_text(text, &mut out);
            out.push(b',');
        }
    }
    out.extend_from_slice(b"][");
    write_fields(command.metadata.iter().flatten(), &mut out);
    for id in [command.reply_to_id.as_ref(), thread] {
        out.extend_from_slice(b"][");
        write_text(id.map_or("", |id| id.as_str()), &mut out);
    }
    out.push(b']');
    sha256(&out)
}

/// A file in the form of A2A 1.0: `{"type":"file","file":{"uri":…,"mimeType":…,"name":…}}` is
/// `{"url":…,"mediaType":…,"filename":…}`. Everything else as it is, and so is a file that says something twice.
fn in_one_form(part: Value) -> Value {
    let Value::Object(fields) = &part else { return part };
    let file = fields.get("file").and_then(Value::as_object);
    let is_named = DISCRIMINATORS.iter().any(|field| fields.get(*field).is_some_and(|word| word == "file"));
    if file.is_none() && !is_named {
        return part;
    }
    let outer = fields.iter().filter(|(name, _)| file.is_none() || *name != "file");
    let mut one = serde_json::Map::new();
    for (name, value) in outer.chain(file.into_iter().flatten()) {
        if one.insert(renamed(name).to_owned(), value.clone()).is_some() {
            return part;
        }
    }
    Value::Object(one)
}

/// What A2A 1.0 calls a field of a file.
fn renamed(name: &str) -> &str {
    match name {
        "uri" => "url",
        "bytes" => "raw",
        "mimeType" => "mediaType",
        "name" => "filename",
        other => other,
    }
}

fn write_part(part: &Value, out: &mut Vec<u8>) {
    match part {
        Value::Object(fields) => write_fields(fields.iter().filter(has_meaning), out),
        // Refused as a part; written all the same, so that the digest is total.
        other => write_canonical(other, out),
    }
}

/// Discriminators repeat what the content's field says; other fields that are null or empty say nothing.
fn has_meaning((key, value): &(&String, &Value)) -> bool {
    let key = key.as_str();
    if CONTENT.contains(&key) {
        return !value.is_null();
    }
    // A word of the caller's own is no form, and stays.
    let names_form = DISCRIMINATORS.contains(&key) && value.as_str().is_some_and(|word| LEGACY.contains(&word));
    !names_form && !is_empty(value)
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

/// An object with its keys in order.
fn write_fields<'a>(fields: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut Vec<u8>) {
    let mut fields: Vec<_> = fields.collect();
    fields.sort_unstable_by_key(|(key, _)| *key);
    out.push(b'{');
    for (key, value) in fields {
        write_text(key, out);
        out.push(b':');
        write_canonical(value, out);
        out.push(b',');
    }
    out.push(b'}');
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    json::put_text(out, text);
}
