//! Messaging channels as they happen, over server-sent events: `POST /v1/channels/stream` and
//! `GET /v1/channels/{channel_id}/events` send envelopes, `POST /a2a` sends the same inside JSON-RPC answers.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use factum_model::Refusal;
use factum_model::messaging::{StreamChannel, StreamEnvelope};
use factum_runtime::{Caller, ChannelItem, ChannelPlace, ChannelStream};
use http::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::alive::Heartbeat;
use crate::asked::{Asked, Named};
use crate::body::{discard, read_body};
use crate::http::peer;
use crate::limits::check_depth;
use crate::metrics::Transport;
use crate::problem::Problem;
use crate::rpc;
use crate::sse::{self, Frame, Source};
use crate::state::{Credential, State, StreamGuard};

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
        let caller = match state.admit(&head.headers, peer(&head)).await {
            Ok(caller) => caller,
            Err(refusal) => {
                discard(body).await;
                return Err(refusal);
            }
        };
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
    since_version: Option<u64>,
    heartbeat_interval_ms: Option<u64>,
    control_events: Option<bool>,
    presence: Option<bool>,
}

/// `GET /v1/channels/{channel_id}/events`: for clients that can only GET, such as a browser's `EventSource`.
pub(crate) async fn channel_events(
    Extract(state): Extract<Arc<State>>,
    Named(channel_id): Named,
    asked: Asked<StreamQuery>,
) -> Result<Response, Problem> {
    let Asked { caller, query, headers, from } = asked;
    let params = StreamChannel {
        channel_id: Some(channel_id.parse().map_err(|_| Refusal::not_found())?),
        peer: None,
        since_sequence: query.since_sequence,
        since_version: query.since_version,
        heartbeat_interval_ms: query.heartbeat_interval_ms,
        control_events: query.control_events,
        presence: query.presence,
    };
    Ok(open(&state, &caller, params, &headers, from, Framing::Plain).await?)
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
    match last_event_id(headers)? {
        Some(ChannelPlace::Message { sequence }) => params.since_sequence = Some(sequence),
        Some(ChannelPlace::Change { after_sequence, version }) => {
            params.since_sequence = Some(after_sequence);
            params.since_version = Some(version);
        }
        None => {}
    }
    let heartbeat = Heartbeat::asked_for(state, params.heartbeat_interval_ms);
    let source = Entries {
        stream: state.runtime.stream_channel(caller, &params).await?,
        framing,
        heartbeat_envelopes: heartbeat.asked(),
        guard: state.stream(Transport::Sse),
    };
    Ok(sse::open(state, source, heartbeat, Credential::of(headers, from)))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<ChannelPlace>, Refusal> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let bad =
        || Refusal::invalid("Last-Event-ID must be the id of an event of this stream: a message's is its sequence");
    let text = value.to_str().map_err(|_| bad())?.trim();
    if text.is_empty() {
        return Ok(None);
    }
    read_id(text).map(Some).ok_or_else(bad)
}

/// The `id:` of an entry. A message's is its sequence (seed 002 §7.3); a change has the messages before it and its version.
fn write_id(place: ChannelPlace) -> String {
    match place {
        ChannelPlace::Message { sequence } => sequence.to_string(),
        ChannelPlace::Change { after_sequence, version } => format!("{after_sequence}.{version}"),
    }
}

fn read_id(id: &str) -> Option<ChannelPlace> {
    Some(match id.split_once('.') {
        None => ChannelPlace::Message { sequence: id.parse().ok()? },
        Some((messages, version)) => {
            ChannelPlace::Change { after_sequence: messages.parse().ok()?, version: version.parse().ok()? }
        }
    })
}

/// The envelope of a heartbeat.
pub(crate) fn heartbeat_envelope(state: &State) -> Bytes {
    let envelope = StreamEnvelope::Heartbeat { timestamp: state.runtime.now().as_millisecond() };
    serde_json::to_vec(&envelope).unwrap_or_default().into()
}

/// The entries of a channel.
struct Entries {
    stream: ChannelStream,
    framing: Framing,
    /// A client that asks for heartbeats gets envelopes; one that does not, comments.
    heartbeat_envelopes: bool,
    guard: StreamGuard,
}

impl Source for Entries {
    async fn next(&mut self) -> Frame {
        match self.stream.next().await {
            Ok(items) => {
                self.guard.sent(items.len());
                Frame::Events(self.frames(&items))
            }
            // The caller may not see the channel any longer: the last it hears is what anyone else would.
            Err(refusal) => Frame::Last(self.framing.end(&refusal)),
        }
    }

    fn refused(&self, refusal: &Refusal) -> Bytes {
        self.framing.end(refusal)
    }

    fn heartbeat(&self, state: &State) -> Bytes {
        if !self.heartbeat_envelopes {
            return sse::HEARTBEAT;
        }
        let mut frame = b": heartbeat\n".to_vec();
        self.framing.entry(None, &heartbeat_envelope(state), &mut frame);
        frame.into()
    }
}

impl Entries {
    fn frames(&self, items: &[ChannelItem]) -> Bytes {
        let mut frames = Vec::with_capacity(items.iter().map(|item| item.json.len() + 80).sum());
        for item in items {
            self.framing.entry(item.place, &item.json, &mut frames);
        }
        frames.into()
    }
}

impl Framing {
    /// What has a place has it as its `id:`, so that a client that reconnects goes on behind the last it has.
    fn entry(&self, place: Option<ChannelPlace>, envelope: &[u8], out: &mut Vec<u8>) {
        if let Some(place) = place {
            out.extend_from_slice(b"id: ");
            out.extend_from_slice(write_id(place).as_bytes());
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
        match self {
            Self::Plain => sse::error_event(refusal),
            Self::Rpc { id } => {
                let body = rpc::answer(Some(id), Err(factum_a2a::Error::messaging(refusal)));
                [b"data: ", &body[..], b"\n\n"].concat().into()
            }
        }
    }
}
