//! What the requests of 0.3 and April 2025 look like, and their way into the words of 1.0.
//!
//! 0.3's HTTP+JSON wrote its protobuf definition: `content` for `parts`, `ROLE_USER` for `user`, and some clients keep the
//! underscores of the definition. All of that is read here as well, so that there is one reader.

use std::collections::HashMap;

use a2a::{
    A2AError, AuthenticationInfo, Message, Part, PartContent, Role, SendMessageConfiguration,
    TaskPushNotificationConfig,
};
use serde::Deserialize;
use serde_json::Value;

use crate::fault::invalid_field;
use crate::parts::decode_base64;

pub(super) type Metadata = HashMap<String, Value>;

/// Marks a data part of 1.0 that was no object, which 0.3 has no room for. The Python SDK does the same.
pub(super) const WRAPPED: &str = "data_part_compat";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageIn {
    #[serde(alias = "message_id")]
    message_id: Option<String>,
    #[serde(alias = "context_id")]
    context_id: Option<String>,
    #[serde(alias = "task_id")]
    task_id: Option<String>,
    role: String,
    #[serde(alias = "content")]
    parts: Vec<PartIn>,
    metadata: Option<Metadata>,
    extensions: Option<Vec<String>>,
    #[serde(alias = "reference_task_ids")]
    reference_task_ids: Option<Vec<String>>,
}

#[derive(Deserialize)]
pub(super) struct PartIn {
    kind: Option<String>,
    r#type: Option<String>,
    text: Option<String>,
    file: Option<Files>,
    data: Option<Value>,
    metadata: Option<Metadata>,
}

/// A file, by content or by address.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Files {
    name: Option<String>,
    #[serde(alias = "mime_type")]
    mime_type: Option<String>,
    #[serde(alias = "fileWithBytes", alias = "file_with_bytes")]
    bytes: Option<String>,
    #[serde(alias = "fileWithUri", alias = "file_with_uri")]
    uri: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConfigurationIn {
    #[serde(alias = "accepted_output_modes")]
    pub(super) accepted_output_modes: Option<Vec<String>>,
    #[serde(alias = "history_length")]
    pub(super) history_length: Option<i32>,
    #[serde(alias = "push_notification_config", alias = "pushNotification", alias = "push_notification")]
    pub(super) push_notification_config: Option<PushIn>,
    pub(super) blocking: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct PushIn {
    id: Option<String>,
    url: String,
    token: Option<String>,
    authentication: Option<AuthenticationIn>,
}

#[derive(Deserialize)]
struct AuthenticationIn {
    schemes: Vec<String>,
    credentials: Option<String>,
}

impl MessageIn {
    /// With an id made for it where April 2025 has none.
    pub(super) fn into_message(self, id: MessageId) -> Result<Message, A2AError> {
        let message_id = match (self.message_id, id) {
            (Some(id), _) => id,
            (None, MessageId::Made) => a2a::new_message_id(),
            (None, MessageId::Required) => return Err(invalid_field("message.messageId", "is required")),
        };
        let part = |(at, part): (usize, PartIn)| part.into_part(&format!("message.parts[{at}]"));
        Ok(Message {
            message_id,
            context_id: self.context_id,
            task_id: self.task_id,
            role: role(&self.role)?,
            parts: self.parts.into_iter().enumerate().map(part).collect::<Result<_, _>>()?,
            metadata: self.metadata,
            extensions: self.extensions,
            reference_task_ids: self.reference_task_ids,
        })
    }
}

/// Whether a message has to bring its id.
#[derive(Clone, Copy)]
pub(super) enum MessageId {
    Required,
    Made,
}

fn role(said: &str) -> Result<Role, A2AError> {
    match said {
        "user" | "ROLE_USER" => Ok(Role::User),
        "agent" | "ROLE_AGENT" => Ok(Role::Agent),
        other => Err(invalid_field("message.role", format!("must be \"user\" or \"agent\", not {other:?}"))),
    }
}

impl PartIn {
    fn into_part(self, field: &str) -> Result<Part, A2AError> {
        let Self { kind, r#type, text, file, data, mut metadata } = self;
        let said = kind.or(r#type);
        let is = |name: &str| said.as_deref().is_none_or(|said| said == name);
        let none = |content| (content, None, None);
        let (content, filename, media_type) = match (text, file, data) {
            (Some(text), _, _) if is("text") => none(PartContent::Text(text)),
            (_, Some(file), _) if is("file") => file.into_content(field)?,
            (_, _, Some(data)) if is("data") => {
                let data = if said.is_some() { data } else { unwrapped(data) };
                none(PartContent::Data(without_mark(data, &mut metadata)))
            }
            _ => return Err(missing_content(field, said.as_deref())),
        };
        Ok(Part { content, filename, media_type, metadata: metadata.filter(|metadata| !metadata.is_empty()) })
    }
}

fn missing_content(field: &str, said: Option<&str>) -> A2AError {
    match said {
        Some(known @ ("text" | "file" | "data")) => invalid_field(format!("{field}.{known}"), "is required"),
        Some(other) => invalid_field(field, format!("there are parts of text, file and data, not of {other:?}")),
        None => invalid_field(field, "a part has one of: text, file, data"),
    }
}

/// A data part of the protobuf definition is a message around the data.
fn unwrapped(data: Value) -> Value {
    match data {
        Value::Object(mut fields) if fields.len() == 1 && fields.contains_key("data") => {
            fields.remove("data").unwrap_or_default()
        }
        other => other,
    }
}

/// What was wrapped because it was no object is taken out again.
fn without_mark(data: Value, metadata: &mut Option<Metadata>) -> Value {
    let marked = metadata.as_mut().and_then(|metadata| metadata.remove(WRAPPED)) == Some(Value::Bool(true));
    match data {
        Value::Object(mut fields) if marked && fields.contains_key("value") => {
            fields.remove("value").unwrap_or_default()
        }
        other => other,
    }
}

impl Files {
    fn into_content(self, field: &str) -> Result<(PartContent, Option<String>, Option<String>), A2AError> {
        let content = match (self.bytes, self.uri) {
            (Some(bytes), None) => {
                let bad = || invalid_field(format!("{field}.file.bytes"), "must be base64");
                PartContent::Raw(decode_base64(&bytes).ok_or_else(bad)?)
            }
            (None, Some(uri)) => PartContent::Url(uri),
            _ => return Err(invalid_field(format!("{field}.file"), "has one of: bytes, uri")),
        };
        let said = |text: Option<String>| text.filter(|text| !text.is_empty());
        Ok((content, said(self.name), said(self.mime_type)))
    }
}

impl ConfigurationIn {
    pub(super) fn into_configuration(self, return_immediately: Option<bool>) -> SendMessageConfiguration {
        SendMessageConfiguration {
            accepted_output_modes: self.accepted_output_modes,
            task_push_notification_config: self.push_notification_config.map(|push| push.into_config(String::new())),
            history_length: self.history_length,
            return_immediately,
        }
    }
}

impl PushIn {
    pub(super) fn called(self, id: &str) -> Self {
        Self { id: Some(id.to_owned()), ..self }
    }

    /// The first scheme is the one that is used: 1.0 has room for one.
    pub(super) fn into_config(self, task_id: String) -> TaskPushNotificationConfig {
        let authentication = self.authentication.map(|info| AuthenticationInfo {
            scheme: info.schemes.into_iter().next().unwrap_or_else(|| "Bearer".to_owned()),
            credentials: info.credentials,
        });
        TaskPushNotificationConfig {
            url: self.url,
            id: self.id,
            task_id,
            token: self.token,
            authentication,
            tenant: None,
        }
    }
}
