//! What the suites leave to their runner in prose ("Runner MUST …"), by the id of the test.

use std::time::Duration;

use a2a_pb::protojson as pb;
use anyhow::{Context, Result, bail, ensure};
use futures::StreamExt;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::binding::{self, Binding, Events, Operation};
use crate::receiver::Delivery;
use crate::run::{Play, pause, to_the_end};
use crate::stream;
use crate::target::Target;

/// How long a stream of the suites' behaviours may go on.
const STREAM_WAIT_MAX: Duration = Duration::from_secs(30);
/// How long a notification may take behind the end of its task.
const DELIVERY_WAIT_MAX: Duration = Duration::from_secs(5);
const LOOK_INTERVAL_MS: u64 = 100;

/// Does what the steps of a test cannot say.
pub(crate) async fn check(play: &Play<'_>) -> Result<()> {
    match play.test.id.as_str() {
        "CARD-CACHE-001" => one_header(play, &["cache-control", "etag"]),
        "REST-CT-001" => media_type(play, "application/a2a+json"),
        "JSONRPC-CT-001" => media_type(play, "application/json"),
        "CARD-SCHEMA-001" => {
            let card = body(play);
            typed::<pb::AgentCard>(card)?;
            let required = ["name", "description", "supportedInterfaces", "version", "capabilities", "skills"];
            let required = required.into_iter().chain(["defaultInputModes", "defaultOutputModes"]);
            has_all(card, required)
        }
        "DM-SERIAL-002" => {
            typed::<pb::SendMessageResponse>(body(play))?;
            has_all(&body(play)["task"], ["id", "status"])
        }
        "DM-FMT-001" => camel_case(body(play), ""),
        "STREAM-MULTI-001" => two_streams(play, Leave::Neither).await,
        "STREAM-MULTI-002" => two_streams(play, Leave::First).await,
        "STREAM-RESUB-001" => subscribe_again(play).await,
        "CORE-ERR-009" | "SEC-AUTH-003" => absent_and_forbidden(play).await,
        id if needs_delivery(id) => delivered(play).await,
        _ => Ok(()),
    }
}

/// Whether a test is about notifications that arrive: what their receiver makes of them shows only then, too.
pub(crate) fn needs_delivery(id: &str) -> bool {
    id.starts_with("SEC-PUSH-") || id.starts_with("PUSH-DELIV-")
}

fn body<'p>(play: &'p Play<'_>) -> &'p Value {
    play.got.values().next().map_or(&Value::Null, |got| &got.body)
}

fn one_header(play: &Play<'_>, names: &[&str]) -> Result<()> {
    let headers = play.got.values().next().map(|got| &got.headers).context("there is no answer")?;
    ensure!(names.iter().any(|name| headers.contains_key(*name)), "none of the headers {names:?} in {headers:?}");
    Ok(())
}

fn media_type(play: &Play<'_>, expected: &str) -> Result<()> {
    let found = play.got.values().next().and_then(|got| got.headers.get("content-type"));
    let found = found.map(|value| value.split(';').next().unwrap_or_default().trim());
    ensure!(found == Some(expected), "the content type is {found:?}, not {expected:?}");
    Ok(())
}

fn typed<T: DeserializeOwned>(value: &Value) -> Result<()> {
    serde_json::from_value::<T>(value.clone())
        .map(|_| ())
        .with_context(|| format!("does not fit the protocol's types: {value}"))
}

fn has_all<'n>(value: &Value, names: impl IntoIterator<Item = &'n str>) -> Result<()> {
    let missing: Vec<&str> = names.into_iter().filter(|name| value.get(*name).is_none()).collect();
    ensure!(missing.is_empty(), "{missing:?} are required and not in {value}");
    Ok(())
}

/// Free-form content may be called anything.
fn camel_case(value: &Value, path: &str) -> Result<()> {
    match value {
        Value::Object(fields) => fields.iter().try_for_each(|(key, inner)| {
            ensure!(!key.contains('_'), "{path}.{key} is not camelCase");
            if matches!(key.as_str(), "metadata" | "data" | "params") {
                Ok(())
            } else {
                camel_case(inner, &format!("{path}.{key}"))
            }
        }),
        Value::Array(items) => items.iter().try_for_each(|item| camel_case(item, path)),
        _ => Ok(()),
    }
}

fn message(text: &str) -> Map<String, Value> {
    let params = json!({ "message": { "role": "ROLE_USER", "parts": [{ "text": text }] } });
    params.as_object().cloned().unwrap_or_default()
}

fn of_task(id: &str) -> Map<String, Value> {
    Map::from_iter([("id".to_owned(), id.into())])
}

#[derive(PartialEq)]
enum Leave {
    Neither,
    First,
}

/// A second stream joins the first: both see the same events in the same order, and neither needs the other.
async fn two_streams(play: &Play<'_>, leave: Leave) -> Result<()> {
    let mut first = open(play, Operation::SendStreamingMessage, message("tck-stream-basic for two streams")).await?;
    let mut seen = vec![next(&mut first).await?];
    let id = stream::task_id(&seen[0]).context("the first event names no task")?.to_owned();
    let second = open(play, Operation::SubscribeToTask, of_task(&id)).await?;
    if leave == Leave::First {
        drop(first);
    } else {
        seen.extend(whole(first).await?);
    }
    let joined = whole(second).await?;
    let ended = joined.last().and_then(stream::state).is_some_and(stream::is_terminal);
    ensure!(ended, "the second stream did not end with the task: {}", Value::from(joined));
    if leave == Leave::Neither {
        // The second begins with the task as it stands; from there on both go the same way.
        let tail = &joined[1..];
        ensure!(seen.ends_with(tail), "one stream saw {}, the other {}", Value::from(seen), Value::from(joined));
    }
    Ok(())
}

/// A stream is cut; the next one begins with the task as it stands and goes on to its end.
async fn subscribe_again(play: &Play<'_>) -> Result<()> {
    let mut params = message("tck-long-running for a stream that is cut");
    params.insert("configuration".to_owned(), json!({ "returnImmediately": true }));
    let asked = binding::call(play.ground.target, play.binding, Operation::SendMessage, params, play.token());
    let answer = asked.await?.outcome.map_err(|fault| anyhow::anyhow!("{fault}"))?;
    let id = answer["task"]["id"].as_str().context("no task")?;
    let mut cut = open(play, Operation::SubscribeToTask, of_task(id)).await?;
    next(&mut cut).await?;
    drop(cut);
    let events = whole(open(play, Operation::SubscribeToTask, of_task(id)).await?).await?;
    let ended = events.last().and_then(stream::state).is_some_and(stream::is_terminal);
    ensure!(events[0].get("task").is_some() && ended, "not from the task to its end: {}", Value::from(events.clone()));
    Ok(())
}

async fn open(play: &Play<'_>, operation: Operation, params: Map<String, Value>) -> Result<Events> {
    let opened = binding::stream(play.ground.target, play.binding, operation, params, play.token()).await?;
    opened.map_err(|fault| anyhow::anyhow!("{operation:?} was refused with {fault}"))
}

async fn next(events: &mut Events) -> Result<Value> {
    let event = tokio::time::timeout(STREAM_WAIT_MAX, events.next()).await.context("no event came")?;
    event.context("the stream ended at once")?.map_err(|fault| anyhow::anyhow!("{fault}"))
}

async fn whole(events: Events) -> Result<Vec<Value>> {
    let events = to_the_end(events, STREAM_WAIT_MAX).await?.map_err(|fault| anyhow::anyhow!("{fault}"))?;
    ensure!(!events.is_empty(), "the stream is empty");
    Ok(events)
}

/// A task that somebody else may see and we may not, where the server tells people apart.
pub(crate) async fn task_of_somebody_else(target: &Target) -> Result<Option<String>> {
    let Some(token) = target.credentials.other.as_deref() else { return Ok(None) };
    let params = message("tck-complete-task of somebody else");
    let answer = binding::call(target, Binding::JsonRpc, Operation::SendMessage, params, Some(token)).await?;
    let task = answer.outcome.map_err(|fault| anyhow::anyhow!("{fault}"))?;
    Ok(Some(task["task"]["id"].as_str().context("no task")?.to_owned()))
}

/// What is not there and what is not ours are refused in the same words.
async fn absent_and_forbidden(play: &Play<'_>) -> Result<()> {
    let Some(theirs) = &play.ground.other_task_id else { return Ok(()) };
    let absent = "00000000-0000-0000-0000-000000000000";
    let mut said = Vec::new();
    for id in [theirs.as_str(), absent] {
        let asked =
            binding::call(play.ground.target, play.binding, Operation::GetTask, of_task(id), play.token()).await?;
        match asked.outcome {
            Ok(task) => bail!("{id} is not ours to see: {task}"),
            Err(fault) => said.push(format!("{fault:?}").replace(id, "ID")),
        }
    }
    ensure!(said[0] == said[1], "another's: {}\nabsent: {}", said[0], said[1]);
    Ok(())
}

/// Waits for the task to end and for what is sent about it.
async fn delivered(play: &Play<'_>) -> Result<()> {
    let id = play.got.values().find_map(|got| got.body["task"]["id"].as_str()).context("there is no task")?;
    let ended = async {
        loop {
            let asked = binding::call(play.ground.target, play.binding, Operation::GetTask, of_task(id), play.token());
            let task = asked.await?.outcome.map_err(|fault| anyhow::anyhow!("{fault}"))?;
            if task["status"]["state"].as_str().is_some_and(stream::is_terminal) {
                return anyhow::Ok(());
            }
            pause(LOOK_INTERVAL_MS).await;
        }
    };
    tokio::time::timeout(STREAM_WAIT_MAX, ended).await.context("the task did not end")??;
    let arrived = async {
        loop {
            let deliveries = play.ground.receiver.received(&play.hook);
            if !deliveries.is_empty() {
                return deliveries;
            }
            pause(LOOK_INTERVAL_MS).await;
        }
    };
    let deliveries = tokio::time::timeout(DELIVERY_WAIT_MAX, arrived).await.context("no notification was sent")?;
    deliveries.iter().try_for_each(|delivery| well_formed(play, delivery))
}

fn well_formed(play: &Play<'_>, delivery: &Delivery) -> Result<()> {
    if matches!(play.test.id.as_str(), "SEC-PUSH-001" | "PUSH-DELIV-001") {
        ensure!(
            delivery.authorization.as_deref() == Some("Bearer test-token"),
            "sent with {:?}",
            delivery.authorization
        );
    }
    let fields = delivery.body.as_object().map(Map::len);
    ensure!(fields == Some(1), "not one of task, message, statusUpdate and artifactUpdate: {}", delivery.body);
    typed::<pb::StreamResponse>(&delivery.body)
}
