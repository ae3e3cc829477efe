//! Server-sent events on their way out: how a stream begins, what it says while it is quiet, and when it ends. What is in
//! its events is its [`Source`]'s.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::Stream;
use http::{HeaderValue, header};

use factum_model::Refusal;

use crate::alive::{Heartbeat, Recheck};
use crate::state::{Credential, State};

/// How long a client waits before it reconnects, told to it at the start of each stream.
pub(crate) const HELLO: Bytes = Bytes::from_static(b"retry: 1000\n\n");
/// A comment: it keeps the connection alive and is no event.
pub(crate) const HEARTBEAT: Bytes = Bytes::from_static(b": heartbeat\n\n");

/// Where the events of a stream come from.
pub(crate) trait Source: Send + 'static {
    /// Waits for what comes next. Is dropped when a heartbeat is due and asked again, and must lose nothing by that.
    fn next(&mut self) -> impl Future<Output = Frame> + Send;

    /// The last event of a stream whose caller would not be let in any more.
    fn refused(&self, refusal: &Refusal) -> Bytes {
        error_event(refusal)
    }

    /// What a stream begins with.
    fn hello(&self) -> Option<Bytes> {
        Some(HELLO)
    }

    /// What is said while there is nothing to say.
    fn heartbeat(&self, _: &State) -> Bytes {
        HEARTBEAT
    }
}

/// What comes next in a stream.
pub(crate) enum Frame {
    Events(Bytes),
    /// Why there are no more: sent, and the end.
    Last(Bytes),
    End,
}

/// Why a stream ends, as its last event.
pub(crate) fn error_event(refusal: &Refusal) -> Bytes {
    let body = serde_json::to_vec(refusal).unwrap_or_default();
    [b"event: error\ndata: ", &body[..], b"\n\n"].concat().into()
}

/// Opens a stream. It ends with its source, when the server closes, or when its caller would no longer be let in.
pub(crate) fn open(state: &Arc<State>, source: impl Source, heartbeat: Heartbeat, credential: Credential) -> Response {
    let hello = source.hello();
    let recheck = Recheck::new(state, credential);
    let outgoing = Outgoing { state: state.clone(), source, heartbeat, recheck, hello, ended: false };
    event_stream(futures::stream::unfold(outgoing, |mut outgoing| async move {
        let frame = outgoing.frame().await?;
        Some((Ok(frame), outgoing))
    }))
}

struct Outgoing<S> {
    state: Arc<State>,
    source: S,
    heartbeat: Heartbeat,
    recheck: Recheck,
    /// Until it is sent.
    hello: Option<Bytes>,
    ended: bool,
}

impl<S: Source> Outgoing<S> {
    async fn frame(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        if let Some(hello) = self.hello.take() {
            return Some(hello);
        }
        let closing = self.state.runtime.closing();
        let next = async {
            tokio::select! {
                biased;
                () = closing.cancelled() => Frame::End,
                frame = self.source.next() => frame,
                () = self.heartbeat.wait() => Frame::Events(self.source.heartbeat(&self.state)),
            }
        };
        let frame = self.recheck.pass(next).await;
        self.heartbeat.put_off();
        let last = match frame {
            Ok(Frame::Events(events)) => return Some(events),
            Ok(Frame::Last(event)) => event,
            Ok(Frame::End) => return None,
            Err(refusal) => self.source.refused(&refusal),
        };
        self.ended = true;
        Some(last)
    }
}

fn event_stream(stream: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(stream));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that buffer would turn a live stream into a late one.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
