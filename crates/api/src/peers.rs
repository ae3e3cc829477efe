//! Remote channels as they happen: the params every transport's stream takes, and `GET /v1/remote_channels/{channel_id}/events`
//! over server-sent events. What is sent is the same everywhere: the events of the channel's own stream and of the sessions
//! it follows, each named with its stream.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State as Extract};
use axum::response::{IntoResponse, Response};
use factum_model::Refusal;
use factum_model::id::ChannelId;
use factum_runtime::{PeerBatch, PeerStream};
use futures::Stream;
use http::HeaderMap;
use serde::Deserialize;

use crate::casing::Casing;
use crate::events::{HEARTBEAT, HELLO, Recheck, event_stream, pause};
use crate::http::peer;
use crate::limits::check_depth;
use crate::metrics::Transport;
use crate::problem::Problem;
use crate::state::{Credential, State, StreamGuard};

/// The header, or the metadata of gRPC, that names the remote channel a request comes through.
pub(crate) const CHANNEL_HEADER: &str = "factum-channel";

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
    let Some(value) = headers.get(CHANNEL_HEADER) else { return Ok(None) };
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
    Path(channel_id): Path<String>,
    query: Result<Query<EventsQuery>, axum::extract::rejection::QueryRejection>,
    request: http::Request<Body>,
) -> Response {
    let (head, _) = request.into_parts();
    let run = async {
        let caller = state.admit(&head.headers, peer(&head)).await?;
        let Query(query) = query.map_err(|error| Refusal::invalid(error.body_text()))?;
        let channel_id: ChannelId = channel_id.parse().map_err(|_| Refusal::not_found())?;
        let casing = Casing::parse(query.casing.as_deref())?;
        let cursors = cursors(&head.headers, query.cursors.as_deref())?;
        let frames = Frames {
            stream: state.runtime.stream_peer(&caller, &channel_id, &cursors).await?,
            casing,
            recheck: Recheck::new(&state, Credential::of(&head.headers, peer(&head))),
            guard: state.stream(Transport::Sse),
            next: Next::Hello,
        };
        Ok(event_stream(frames.into_stream()))
    };
    run.await.unwrap_or_else(|refusal: Refusal| Problem(refusal).into_response())
}

fn cursors(headers: &HeaderMap, query: Option<&str>) -> Result<BTreeMap<String, u64>, Refusal> {
    let named = query.into_iter().flat_map(|query| query.split(',')).filter(|text| !text.trim().is_empty());
    let last = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?")).filter(|id| !id.is_empty());
    named.chain(last).map(parse_cursor).collect()
}

enum Next {
    Hello,
    Events,
    End,
}

/// A stream on its way out.
struct Frames {
    stream: PeerStream,
    casing: Casing,
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
                self.next = Next::Events;
                return Some(HELLO);
            }
            Next::Events => {}
        }
        let closing = self.recheck.state.runtime.closing();
        let frame = tokio::select! {
            biased;
            () = closing.cancelled() => return None,
            batch = self.stream.next() => match batch {
                Ok(batch) => {
                    self.guard.sent(batch.events.len());
                    self.events(&batch)
                }
                Err(refusal) => {
                    self.next = Next::End;
                    let body = serde_json::to_vec(&refusal).unwrap_or_default();
                    return Some([b"event: error\ndata: ", &body[..], b"\n\n"].concat().into());
                }
            },
            () = pause(self.recheck.state.heartbeat) => HEARTBEAT,
        };
        self.recheck.still_admitted().await.then_some(frame)
    }

    fn events(&self, batch: &PeerBatch) -> Bytes {
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
            headers.insert(CHANNEL_HEADER, http::HeaderValue::from_bytes(value).unwrap());
            channel_of(&headers).map(|id| id.map(|id| id.to_string()))
        };
        assert_eq!(named(b" chan_1 "), Ok(Some("chan_1".to_owned())));
        for bad in [&b""[..], b"a b", b"a/b", b"\xff"] {
            assert!(named(bad).is_err());
        }
        assert_eq!(channel_of(&HeaderMap::new()), Ok(None));
    }
}
