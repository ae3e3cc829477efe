//! The JSON-RPC binding: one address, a method in the body, a result or an error in the answer.

use a2a::A2AError;
use factum_outbound::{Answer, Client, Request};
use serde_json::{Value, json};

use super::card::Interface;
use super::failure::Failure;
use super::operation::Operation;

pub(super) fn request(
    client: &Client,
    interface: &Interface,
    operation: Operation,
    mut params: Value,
) -> Result<Request, Failure> {
    let method = operation.method(interface.spoken).ok_or_else(|| Failure::unknown(operation, interface.spoken))?;
    if let (Some(tenant), Some(params)) = (&interface.tenant, params.as_object_mut()) {
        params.insert("tenant".to_owned(), tenant.as_str().into());
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    Ok(client.post(&interface.url)?.body("application/json", body))
}

pub(super) fn result(operation: Operation, answer: &Answer) -> Result<Value, Failure> {
    if let Some(failure) = Failure::by_status(answer.status, &answer.body) {
        // What the body says of it is more than the status alone.
        let body: Option<Value> = serde_json::from_slice(&answer.body).ok();
        return Err(body
            .and_then(|body| outcome(operation, body).err())
            .filter(Failure::is_passing)
            .unwrap_or(failure));
    }
    let body = serde_json::from_slice::<Value>(&answer.body);
    if !answer.status.is_success() {
        // Whoever answers so and does not say why in the words of JSON-RPC need not be the peer.
        let said = body.ok().and_then(|body| outcome(operation, body).err()).filter(Failure::is_said);
        return Err(said.unwrap_or_else(|| Failure::unsaid(operation, answer.status, &answer.body)));
    }
    outcome(operation, body.map_err(|error| Failure::malformed(format!("{}, and not JSON: {error}", answer.status)))?)
}

/// What a response holds, whole or as one event of a stream.
pub(super) fn outcome(operation: Operation, mut body: Value) -> Result<Value, Failure> {
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        let code = error.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
        let message = error.get("message").and_then(Value::as_str).unwrap_or("no message");
        return match code {
            Some(code) => Err(Failure::said(operation, &A2AError::new(code, message), reason(error))),
            None => Err(Failure::malformed(format!("an error without a code: {message}"))),
        };
    }
    match body.get_mut("result") {
        Some(result) => Ok(result.take()),
        None => Err(Failure::malformed("neither a result nor an error")),
    }
}

/// The reason beside an error: of one of its details, or of the one there is.
fn reason(error: &Value) -> Option<&str> {
    let data = error.get("data")?;
    let mut details = data.as_array().map_or(std::slice::from_ref(data), Vec::as_slice).iter();
    details.find_map(|detail| detail.get("reason")?.as_str())
}
