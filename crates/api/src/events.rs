//! Events over HTTP: a page of JSON, or a stream of server-sent events that resumes where a client left off.

use std::sync::Arc;

use axum::extract::State as Extract;
use axum::response::Response;
use factum_model::Refusal;
use factum_model::commands::ReadEvents;
use factum_model::id::SessionId;
use factum_runtime::{Caller, FeedEvent, FeedStream, Subscription, sse_frame};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;

use crate::alive::Heartbeat;
use crate::asked::{Asked, Named};
use crate::casing::Casing;
use crate::http::json_response;
use crate::metrics::Transport;
use crate::problem::Problem;
use crate::sse::{self, Frame, Source};
use crate::state::{State, StreamGuard};

#[derive(Deserialize)]
pub(crate) struct EventsQuery {
    after: Option<String>,
    before: Option<u64>,
    limit: Option<u32>,
    casing: Option<String>,
}

/// `GET /v1/sessions/{session_id}/events`.
pub(crate) async fn session_events(
    Extract(state): Extract<Arc<State>>,
    Named(session_id): Named,
    asked: Asked<EventsQuery>,
) -> Result<Response, Problem> {
    let session_id: SessionId = session_id.parse().map_err(|_| Refusal::not_found())?;
    let casing = Casing::parse(asked.query.casing.as_deref())?;
    if !wants_stream(&asked.headers) {
        return Ok(page(&state, &asked.caller, session_id, asked.query, casing).await?);
    }
    let after = resume_after(&asked.headers, asked.query.after.as_deref())?.unwrap_or(0);
    let subscription = state.runtime.subscribe(&asked.caller, &session_id, after).await?;
    let source = SessionEvents { subscription, casing, guard: state.stream(Transport::Sse) };
    Ok(sse::open(&state, source, Heartbeat::new(&state), asked.credential()))
}

async fn page(
    state: &State,
    caller: &Caller,
    session_id: SessionId,
    query: EventsQuery,
    casing: Casing,
) -> Result<Response, Refusal> {
    let after = query.after.as_deref().map(parse_sequence).transpose()?;
    let command = ReadEvents { session_id, after, before: query.before, limit: query.limit };
    let mut page = state.runtime.call(caller, command).await?;
    page.events = page.events.into_iter().map(|event| casing.apply_raw(event)).collect();
    let body = serde_json::to_vec(&page).map_err(|error| Refusal::internal(error.to_string()))?;
    Ok(json_response(StatusCode::OK, body.into()))
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.split(',').any(|part| part.trim().starts_with("text/event-stream"))
}

/// What the client saw last: the header a reconnecting client sends, else the query.
fn resume_after(headers: &HeaderMap, query: Option<&str>) -> Result<Option<u64>, Refusal> {
    let header = headers.get("last-event-id").map(|value| value.to_str().map_err(|_| bad_sequence())).transpose()?;
    header.filter(|value| !value.is_empty()).or(query).map(parse_sequence).transpose()
}

fn parse_sequence(text: &str) -> Result<u64, Refusal> {
    text.trim().parse().map_err(|_| bad_sequence())
}

fn bad_sequence() -> Refusal {
    Refusal::invalid("after and Last-Event-ID must be a sequence, a whole number from 0")
}

/// The events of a session, for ever.
struct SessionEvents {
    subscription: Subscription,
    casing: Casing,
    guard: StreamGuard,
}

impl Source for SessionEvents {
    async fn next(&mut self) -> Frame {
        let Ok(events) = self.subscription.next().await else { return Frame::End };
        self.guard.sent(events.len());
        Frame::Events(match (self.casing, events.as_slice()) {
            (Casing::Snake, [event]) => event.sse(),
            (Casing::Snake, events) => events.iter().map(|event| event.sse()).collect::<Vec<_>>().concat().into(),
            (casing @ Casing::Camel, events) => {
                let frame =
                    |event: &Arc<factum_runtime::Published>| sse_frame(event.sequence, &casing.apply(&event.json));
                events.iter().map(frame).collect::<Vec<_>>().concat().into()
            }
        })
    }
}

const FEED_LIMIT_DEFAULT: u32 = 100;
const FEED_LIMIT_MAX: u32 = 1_000;

#[derive(Deserialize)]
pub(crate) struct FeedQuery {
    after: Option<String>,
    limit: Option<u32>,
    casing: Option<String>,
}

/// `GET /v1/feed`: every stream of the account.
pub(crate) async fn feed(Extract(state): Extract<Arc<State>>, asked: Asked<FeedQuery>) -> Result<Response, Problem> {
    let credential = asked.credential();
    let Asked { caller, query, headers, .. } = asked;
    let casing = Casing::parse(query.casing.as_deref())?;
    let limit = query.limit.unwrap_or(FEED_LIMIT_DEFAULT);
    if limit == 0 || limit > FEED_LIMIT_MAX {
        return Err(Refusal::invalid(format!("limit must be 1 to {FEED_LIMIT_MAX}")).into());
    }
    let plain = |value: &HeaderValue| value.to_str().map(str::to_owned);
    let header = headers.get("last-event-id").map(plain).transpose();
    let header = header.map_err(|_| Refusal::invalid("Last-Event-ID must be the id of an event of this feed"))?;
    let cursor = header.filter(|id| !id.is_empty()).or(query.after).filter(|cursor| !cursor.is_empty());
    if !wants_stream(&headers) {
        return Ok(feed_page(&state, &caller, cursor.as_deref(), limit as usize, casing).await?);
    }
    let feed = state.runtime.follow_feed(&caller, cursor.as_deref()).await?;
    let source = Feed { feed, casing, guard: state.stream(Transport::Sse) };
    Ok(sse::open(&state, source, Heartbeat::new(&state), credential))
}

async fn feed_page(
    state: &State,
    caller: &Caller,
    cursor: Option<&str>,
    limit: usize,
    casing: Casing,
) -> Result<Response, Refusal> {
    let page = state.runtime.feed(caller, cursor, limit).await?;
    let mut body = b"{\"events\":[".to_vec();
    for (at, event) in page.events.iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        body.extend_from_slice(&casing.apply(&event.json));
    }
    let next = serde_json::Value::String(page.cursor);
    body.extend_from_slice(format!("],\"next_after\":{next},\"has_more\":{}}}", page.has_more).as_bytes());
    Ok(json_response(StatusCode::OK, body.into()))
}

/// The events of the feed, for ever; the id of each is the cursor behind it.
struct Feed {
    feed: FeedStream,
    casing: Casing,
    guard: StreamGuard,
}

impl Source for Feed {
    async fn next(&mut self) -> Frame {
        let events = match self.feed.next().await {
            Ok(events) => events,
            Err(refusal) => return Frame::Last(sse::error_event(&refusal)),
        };
        self.guard.sent(events.len());
        let frame = |event: &FeedEvent| feed_frame(&event.cursor, &self.casing.apply(&event.json));
        Frame::Events(events.iter().flat_map(frame).collect::<Vec<u8>>().into())
    }
}

fn feed_frame(cursor: &str, json: &[u8]) -> Vec<u8> {
    [b"id: ", cursor.as_bytes(), b"\ndata: ", json, b"\n\n"].concat()
}
