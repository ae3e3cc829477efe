//! Remote channels as they happen: the params every transport's stream takes, and `GET /v1/remote_channels/{channel_id}/events`
//! over server-sent events. What is sent is the same everywhere: the events of the channel's own stream and of the sessions
//! it follows, each named with its stream.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State as Extract;
use axum::response::Response;
use factum_model::Refusal;
use factum_model::id::ChannelId;
use factum_model::peer::Transport::Sse;
use factum_runtime::{PeerBatch, PeerStream};
use http::{HeaderMap, HeaderName};
use serde::Deserialize;

use crate::alive::Heartbeat;
use crate::asked::{Asked, Named};
use crate::casing::Casing;
use crate::limits::check_depth;
use crate::metrics::Transport;
use crate::problem::Problem;
use crate::sse::{self, Frame, Source};
use crate::state::{State, StreamGuard};

/// The header, or the metadata of gRPC, that names the remote channel a request comes through.
pub(crate) static CHANNEL_HEADER: HeaderName = HeaderName::from_static("factum-channel");

/// What a stream of a remote channel is asked with, as JSON.
#[derive(Deserialize)]
pub(crate) struct StreamPeer {
    pub(crate) channel_id: ChannelId,
    /// The last sequence taken in, by stream. A stream that is not named goes on where the channel stands.
    #[serde(default)]
    pub(crate) cursors: BTreeMap<String, u64>,
}

impl StreamPeer {
    pub(crate) fn parse(state: &State, text: &[u8]) -> Result<Self, Refusal> {
        check_depth(text, state.limits.json_depth_max)?;
        serde_json::from_slice(text).map_err(|error| Refusal::invalid(format!("the params do not fit: {error}")))
    }
}

/// The channel that a request's headers name.
pub(crate) fn channel_of(headers: &HeaderMap) -> Result<Option<ChannelId>, Refusal> {
    let Some(value) = headers.get(&CHANNEL_HEADER) else { return Ok(None) };
    let channel_id = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    channel_id.map(Some).ok_or_else(|| Refusal::invalid("Factum-Channel must be the id of a remote channel"))
}

/// A place in one of the channel's streams, as one text: the stream's name, a colon, the sequence.
pub(crate) fn cursor(stream: &str, sequence: u64) -> String {
    format!("{stream}:{sequence}")
}

fn parse_cursor(text: &str) -> Result<(String, u64), Refusal> {
    let parse = || {
        let (stream, sequence) = text.trim().rsplit_once(':')?;
        Some((stream.to_owned(), sequence.parse().ok()?))
    };
    parse().ok_or_else(|| Refusal::invalid("a cursor is a stream and a sequence, such as sess_1:17 or @channel:4"))
}

#[derive(Deserialize)]
pub(crate) struct EventsQuery {
    /// Places in streams, with commas between them.
    cursors: Option<String>,
    casing: Option<String>,
}

/// `GET /v1/remote_channels/{channel_id}/events`. The `id:` of each event is its place; `Last-Event-ID` counts more than the
/// query for the stream it names.
pub(crate) async fn events(
    Extract(state): Extract<Arc<State>>,
    Named(channel_id): Named,
    asked: Asked<EventsQuery>,
) -> Result<Response, Problem> {
    let channel_id: ChannelId = channel_id.parse().map_err(|_| Refusal::not_found())?;
    let casing = Casing::parse(asked.query.casing.as_deref())?;
    let cursors = cursors(&asked.headers, asked.query.cursors.as_deref())?;
    let stream = state.runtime.stream_peer(&asked.caller.clone().over(Sse), &channel_id, &cursors).await?;
    let source = Events { stream, casing, guard: state.stream(Transport::Sse) };
    Ok(sse::open(&state, source, Heartbeat::new(&state), asked.credential()))
}

fn cursors(headers: &HeaderMap, query: Option<&str>) -> Result<BTreeMap<String, u64>, Refusal> {
    let named = query.into_iter().flat_map(|query| query.split(',')).filter(|text| !text.trim().is_empty());
    let last = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?")).filter(|id| !id.is_empty());
    named.chain(last).map(parse_cursor).collect()
}

/// The events of a channel and of the sessions it follows.
struct Events {
    stream: PeerStream,
    casing: Casing,
    guard: StreamGuard,
}

impl Source for Events {
    async fn next(&mut self) -> Frame {
        match self.stream.next().await {
            Ok(batch) => {
                self.guard.sent(batch.events.len());
                Frame::Events(self.frames(&batch))
            }
            Err(refusal) => Frame::Last(sse::error_event(&refusal)),
        }
    }
}

impl Events {
    fn frames(&self, batch: &PeerBatch) -> Bytes {
        let mut frames = Vec::with_capacity(batch.events.iter().map(|event| event.json.len() + 96).sum());
        for event in &batch.events {
            frames.extend_from_slice(b"id: ");
            frames.extend_from_slice(cursor(&batch.stream, event.sequence).as_bytes());
            frames.extend_from_slice(b"\ndata: ");
            frames.extend_from_slice(&self.casing.apply(&event.json));
            frames.extend_from_slice(b"\n\n");
        }
        frames.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_written() {
        for (stream, sequence) in [("sess_1", 17), ("@channel", 0), ("a:b:c", u64::MAX)] {
            assert_eq!(parse_cursor(&cursor(stream, sequence)), Ok((stream.to_owned(), sequence)));
        }
        for bad in ["", "17", "sess_1", "sess_1:", "sess_1:x", "sess_1:-1"] {
            assert!(parse_cursor(bad).is_err(), "{bad}");
        }
        let mut headers = HeaderMap::new();
        headers.insert("last-event-id", "a:3".parse().unwrap());
        let read = cursors(&headers, Some("a:1, b:2,")).unwrap();
        assert_eq!(read, BTreeMap::from([("a".to_owned(), 3), ("b".to_owned(), 2)]));
    }

    #[test]
    fn a_channel_is_named_by_its_id_or_the_request_is_refused() {
        let named = |value: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(&CHANNEL_HEADER, http::HeaderValue::from_bytes(value).unwrap());
            channel_of(&headers).map(|id| id.map(|id| id.to_string()))
        };
        assert_eq!(named(b" chan_1 "), Ok(Some("chan_1".to_owned())));
        for bad in [&b""[..], b"a b", b"a/b", b"\xff"] {
            assert!(named(bad).is_err());
        }
        assert_eq!(channel_of(&HeaderMap::new()), Ok(None));
    }
}
