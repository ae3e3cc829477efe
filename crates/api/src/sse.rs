//! Server-sent events on their way out: how a stream begins, what it says while it is quiet, and when it ends. What is in
//! its events is its [`Source`]'s.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::Stream;
use http::{HeaderValue, header};

use crate::alive::{Heartbeat, Recheck};
use crate::state::State;

/// How long a client waits before it reconnects, told to it at the start of each stream.
pub(crate) const HELLO: Bytes = Bytes::from_static(b"retry: 1000\n\n");
/// A comment: it keeps the connection alive and is no event.
pub(crate) const HEARTBEAT: Bytes = Bytes::from_static(b": heartbeat\n\n");

/// Where the events of a stream come from.
pub(crate) trait Source: Send + 'static {
    /// Waits for what comes next. Is dropped when a heartbeat is due and asked again, and must lose nothing by that.
    fn next(&mut self) -> impl Future<Output = Frame> + Send;

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

/// Opens a stream. It ends with its source, when the server closes, or when its caller would no longer be let in.
pub(crate) fn open(source: impl Source, heartbeat: Heartbeat, recheck: Recheck) -> Response {
    let hello = source.hello();
    let outgoing = Outgoing { source, heartbeat, recheck, hello, ended: false };
    event_stream(futures::stream::unfold(outgoing, |mut outgoing| async move {
        let frame = outgoing.frame().await?;
        Some((Ok(frame), outgoing))
    }))
}

struct Outgoing<S> {
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
        let closing = self.recheck.state.runtime.closing();
        let frame = tokio::select! {
            biased;
            () = closing.cancelled() => return None,
            frame = self.source.next() => frame,
            () = self.heartbeat.wait() => Frame::Events(self.source.heartbeat(&self.recheck.state)),
        };
        self.heartbeat.put_off();
        match frame {
            Frame::Events(events) => self.recheck.still_admitted().await.then_some(events),
            Frame::Last(event) => {
                self.ended = true;
                Some(event)
            }
            Frame::End => None,
        }
    }
}

pub(crate) fn event_stream(stream: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(stream));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that buffer would turn a live stream into a late one.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
