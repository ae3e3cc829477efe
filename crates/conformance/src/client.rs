//! Tests of a client: canonical payloads, read as the client of this project reads them.

use a2a::{SendMessageResponse, StreamResponse, Task};
use anyhow::{Context, Result, bail};
use factum_a2a::client::{PeerCard, Signature, forgiven};
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
        "get_agent_card" | "get_extended_agent_card" => card(carried),
        other => bail!("no client reads the answer of {other}"),
    }
}

fn reread<T: DeserializeOwned + Serialize>(value: &Value) -> Result<Value> {
    let read: T = serde_json::from_value(value.clone()).context("the client cannot read it")?;
    Ok(serde_json::to_value(read)?)
}

/// A card as the client keeps it: as it was read, once what the client needs is there, with what the client takes it to offer.
fn card(value: &Value) -> Result<Value> {
    let card = PeerCard::read(value.clone(), "", Signature::Absent).context("the client cannot read it")?;
    let offers_extended = card.capabilities.iter().any(|capability| capability == "extended_agent_card");
    let mut kept = card.json;
    kept["capabilities"]["streaming"] = card.streaming.into();
    kept["capabilities"]["extendedAgentCard"] = offers_extended.into();
    Ok(kept)
}
