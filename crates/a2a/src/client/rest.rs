//! The HTTP+JSON binding: an address for each operation, and errors by status and `ErrorInfo`.

use std::sync::atomic::{AtomicBool, Ordering};

use a2a::{A2AError, reason_to_error_code};
use factum_outbound::{Answer, Client, Request};
use http::Method;
use serde_json::Value;

use super::card::Interface;
use super::failure::{Failure, cut};
use super::operation::{Operation, escaped};
use super::peer::unsendable;
use super::spoken::Spoken;

/// Which method a peer takes subscriptions by: some servers know one, some the other. It shows when they are asked.
#[derive(Debug, Default)]
pub(super) struct Subscribing {
    by_get: AtomicBool,
}

impl Subscribing {
    pub(super) fn method(&self) -> Method {
        if self.by_get.load(Ordering::Relaxed) { Method::GET } else { Method::POST }
    }

    /// It was asked by this one and does not take it: it is asked by the other one from now on.
    pub(super) fn is_not_by(&self, method: &Method) {
        self.by_get.store(*method == Method::POST, Ordering::Relaxed);
    }
}

pub(super) fn request(
    client: &Client,
    interface: &Interface,
    operation: Operation,
    task_id: &str,
    params: Value,
    subscribing: &Subscribing,
) -> Result<Request, Failure> {
    // The older versions name a path for it and nothing that could be asked or answered.
    if operation == Operation::List && interface.spoken != Spoken::V1_0 {
        return Err(Failure::unknown(operation, interface.spoken));
    }
    let pieces = [Some(task_id), interface.tenant.as_deref()];
    if pieces.into_iter().flatten().any(is_dots) {
        return Err(unsendable("an id that an address reads as a step"));
    }
    let base = interface.url.trim_end_matches('/');
    let (method, path) = operation.path(task_id);
    let method = if operation == Operation::Subscribe { subscribing.method() } else { method };
    // 0.3 stands below `/v1`; a card may name it already or not.
    let prefix = match (interface.spoken, &interface.tenant) {
        (Spoken::V1_0, Some(tenant)) => format!("/{}", escaped(tenant)),
        (Spoken::V1_0, None) => String::new(),
        (_, _) if base.ends_with("/v1") => String::new(),
        (_, _) => "/v1".to_owned(),
    };
    if method == Method::GET {
        return Ok(client.get(&format!("{base}{prefix}{path}{}", query(&params)))?);
    }
    let media_type = if interface.spoken == Spoken::V1_0 { "application/a2a+json" } else { "application/json" };
    Ok(client.post(&format!("{base}{prefix}{path}"))?.body(media_type, params.to_string()))
}

/// Whether it names no piece of a path but this one or the one above, however it is escaped (RFC 3986 §5.2.4).
fn is_dots(id: &str) -> bool {
    matches!(id, "." | "..")
}

/// The members of a request that has no body. The id is in the path already.
fn query(params: &Value) -> String {
    let members = params.as_object().into_iter().flatten().filter(|(name, _)| *name != "id");
    let pairs: Vec<String> = members
        .map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{name}={}", escaped(&text))
        })
        .collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

pub(super) fn result(operation: Operation, answer: &Answer) -> Result<Value, Failure> {
    if answer.status.is_success() {
        return serde_json::from_slice(&answer.body).map_err(|error| Failure::malformed(format!("not JSON: {error}")));
    }
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    if let Some(failure) = said(operation, &body) {
        return Err(failure);
    }
    let problem = || cut(&format!("{}: {}", answer.status, String::from_utf8_lossy(&answer.body)));
    Err(match answer.status.as_u16() {
        404 | 410 if operation.names_task() => Failure::Missing { problem: problem() },
        _ => Failure::unsaid(operation, answer.status, &answer.body),
    })
}

/// The A2A error that a body names: by `ErrorInfo`, or by a number as JSON-RPC has it.
pub(super) fn said(operation: Operation, body: &Value) -> Option<Failure> {
    let error = body.get("error").unwrap_or(body);
    let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
    let details = error.get("details").and_then(Value::as_array);
    let reason = details.into_iter().flatten().find_map(|detail| detail.get("reason").and_then(Value::as_str));
    let number = error.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
    if let Some(failure) = reason.and_then(|reason| Failure::by_reason(reason, &cut(message))) {
        return Some(failure);
    }
    let code = reason.and_then(reason_to_error_code).or(number.filter(|code| *code < 0))?;
    Some(Failure::said(operation, &A2AError::new(code, message), reason))
}
