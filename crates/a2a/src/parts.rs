//! Messages and their parts: ours and the protocol's. What ours cannot say is kept beside it, so that nothing is lost.

use std::collections::HashMap;

use a2a::{Message, Part, PartContent, Role};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use factum_model::value::Part as Input;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A part of a message as input for an agent.
pub fn to_input(part: &Part) -> Input {
    let (name, media_type) = (part.filename.clone(), part.media_type.clone());
    match &part.content {
        PartContent::Text(text) => Input::Text { text: text.clone() },
        PartContent::Data(data) => Input::Data { data: data.clone() },
        PartContent::Raw(bytes) => Input::File { name, media_type, uri: None, bytes: Some(STANDARD.encode(bytes)) },
        PartContent::Url(uri) => Input::File { name, media_type, uri: Some(uri.clone()), bytes: None },
    }
}

/// Input as a part of a message.
pub fn from_input(input: &Input) -> Part {
    match input {
        Input::Text { text } => Part::text(text.as_str()),
        Input::Data { data } => Part::data(data.clone()),
        Input::File { name, media_type, uri, bytes } => {
            let content = match (bytes, uri) {
                (Some(bytes), _) => PartContent::Raw(decode_base64(bytes).unwrap_or_default()),
                (None, uri) => PartContent::Url(uri.clone().unwrap_or_default()),
            };
            Part { content, filename: name.clone(), media_type: media_type.clone(), metadata: None }
        }
        Input::Ref { r#ref } => Part::url(r#ref.as_str()),
    }
}

/// The media type of a part, without parameters: what it says, or what its kind is by itself.
pub fn media_type(part: &Part) -> &str {
    let usual = match &part.content {
        PartContent::Text(_) => "text/plain",
        PartContent::Data(_) => "application/json",
        PartContent::Raw(_) | PartContent::Url(_) => "application/octet-stream",
    };
    let said = part.media_type.as_deref().filter(|said| !said.is_empty()).unwrap_or(usual);
    said.split(';').next().unwrap_or(said).trim()
}

/// The media types that an agent takes where it does not say which, and that its answers have.
pub const USUAL_MODES: [&str; 2] = ["text/plain", "application/json"];

/// Whether somebody who takes these media types takes a part. Nothing listed means the usual ones, `image/*` any kind of image.
pub fn is_accepted(part: &Part, accepts: &[String]) -> bool {
    let media_type = media_type(part);
    let fits = |accepted: &str| match accepted.strip_suffix("/*") {
        Some("*") => true,
        Some(kind) => media_type.split_once('/').is_some_and(|(own, _)| own.eq_ignore_ascii_case(kind)),
        None => media_type.eq_ignore_ascii_case(accepted),
    };
    if accepts.is_empty() { USUAL_MODES.into_iter().any(fits) } else { accepts.iter().any(|one| fits(one)) }
}

/// Base64 in any of the alphabets clients use, with or without padding.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD].iter().find_map(|engine| engine.decode(text).ok())
}

/// What input does not say of a part.
#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Beside {
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<HashMap<String, Value>>,
}

impl Beside {
    /// Of what a part is, only that: its content may be as long as a message.
    fn of(part: &Part) -> Self {
        let metadata = part.metadata.clone();
        match part.content {
            PartContent::Text(_) | PartContent::Data(_) => {
                Self { filename: part.filename.clone(), media_type: part.media_type.clone(), metadata }
            }
            PartContent::Raw(_) | PartContent::Url(_) => Self { metadata, ..Self::default() },
        }
    }

    fn add_to(self, part: &mut Part) {
        part.filename = self.filename.or(part.filename.take());
        part.media_type = self.media_type.or(part.media_type.take());
        part.metadata = self.metadata;
    }
}

/// The parts as they were sent, from the input and what was kept beside it: by their numbers, or whole, as it once was.
fn parts_of(input: &[Input], beside: Option<&Value>) -> Vec<Part> {
    if let Some(whole) = beside.filter(|beside| beside.is_array())
        && let Ok(parts) = Vec::deserialize(whole)
    {
        return parts;
    }
    let mut parts: Vec<Part> = input.iter().map(from_input).collect();
    for (at, beside) in beside.and_then(Value::as_object).into_iter().flatten() {
        let part = at.parse().ok().and_then(|at: usize| parts.get_mut(at));
        if let (Some(part), Ok(beside)) = (part, Beside::deserialize(beside)) {
            beside.add_to(part);
        }
    }
    parts
}

/// What of a message is not input: its id and annotations, and what input cannot say of its parts.
pub fn beside_input(message: &Message) -> Map<String, Value> {
    let mut beside = Map::new();
    beside.insert("message_id".to_owned(), message.message_id.as_str().into());
    if let Some(metadata) = message.metadata.as_ref().filter(|metadata| !metadata.is_empty()) {
        beside.insert("metadata".to_owned(), json!(metadata));
    }
    if let Some(extensions) = message.extensions.as_ref().filter(|extensions| !extensions.is_empty()) {
        beside.insert("extensions".to_owned(), json!(extensions));
    }
    if let Some(ids) = message.reference_task_ids.as_ref().filter(|ids| !ids.is_empty()) {
        beside.insert("reference_task_ids".to_owned(), json!(ids));
    }
    let parts = message.parts.iter().map(Beside::of).enumerate().filter(|(_, said)| *said != Beside::default());
    let parts: Map<String, Value> = parts.map(|(at, said)| (at.to_string(), json!(said))).collect();
    if !parts.is_empty() {
        beside.insert("parts".to_owned(), parts.into());
    }
    beside
}

/// The message again, from what was kept of it.
pub fn message_of(
    task_id: &str,
    context_id: &str,
    input: &[Input],
    beside: Option<&Value>,
    fallback_id: impl FnOnce() -> String,
) -> Message {
    let field = |name: &str| beside.and_then(|beside| beside.get(name)).cloned();
    Message {
        message_id: field("message_id").and_then(|id| id.as_str().map(str::to_owned)).unwrap_or_else(fallback_id),
        context_id: Some(context_id.to_owned()),
        task_id: Some(task_id.to_owned()),
        role: Role::User,
        parts: parts_of(input, beside.and_then(|beside| beside.get("parts"))),
        metadata: field("metadata").and_then(|metadata| serde_json::from_value(metadata).ok()),
        extensions: field("extensions").and_then(|uris| serde_json::from_value(uris).ok()),
        reference_task_ids: field("reference_task_ids").and_then(|ids| serde_json::from_value(ids).ok()),
    }
}

/// Annotations as the protocol has them.
pub(crate) fn metadata(map: &Map<String, Value>) -> Option<HashMap<String, Value>> {
    (!map.is_empty()).then(|| map.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(json: Value) -> Part {
        serde_json::from_value(json).expect("a part")
    }

    /// Whatever a client sends comes back as it was, whether our input can say it or not.
    #[test]
    fn a_message_is_kept_whole() {
        let table = [
            json!({ "text": "hello" }),
            json!({ "text": "# hello", "mediaType": "text/markdown" }),
            json!({ "text": "hello", "metadata": { "a": 1 } }),
            json!({ "text": "hello", "mediaType": "", "metadata": {} }),
            json!({ "text": "hello", "filename": "hello.txt" }),
            json!({ "data": { "a": [1, 2] } }),
            json!({ "data": [1] , "mediaType": "application/json" }),
            json!({ "raw": "AAEC", "filename": "a.bin", "mediaType": "application/octet-stream" }),
            json!({ "url": "https://example.com/a", "filename": "a" }),
        ];
        for sent in table {
            let mut message = Message::new(Role::User, vec![part(sent.clone())]);
            message.extensions = Some(vec!["https://example.com/x".to_owned()]);
            message.reference_task_ids = Some(vec!["t0".to_owned()]);
            let input: Vec<Input> = message.parts.iter().map(to_input).collect();
            let beside = Value::Object(beside_input(&message));
            let again = message_of("t1", "c1", &input, Some(&beside), String::new);
            message.task_id = Some("t1".to_owned());
            message.context_id = Some("c1".to_owned());
            assert_eq!(again, message, "{sent}");
        }
    }

    /// The bound on what is kept beside the input is one on annotations, not on what is said.
    #[test]
    fn what_a_part_says_is_not_kept_beside_it() {
        let long = "x".repeat(100_000);
        let mut plain = Message::new(Role::User, vec![Part::text("first"), Part::text(long.as_str())]);
        plain.parts[1].media_type = Some("text/plain".to_owned());
        plain.parts.push(part(json!({ "raw": "AAEC", "metadata": { "a": 1 } })));
        let beside = beside_input(&plain);
        assert_eq!(beside["parts"], json!({ "1": { "mediaType": "text/plain" }, "2": { "metadata": { "a": 1 } } }));
    }

    /// As it was kept before.
    #[test]
    fn parts_that_were_kept_whole_are_read() {
        let parts = json!([{ "text": "hello", "mediaType": "text/markdown" }]);
        let beside = json!({ "message_id": "m", "parts": parts });
        let input = [Input::Text { text: "hello".to_owned() }];
        let read = message_of("t1", "c1", &input, Some(&beside), String::new);
        assert_eq!(json!(read.parts), parts);
    }

    #[test]
    fn plain_parts_are_not_kept_twice() {
        let message = Message::new(Role::User, vec![Part::text("hello"), Part::data(json!({ "a": 1 }))]);
        assert_eq!(beside_input(&message).keys().collect::<Vec<_>>(), ["message_id"]);
    }

    #[test]
    fn base64_is_read_in_every_alphabet() {
        for text in ["+/8=", "+/8", "-_8=", "-_8"] {
            assert_eq!(decode_base64(text), Some(vec![0xfb, 0xff]), "{text}");
        }
        assert_eq!(decode_base64("%"), None);
    }

    #[test]
    fn a_part_is_taken_by_its_media_type() {
        let typed = |part: Part, media_type: &str| part.with_media_type(media_type);
        for (part, accepts, taken) in [
            (Part::text("x"), &["text/plain"][..], true),
            (typed(Part::text("x"), "TEXT/plain; charset=utf-8"), &["text/plain"], true),
            (typed(Part::text("x"), "text/markdown"), &["text/plain"], false),
            (typed(Part::text("x"), "text/markdown"), &["text/*"], true),
            (Part::data(json!({})), &["text/plain"], false),
            (Part::data(json!({})), &["text/plain", "application/json"], true),
            (Part::raw(vec![1]), &["image/png"], false),
            (typed(Part::url("https://example.com"), "image/png"), &["image/png"], true),
            (Part::raw(vec![1]), &["*/*"], true),
            (Part::raw(vec![1]), &[], false),
            (typed(Part::raw(vec![1]), "image/png"), &[], false),
            (Part::text("x"), &[], true),
            (Part::data(json!({})), &[], true),
        ] {
            let accepts: Vec<String> = accepts.iter().map(|one| (*one).to_owned()).collect();
            assert_eq!(is_accepted(&part, &accepts), taken, "{part:?} {accepts:?}");
        }
    }
}
