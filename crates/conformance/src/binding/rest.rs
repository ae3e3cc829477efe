//! HTTP+JSON: a path for each operation, the object as the body, streams as server-sent events of objects.

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Map, Value};

use super::{Answer, Binding, Events, Operation, headers_of, is_event_stream, sse};
use crate::fault::Fault;
use crate::target::{PROTOCOL_VERSION, Target};

pub(super) async fn call(
    target: &Target,
    operation: Operation,
    params: Map<String, Value>,
    token: Option<&str>,
) -> Result<Answer> {
    answer(request(target, operation, params, token)?.send().await?).await
}

/// The public card, which is the same for every binding and asks for no credential.
pub(super) async fn card(target: &Target) -> Result<Answer> {
    let url = format!("{}/.well-known/agent-card.json", target.base);
    answer(target.http.get(url).header("A2A-Version", PROTOCOL_VERSION).send().await?).await
}

pub(super) async fn stream(
    target: &Target,
    operation: Operation,
    params: Map<String, Value>,
    token: Option<&str>,
) -> Result<Result<Events, Fault>> {
    let response = request(target, operation, params, token)?.header("accept", "text/event-stream").send().await?;
    if !is_event_stream(&response) {
        return match answer(response).await?.outcome {
            Err(fault) => Ok(Err(fault)),
            Ok(value) => bail!("the answer is no stream: {value}"),
        };
    }
    let event = |data: String| match serde_json::from_str::<Value>(&data) {
        Ok(event) if event.get("error").is_some() => Err(fault(0, &event)),
        Ok(event) => Ok(event),
        Err(error) => Err(fault(0, &Value::from(format!("{error}: {data}")))),
    };
    Ok(Ok(Box::pin(sse::events(response).map(event))))
}

fn request(
    target: &Target,
    operation: Operation,
    mut params: Map<String, Value>,
    token: Option<&str>,
) -> Result<RequestBuilder> {
    let mut taken = |key: &str| -> Result<String> {
        let value = params.remove(key).with_context(|| format!("{operation:?} needs {key}"))?;
        value.as_str().map(str::to_owned).with_context(|| format!("{key} is no text: {value}"))
    };
    let (method, path) = match operation {
        Operation::SendMessage => (Method::POST, "/message:send".to_owned()),
        Operation::SendStreamingMessage => (Method::POST, "/message:stream".to_owned()),
        Operation::GetTask => (Method::GET, format!("/tasks/{}", taken("id")?)),
        Operation::ListTasks => (Method::GET, "/tasks".to_owned()),
        Operation::CancelTask => (Method::POST, format!("/tasks/{}:cancel", taken("id")?)),
        Operation::SubscribeToTask => (Method::GET, format!("/tasks/{}:subscribe", taken("id")?)),
        Operation::GetAgentCard | Operation::GetExtendedAgentCard => (Method::GET, "/extendedAgentCard".to_owned()),
        Operation::CreatePushConfig => (Method::POST, format!("/tasks/{}/pushNotificationConfigs", taken("taskId")?)),
        Operation::ListPushConfigs => (Method::GET, format!("/tasks/{}/pushNotificationConfigs", taken("taskId")?)),
        Operation::GetPushConfig | Operation::DeletePushConfig => {
            let method = if operation == Operation::GetPushConfig { Method::GET } else { Method::DELETE };
            (method, format!("/tasks/{}/pushNotificationConfigs/{}", taken("taskId")?, taken("id")?))
        }
    };
    let url = format!("{}{path}", target.url(Binding::Rest)?);
    let mut request = target.http.request(method.clone(), url).header("A2A-Version", PROTOCOL_VERSION);
    request = if method == Method::POST {
        request.header("content-type", "application/a2a+json").body(Value::from(params).to_string())
    } else {
        let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        request.query(&params.into_iter().map(|(key, value)| (key, text(value))).collect::<Vec<_>>())
    };
    Ok(match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    })
}

async fn answer(response: Response) -> Result<Answer> {
    let (status, headers) = (response.status(), headers_of(&response));
    let text = response.text().await?;
    let body: Value = match text.trim() {
        "" => Value::Object(Map::new()),
        text => serde_json::from_str(text).with_context(|| format!("HTTP {status}, not JSON: {text:?}"))?,
    };
    let outcome = if status.is_success() { Ok(body) } else { Err(fault(status.as_u16().into(), &body)) };
    Ok(Answer { outcome, headers })
}

fn fault(status: i64, body: &Value) -> Fault {
    let error = &body["error"];
    Fault {
        binding: Binding::Rest,
        code: error["code"].as_i64().filter(|_| status == 0).unwrap_or(status),
        message: error["message"].as_str().map_or_else(|| body.to_string(), str::to_owned),
        details: error["details"].as_array().cloned().unwrap_or_default(),
    }
}
