//! Requests that go out as a suite has written them: path, headers, envelope and all.
//!
//! Messages in them get what every message has to have, an id, and name their task themselves, as in abstract operations
//! (§12.4 of the format): no raw test is about a message without an id, and a server may refuse one.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use serde_json::Value;

use super::{Binding, Operation, headers_of, is_event_stream, sse};
use crate::suite::Raw;
use crate::target::Target;

/// How long a stream that a raw request opens may go on.
const STREAM_WAIT_MAX: Duration = Duration::from_secs(30);

/// What came back, as it stood on the wire.
#[derive(Debug)]
pub(crate) struct RawAnswer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    /// JSON where it is that, else a text.
    pub body: Value,
    /// The events, where it was a stream.
    pub events: Vec<Value>,
}

pub(crate) async fn send(target: &Target, binding: Binding, raw: &Raw, token: Option<&str>) -> Result<RawAnswer> {
    tokio::time::timeout(STREAM_WAIT_MAX, exchange(target, binding, raw, token))
        .await
        .with_context(|| format!("not done within {STREAM_WAIT_MAX:?}"))?
}

async fn exchange(target: &Target, binding: Binding, raw: &Raw, token: Option<&str>) -> Result<RawAnswer> {
    let mut request = target.http.request(raw.method.parse()?, url(target, binding, &raw.path)?);
    for (name, value) in &raw.headers {
        let Some(value) = value.as_str() else { bail!("the header {name} is no text: {value}") };
        request = request.header(name, value);
    }
    if let Some(token) = token.filter(|_| !raw.headers.contains_key("Authorization")) {
        request = request.bearer_auth(token);
    }
    request = match (&raw.body, &raw.body_raw) {
        (Some(body), None) => request.body(with_whole_message(body.clone()).to_string()),
        (None, Some(text)) => request.body(text.clone()),
        (None, None) => request,
        (Some(_), Some(_)) => bail!("body and body_raw in one request"),
    };
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), headers_of(&response));
    if is_event_stream(&response) {
        let text = |data: String| serde_json::from_str(&data).unwrap_or(Value::String(data));
        let events: Vec<Value> = sse::events(response).map(text).collect().await;
        return Ok(RawAnswer { status, headers, body: events.clone().into(), events });
    }
    let text = response.text().await?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok(RawAnswer { status, headers, body, events: Vec::new() })
}

fn with_whole_message(mut body: Value) -> Value {
    let operation = match body["method"].as_str() {
        Some("SendMessage") => Operation::SendMessage,
        Some("SendStreamingMessage") => Operation::SendStreamingMessage,
        _ => return body,
    };
    if let Some(params) = body["params"].as_object_mut() {
        *params = operation.shaped(std::mem::take(params));
    }
    body
}

/// Paths are below the binding's interface; what is well known is at the root of the server.
fn url(target: &Target, binding: Binding, path: &str) -> Result<String> {
    if path.starts_with("/.well-known/") {
        return Ok(format!("{}{path}", target.base));
    }
    let base = target.url(binding)?;
    Ok(if path == "/" { base.to_owned() } else { format!("{base}{path}") })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_messages_are_made_whole() {
        let sent =
            with_whole_message(json!({"method": "SendMessage", "params": {"taskId": "t", "message": {}, "x": 1}}));
        assert_eq!((&sent["params"]["message"]["taskId"], &sent["params"]["x"]), (&json!("t"), &json!(1)));
        assert!(sent["params"]["message"]["messageId"].is_string());
        let other = json!({"method": "GetTask", "params": {"taskId": "t"}});
        assert_eq!(with_whole_message(other.clone()), other);
    }
}
