//! Tests of a client: canonical payloads, read as the client of this project reads them.

use a2a::{AgentCard, SendMessageResponse, StreamResponse, Task};
use anyhow::{Context, Result, bail};
use factum_a2a::client::forgiven;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::suite::ClientResponse;

/// What a client makes of a payload, as JSON again. A refusal is `{"error": …}`.
pub(crate) fn parse(response: &ClientResponse) -> Result<Value> {
    let payload = &response.wire_payload;
    if let Some(error) = payload.get("error") {
        return Ok(json!({ "error": reread::<a2a::JsonRpcError>(error)? }));
    }
    let carried = &forgiven(payload.get("result").unwrap_or(payload).clone());
    match response.operation.as_str() {
        "send_message" => reread::<SendMessageResponse>(carried),
        "send_streaming_message" | "subscribe_to_task" => reread::<StreamResponse>(carried),
        "get_task" | "cancel_task" => reread::<Task>(carried),
        "get_agent_card" | "get_extended_agent_card" => reread::<AgentCard>(carried),
        other => bail!("no client reads the answer of {other}"),
    }
}

fn reread<T: DeserializeOwned + Serialize>(value: &Value) -> Result<Value> {
    let read: T = serde_json::from_value(value.clone()).context("the client cannot read it")?;
    Ok(serde_json::to_value(read)?)
}
