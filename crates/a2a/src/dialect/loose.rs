//! What 1.0 takes beyond its own forms, because the conformance suite and clients of other drafts send it: a message without an
//! id, ids of task and context beside the message instead of in it, a push configuration that is wrapped. Beyond what the types
//! read: bytes in the other alphabet of base64 or without padding, which ProtoJSON takes.
//!
//! What is right is read once, as it is; only what does not fit, or has such a name in it, is looked at again.

use std::collections::HashMap;
use std::sync::LazyLock;

use a2a::{A2AError, SendMessageRequest, TaskPushNotificationConfig};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem::Finder;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::fault::invalid_field;
use crate::params::read;
use crate::parts::decode_base64;

const MESSAGE_ID: &str = "messageId";
const RAW: &str = "raw";
const WRAPPED: &str = "pushNotificationConfig";

pub(super) fn request(params: &str) -> Result<SendMessageRequest, A2AError> {
    let mut request = match read(params) {
        Err(_) if !has(params, MESSAGE_ID) || has(params, RAW) => read(&as_the_types_read(params)?),
        request => request,
    }?;
    beside(params, &mut request)?;
    one_content_each(params)?;
    Ok(request)
}

/// What a part may hold, one of it (1.0 §4.1.6). The types take the first and would drop the others without a word.
const CONTENTS: [&str; 4] = ["text", "raw", "url", "data"];

/// What is looked for in every message: to look is quick, once it is known how.
static QUOTED_CONTENTS: LazyLock<[Finder<'static>; 4]> = LazyLock::new(|| CONTENTS.map(quoted));
static QUOTED_TASK_ID: LazyLock<Finder<'static>> = LazyLock::new(|| quoted("taskId"));
static QUOTED_CONTEXT_ID: LazyLock<Finder<'static>> = LazyLock::new(|| quoted("contextId"));

fn quoted(name: &str) -> Finder<'static> {
    Finder::new(&["\"", name, "\""].concat()).into_owned()
}

fn one_content_each(params: &str) -> Result<(), A2AError> {
    #[derive(Deserialize)]
    struct Params {
        message: Message,
    }
    #[derive(Deserialize)]
    struct Message {
        parts: Vec<HashMap<String, Present>>,
    }
    /// `null` is a field that is not there.
    type Present = Option<IgnoredAny>;

    if QUOTED_CONTENTS.iter().filter(|name| name.find(params.as_bytes()).is_some()).count() < 2 {
        return Ok(());
    }
    let Params { message } = read(params)?;
    let held = |part: &HashMap<String, Present>| {
        CONTENTS.into_iter().filter(|name| part.get(*name).is_some_and(Option::is_some)).count()
    };
    match message.parts.iter().position(|part| held(part) > 1) {
        Some(at) => Err(invalid_field(format!("message.parts[{at}]"), "a part has one of: text, raw, url, data")),
        None => Ok(()),
    }
}

/// The same with an id that counts as absent where there is none, so that it gets one with everything else that is empty, and with
/// its bytes in the alphabet that the types read. What is no base64 at all is left for them to refuse.
fn as_the_types_read(params: &str) -> Result<String, A2AError> {
    let mut params: Value = read(params)?;
    if let Some(message) = params.get_mut("message").and_then(Value::as_object_mut) {
        message.entry(MESSAGE_ID).or_insert_with(|| "".into());
        for part in message.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(Value::String(raw)) = part.get_mut(RAW)
                && let Some(bytes) = decode_base64(raw)
            {
                *raw = STANDARD.encode(bytes);
            }
        }
    }
    Ok(params.to_string())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Beside {
    task_id: Option<String>,
    context_id: Option<String>,
}

/// What the message itself says goes first.
fn beside(params: &str, request: &mut SendMessageRequest) -> Result<(), A2AError> {
    let message = &mut request.message;
    let missing = |name: &Finder<'_>, id: &Option<String>| id.is_none() && name.find(params.as_bytes()).is_some();
    if missing(&QUOTED_TASK_ID, &message.task_id) || missing(&QUOTED_CONTEXT_ID, &message.context_id) {
        let Beside { task_id, context_id } = read(params)?;
        message.task_id = message.task_id.take().or(task_id);
        message.context_id = message.context_id.take().or(context_id);
    }
    Ok(())
}

pub(super) fn push_config(params: &str) -> Result<TaskPushNotificationConfig, A2AError> {
    match read(params) {
        Err(_) if has(params, WRAPPED) => read(&unwrapped(params)?),
        config => config,
    }
}

fn unwrapped(params: &str) -> Result<String, A2AError> {
    let mut params: serde_json::Map<String, Value> = read(params)?;
    if let Some(Value::Object(config)) = params.remove(WRAPPED) {
        params.extend(config);
    }
    Ok(Value::from(params).to_string())
}

/// Whether a text may have a member of this name.
fn has(json: &str, name: &str) -> bool {
    quoted(name).find(json.as_bytes()).is_some()
}
