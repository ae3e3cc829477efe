//! JSON-RPC: one POST for everything, streams as server-sent events of whole answers.

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use serde_json::{Map, Value, json};

use super::{Answer, Binding, Events, Operation, headers_of, is_event_stream, sse};
use crate::fault::Fault;
use crate::target::{PROTOCOL_VERSION, Target};

pub(super) async fn call(
    target: &Target,
    operation: Operation,
    params: Map<String, Value>,
    token: Option<&str>,
) -> Result<Answer> {
    let (id, response) = post(target, operation, params, token).await?;
    let headers = headers_of(&response);
    Ok(Answer { outcome: opened(&id, &read(response).await?)?, headers })
}

pub(super) async fn stream(
    target: &Target,
    operation: Operation,
    params: Map<String, Value>,
    token: Option<&str>,
) -> Result<Result<Events, Fault>> {
    let (id, response) = post(target, operation, params, token).await?;
    if !is_event_stream(&response) {
        let answer = read(response).await?;
        return match opened(&id, &answer)? {
            Err(fault) => Ok(Err(fault)),
            Ok(value) => bail!("the answer is no stream: {value}"),
        };
    }
    let event = move |data: String| match serde_json::from_str::<Value>(&data).map_err(anyhow::Error::from) {
        Ok(answer) => opened(&id, &answer).unwrap_or_else(|error| Err(broken(&error))),
        Err(error) => Err(broken(&error)),
    };
    Ok(Ok(Box::pin(sse::events(response).map(event))))
}

async fn post(
    target: &Target,
    operation: Operation,
    params: Map<String, Value>,
    token: Option<&str>,
) -> Result<(Value, reqwest::Response)> {
    let id = Value::from(uuid::Uuid::new_v4().to_string());
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": operation.method(), "params": params });
    let mut request =
        target.http.post(target.url(Binding::JsonRpc)?).header("A2A-Version", PROTOCOL_VERSION).json(&body);
    if operation.streams() {
        request = request.header("accept", "text/event-stream");
    }
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    Ok((id, request.send().await?))
}

async fn read(response: reqwest::Response) -> Result<Value> {
    let status = response.status();
    let text = response.text().await?;
    serde_json::from_str(&text).with_context(|| format!("HTTP {status}, not JSON: {text:?}"))
}

/// Takes the envelope off.
fn opened(id: &Value, answer: &Value) -> Result<Result<Value, Fault>> {
    if answer["jsonrpc"] != "2.0" {
        bail!("no envelope of JSON-RPC 2.0: {answer}");
    }
    match (answer.get("result"), answer.get("error")) {
        // What was refused before its id could be read has none.
        (None, Some(error)) if answer["id"] == *id || answer["id"].is_null() => Ok(Err(fault(error))),
        (Some(result), None) if answer["id"] == *id => Ok(Ok(result.clone())),
        (Some(_), None) | (None, Some(_)) => bail!("the answer is to {}, not to {id}", answer["id"]),
        _ => bail!("neither a result nor an error, or both: {answer}"),
    }
}

fn fault(error: &Value) -> Fault {
    Fault {
        binding: Binding::JsonRpc,
        code: error["code"].as_i64().unwrap_or_default(),
        message: error["message"].as_str().unwrap_or_default().to_owned(),
        details: error["data"].as_array().cloned().unwrap_or_default(),
    }
}

fn broken(error: &anyhow::Error) -> Fault {
    Fault { binding: Binding::JsonRpc, code: 0, message: format!("{error:#}"), details: Vec::new() }
}
