//! Messaging channels on a store in memory: what is promised of sequences, keys, pages, streams and who may see what.

mod audit;
mod cursors;
mod direct;
mod feed;
mod history;
mod keys;
mod lists;
mod loading;
mod membership;
mod offsets;
mod page_tokens;
mod presence;
mod publish;
mod streams;
mod threading;
mod timing;

use std::time::Duration;

use factum_model::registry::Scopes;
use factum_model::{ErrorCode, Refusal};
use factum_runtime::{CallError, Caller, ChannelStream, Runtime};
use serde_json::{Value, json};

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A member of the account `acme`.
fn member(name: &str) -> Caller {
    Caller::new(&format!("agent://{name}"), "acme", Scopes::member())
}

/// Calls a command by name, as transports do.
async fn call(runtime: &Runtime, caller: &Caller, method: &str, params: Value) -> Result<Value, Refusal> {
    match runtime.call_by_name(caller, method, &params.to_string()).await {
        Ok(result) => Ok(serde_json::from_str(result.get()).unwrap()),
        Err(CallError::Refused(refusal)) => Err(refusal),
        Err(CallError::UnknownMethod) => panic!("there is no {method}"),
    }
}

/// A private channel of `owner` with these members; gives its id.
async fn channel(runtime: &Runtime, owner: &Caller, members: &[&Caller]) -> String {
    let members: Vec<Value> = members.iter().map(|member| json!({ "principalId": &*member.principal })).collect();
    let answer = call(runtime, owner, "channels/create", json!({ "members": members })).await.unwrap();
    answer["channel"]["id"].as_str().unwrap().to_owned()
}

fn parts(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

/// Publishes a text; gives the event.
async fn publish(runtime: &Runtime, author: &Caller, channel: &str, text: &str) -> Value {
    let params = json!({ "channelId": channel, "parts": parts(text) });
    call(runtime, author, "channels/publish", params).await.unwrap()["event"].clone()
}

fn sequence(event: &Value) -> u64 {
    event["sequence"].as_u64().unwrap_or_else(|| panic!("no sequence: {event}"))
}

fn sequences(events: &[Value]) -> Vec<u64> {
    events.iter().map(sequence).collect()
}

/// All pages of a history, put together.
async fn pages(runtime: &Runtime, caller: &Caller, params: &Value) -> Vec<Value> {
    let (mut events, mut params) = (Vec::new(), params.clone());
    loop {
        let page = call(runtime, caller, "channels/history", params.clone()).await.unwrap();
        events.extend(page["events"].as_array().unwrap().iter().cloned());
        match page.get("nextPageToken") {
            Some(token) => params["pageToken"] = token.clone(),
            None => return events,
        }
    }
}

/// Everything that was said in a channel.
async fn all(runtime: &Runtime, caller: &Caller, channel: &str) -> Vec<Value> {
    pages(runtime, caller, &json!({ "channelId": channel, "pageSize": 200 })).await
}

/// Opens a stream with params as they come over a wire.
async fn stream(runtime: &Runtime, caller: &Caller, params: Value) -> Result<ChannelStream, Refusal> {
    runtime.stream_channel(caller, &serde_json::from_value(params).unwrap()).await
}

/// The next envelopes of a stream, or how it ended.
async fn next(stream: &mut ChannelStream) -> Result<Vec<Value>, Refusal> {
    let items = tokio::time::timeout(PATIENCE, stream.next()).await.expect("nothing came")?;
    let envelopes: Vec<Value> = items.iter().map(|item| serde_json::from_slice(&item.json).unwrap()).collect();
    for (item, envelope) in items.iter().zip(&envelopes) {
        let message = envelope["kind"] == "messageEvent";
        assert_eq!(item.sequence(), message.then(|| sequence(&envelope["event"])), "{envelope}");
    }
    Ok(envelopes)
}

/// Reads messages up to and including a sequence.
async fn read_to(stream: &mut ChannelStream, last: u64) -> Vec<Value> {
    let mut events: Vec<Value> = Vec::new();
    while events.last().is_none_or(|event| sequence(event) < last) {
        let envelopes = next(stream).await.unwrap();
        events
            .extend(envelopes.into_iter().filter(|one| one["kind"] == "messageEvent").map(|one| one["event"].clone()));
    }
    events
}

/// Everything that still comes, and how it ended.
async fn read_out(stream: &mut ChannelStream) -> (Vec<Value>, Refusal) {
    let mut envelopes = Vec::new();
    loop {
        match next(stream).await {
            Ok(more) => envelopes.extend(more),
            Err(refusal) => return (envelopes, refusal),
        }
    }
}

fn code(outcome: Result<Value, Refusal>) -> ErrorCode {
    outcome.expect_err("this was to be refused").code
}
