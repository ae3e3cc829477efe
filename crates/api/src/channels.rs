//! Messaging channels as they happen, over server-sent events: `POST /v1/channels/stream` and
//! `GET /v1/channels/{channel_id}/events` send envelopes, `POST /a2a` sends the same inside JSON-RPC answers.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State as Extract};
use axum::response::{IntoResponse, Response};
use factum_model::Refusal;
use factum_model::messaging::{StreamChannel, StreamEnvelope};
use factum_runtime::{Caller, ChannelItem, ChannelStream};
use futures::Stream;
use http::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::events::{HEARTBEAT, HELLO, Recheck, event_stream};
use crate::http::{peer, read_body};
use crate::limits::check_depth;
use crate::metrics::Transport;
use crate::problem::Problem;
use crate::rpc;
use crate::state::{Credential, State, StreamGuard};

/// How often a client may ask to hear from a quiet channel.
const HEARTBEAT_MIN: Duration = Duration::from_millis(100);
const HEARTBEAT_MAX: Duration = Duration::from_secs(60);

/// The name of the one method of messaging that is no command.
pub(crate) const STREAM: &str = "channels/stream";

/// How an entry is wrapped.
pub(crate) enum Framing {
    /// The envelope itself.
    Plain,
    /// A JSON-RPC answer to the request with this id.
    Rpc { id: Box<RawValue> },
}

/// `POST /v1/channels/stream`: the body is the params.
pub(crate) async fn stream(Extract(state): Extract<Arc<State>>, request: http::Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let run = async {
        let caller = state.admit(&head.headers, peer(&head)).await?;
        let body = read_body(&state, body).await?;
        let params = parse(&state, &body)?;
        open(&state, &caller, params, &head.headers, peer(&head), Framing::Plain).await
    };
    run.await.unwrap_or_else(|refusal: Refusal| Problem(refusal).into_response())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StreamQuery {
    since_sequence: Option<u64>,
    heartbeat_interval_ms: Option<u64>,
    control_events: Option<bool>,
    presence: Option<bool>,
}

/// `GET /v1/channels/{channel_id}/events`: for clients that can only GET, such as a browser's `EventSource`.
pub(crate) async fn channel_events(
    Extract(state): Extract<Arc<State>>,
    Path(channel_id): Path<String>,
    query: Result<Query<StreamQuery>, axum::extract::rejection::QueryRejection>,
    request: http::Request<Body>,
) -> Response {
    let (head, _) = request.into_parts();
    let run = async {
        let caller = state.admit(&head.headers, peer(&head)).await?;
        let Query(query) = query.map_err(|error| Refusal::invalid(error.body_text()))?;
        let params = StreamChannel {
            channel_id: Some(channel_id.parse().map_err(|_| Refusal::not_found())?),
            peer: None,
            since_sequence: query.since_sequence,
            heartbeat_interval_ms: query.heartbeat_interval_ms,
            control_events: query.control_events,
            presence: query.presence,
        };
        open(&state, &caller, params, &head.headers, peer(&head), Framing::Plain).await
    };
    run.await.unwrap_or_else(|refusal: Refusal| Problem(refusal).into_response())
}

/// Reads params that did not come through the registry.
pub(crate) fn parse(state: &State, body: &[u8]) -> Result<StreamChannel, Refusal> {
    check_depth(body, state.limits.json_depth_max)?;
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Refusal::invalid("params must be an object"));
    }
    serde_json::from_slice(body).map_err(|error| Refusal::invalid(format!("the params do not fit: {error}")))
}

/// Opens a stream. `Last-Event-ID`, which a reconnecting client sends by itself, counts more than the params.
pub(crate) async fn open(
    state: &Arc<State>,
    caller: &Caller,
    mut params: StreamChannel,
    headers: &HeaderMap,
    from: IpAddr,
    framing: Framing,
) -> Result<Response, Refusal> {
    if let Some(seen) = last_event_id(headers)? {
        params.since_sequence = Some(seen);
    }
    let frames = Frames {
        stream: state.runtime.stream_channel(caller, &params).await?,
        framing,
        heartbeat: Heartbeat::new(state, params.heartbeat_interval_ms),
        recheck: Recheck::new(state, Credential::of(headers, from)),
        guard: state.stream(Transport::Sse),
        next: Next::Hello,
    };
    Ok(event_stream(frames.into_stream()))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    if text.is_empty() {
        return Ok(None);
    }
    let bad = |_| Refusal::invalid("Last-Event-ID must be the sequence of a message, a whole number");
    text.parse().map(Some).map_err(bad)
}

/// When a quiet stream says something, and what.
pub(crate) struct Heartbeat {
    every: Duration,
    /// A client that asks gets an envelope; one that does not, a comment.
    asked: bool,
    due: Instant,
}

impl Heartbeat {
    pub(crate) fn new(state: &State, asked_ms: Option<u64>) -> Self {
        let asked = asked_ms.map(|ms| Duration::from_millis(ms).clamp(HEARTBEAT_MIN, HEARTBEAT_MAX));
        let every = asked.unwrap_or(state.heartbeat);
        Self { every, asked: asked.is_some(), due: Instant::now() + every }
    }

    /// Whether the client asked for envelopes.
    pub(crate) fn asked(&self) -> bool {
        self.asked
    }

    pub(crate) async fn wait(&mut self) {
        tokio::time::sleep_until(self.due).await;
        self.due = Instant::now() + self.every;
    }

    /// Something else was sent, which says as much.
    pub(crate) fn put_off(&mut self) {
        self.due = Instant::now() + self.every;
    }
}

/// The envelope of a heartbeat.
pub(crate) fn heartbeat_envelope(state: &State) -> Bytes {
    let envelope = StreamEnvelope::Heartbeat { timestamp: state.runtime.now().as_millisecond() };
    serde_json::to_vec(&envelope).unwrap_or_default().into()
}

enum Next {
    Hello,
    Entries,
    End,
}

/// A stream on its way out.
struct Frames {
    stream: ChannelStream,
    framing: Framing,
    heartbeat: Heartbeat,
    recheck: Recheck,
    guard: StreamGuard,
    next: Next,
}

impl Frames {
    fn into_stream(self) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> {
        futures::stream::unfold(self, |mut frames| async move {
            let frame = frames.frame().await?;
            Some((Ok(frame), frames))
        })
    }

    async fn frame(&mut self) -> Option<Bytes> {
        match self.next {
            Next::End => return None,
            Next::Hello => {
                self.next = Next::Entries;
                return Some(HELLO);
            }
            Next::Entries => {}
        }
        let closing = self.recheck.state.runtime.closing();
        let frame = tokio::select! {
            biased;
            () = closing.cancelled() => return None,
            items = self.stream.next() => match items {
                Ok(items) => {
                    self.guard.sent(items.len());
                    self.heartbeat.put_off();
                    self.entries(&items)
                }
                // The caller may not see the channel any longer: the last it hears is what anyone else would.
                Err(refusal) => {
                    self.next = Next::End;
                    return Some(self.framing.end(&refusal));
                }
            },
            () = self.heartbeat.wait() => self.beat(),
        };
        self.recheck.still_admitted().await.then_some(frame)
    }

    fn entries(&self, items: &[ChannelItem]) -> Bytes {
        let mut frames = Vec::with_capacity(items.iter().map(|item| item.json.len() + 80).sum());
        for item in items {
            self.framing.entry(item.sequence, &item.json, &mut frames);
        }
        frames.into()
    }

    fn beat(&self) -> Bytes {
        if !self.heartbeat.asked() {
            return HEARTBEAT;
        }
        let mut frame = b": heartbeat\n".to_vec();
        self.framing.entry(None, &heartbeat_envelope(&self.recheck.state), &mut frame);
        frame.into()
    }
}

impl Framing {
    /// Only messages have an `id:`, so that a client that reconnects goes on behind the last message it has.
    fn entry(&self, sequence: Option<u64>, envelope: &[u8], out: &mut Vec<u8>) {
        if let Some(sequence) = sequence {
            out.extend_from_slice(b"id: ");
            out.extend_from_slice(sequence.to_string().as_bytes());
            out.push(b'\n');
        }
        out.extend_from_slice(b"data: ");
        match self {
            Self::Plain => out.extend_from_slice(envelope),
            Self::Rpc { id } => {
                out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
                out.extend_from_slice(id.get().as_bytes());
                out.extend_from_slice(b",\"result\":");
                out.extend_from_slice(envelope);
                out.push(b'}');
            }
        }
        out.extend_from_slice(b"\n\n");
    }

    fn end(&self, refusal: &Refusal) -> Bytes {
        let (head, body) = match self {
            Self::Plain => ("event: error\ndata: ", serde_json::to_vec(refusal).unwrap_or_default()),
            Self::Rpc { id } => ("data: ", rpc::answer(Some(id), Err(factum_a2a::Error::messaging(refusal)))),
        };
        [head.as_bytes(), &body, b"\n\n"].concat().into()
    }
}
