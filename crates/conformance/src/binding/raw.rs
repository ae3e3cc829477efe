//! Requests that go out as a suite has written them: path, headers, envelope and all. Messages in them have no id, and some name
//! their task beside the message; nothing is put right here.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use serde_json::Value;

use super::{Binding, headers_of, is_event_stream, sse};
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
        (Some(body), None) => request.body(body.to_string()),
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

/// Paths are below the binding's interface; what is well known is at the root of the server.
fn url(target: &Target, binding: Binding, path: &str) -> Result<String> {
    if path.starts_with("/.well-known/") {
        return Ok(format!("{}{path}", target.base));
    }
    Ok(format!("{}{path}", target.url(binding)?))
}
