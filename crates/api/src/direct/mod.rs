//! Requests right from an HTTP/1.1 connection, without the machinery for everything else that HTTP can be.
//!
//! Almost every request is one small `POST`, sent whole and answered whole, over a connection that stays open; or a `GET` whose
//! answer is a stream of events, for days. Those are read here, with the parser that hyper has. Commands are carried out and
//! answered in one write; other paths, and what may be a stream, are left to the router, in a task of its own that has room
//! for no more than that. Everything else is left to hyper, together with the bytes that were read: another method, a body without a
//! length or a large one, `Expect`, an upgrade, HTTP/2, and whatever is malformed, comes in pieces or comes slowly. A
//! connection that is hyper's stays hyper's.
//!
//! ```text
//!   accept ──► here: look ──► carry out ──► write ──► look …
//!                     ├── not a command ──► the router ──► write, or send chunks ──► look …
//!                     └── not ours ──► hyper, from the first byte of that request on
//! ```
//!
//! So this is no second HTTP server: what hostile clients may do is hyper's to judge. What is answered here is answered by
//! the same functions, with the same status, headers and bytes (`tests/it/plain_http.rs` of the binary compares the two).

mod alarm;
mod answer;
mod asked;
mod chunks;
mod head;
mod known;
mod line;
mod rewound;

use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::IntoResponse;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Uri};
use http_body_util::Full;
use tokio::io::AsyncReadExt;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::a2a::{self, Answered};
use crate::http::{called, rpc_body};
use crate::said::Said;
use crate::state::State;
use alarm::Alarm;
use answer::{Answer, Ended};
pub(crate) use asked::Asked;
#[cfg(feature = "fuzzing")]
pub(crate) use head::look;
use head::{Head, Here, Route};
use known::Known;
pub(crate) use line::Line;
pub(crate) use rewound::Rewound;

/// Room for a request. As much as hyper makes for itself, so that what is left of one is used by the other.
const READ_BYTES: usize = 8 << 10;
/// How long the rest of a request may take that has begun to arrive. Whoever is slower is hyper's.
const PATIENCE: Duration = Duration::from_secs(1);
/// A larger request that is not there yet is hyper's as well, which looks at who asks before it reads a body.
const WAITED_FOR_BYTES_MAX: usize = 64 << 10;
/// Buffers that grew beyond this are not kept between requests.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// What becomes of a connection that is not served here any further.
pub(crate) enum Left {
    /// It has ended.
    Gone,
    /// The router is asked for something.
    Asked(Box<Asked>),
    /// For hyper, with what was read and not answered.
    NotOurs(Rewound),
}

/// Serves a connection as long as it asks for commands.
pub(crate) async fn serve(state: &Arc<State>, peer: IpAddr, line: Line) -> Left {
    let mut connection = Connection {
        state,
        peer,
        line,
        known: Known::default(),
        answer: Answer::default(),
        alarm: Alarm::new(),
        closing: Box::pin(state.runtime.closing().cancelled_owned()),
    };
    match connection.next().await {
        // Boxed: whoever only listens never needs the room of a command.
        Next::Ours(head, here) => Box::pin(connection.serve(head, here)).await,
        other => connection.left(other),
    }
}

struct Connection<'a> {
    state: &'a Arc<State>,
    peer: IpAddr,
    line: Line,
    /// With the headers of the request at hand.
    known: Known,
    answer: Answer,
    alarm: Alarm,
    closing: Pin<Box<WaitForCancellationFutureOwned>>,
}

enum Next {
    Ours(Head, Here),
    /// For the router; its answer may be a stream.
    Routed(Head),
    NotOurs,
    /// The client has left, or is to leave.
    Gone,
}

impl Connection<'_> {
    async fn serve(mut self, mut head: Head, mut here: Here) -> Left {
        loop {
            if let Err(Ended) = self.respond(&head, here).await {
                return Left::Gone;
            }
            match self.next().await {
                Next::Ours(next, at) => (head, here) = (next, at),
                other => return self.left(other),
            }
        }
    }

    fn left(mut self, next: Next) -> Left {
        match next {
            Next::Routed(head) => {
                let body = self.line.take(head.end()).slice(head.body());
                let body = if body.is_empty() { Body::empty() } else { Body::from(body) };
                let (method, uri) = match head.route {
                    Route::Here(_) => (Method::POST, Uri::from_static(head::A2A)),
                    Route::Router(method, uri) => (method, uri),
                };
                let mut request = http::Request::new(body);
                *request.method_mut() = method;
                *request.uri_mut() = uri;
                *request.headers_mut() = self.known.headers;
                Left::Asked(Box::new(Asked::new(request, self.line)))
            }
            Next::NotOurs => Left::NotOurs(self.line.rewound()),
            Next::Ours(..) | Next::Gone => Left::Gone,
        }
    }

    /// Waits for the next request, whole.
    async fn next(&mut self) -> Next {
        if self.line.read.is_empty() && !self.begun().await {
            return Next::Gone;
        }
        let Some(head) = self.known.look(&self.line.read, self.state.limits.body_bytes_max) else {
            return Next::NotOurs;
        };
        if self.line.read.len() < head.end() && !(head.end() <= WAITED_FOR_BYTES_MAX && self.rest(head.end()).await) {
            return Next::NotOurs;
        }
        match head.route {
            Route::Here(Here::A2a) if answer::may_stream(&self.line.read[head.body()]) => Next::Routed(head),
            Route::Here(here) => Next::Ours(head, here),
            Route::Router(..) => Next::Routed(head),
        }
    }

    /// Waits for a request whose head is there; false where it is cut off, or slow. Hyper reads the same end again.
    async fn rest(&mut self, end: usize) -> bool {
        let Line { stream, read } = &mut self.line;
        let arrives = async {
            while read.len() < end {
                read.reserve(end - read.len());
                if !matches!(stream.read_buf(read).await, Ok(1..)) {
                    return false;
                }
            }
            true
        };
        tokio::select! {
            biased;
            whole = tokio::time::timeout(PATIENCE, arrives) => whole.unwrap_or(false),
            () = &mut self.closing => false,
        }
    }

    /// Waits for the first bytes of a request, as long as a head may take; false where there will be none.
    async fn begun(&mut self) -> bool {
        self.alarm.set(self.state.limits.header_timeout);
        self.line.read.reserve(READ_BYTES);
        tokio::select! {
            biased;
            read = self.line.stream.read_buf(&mut self.line.read) => matches!(read, Ok(1..)),
            () = &mut self.closing => false,
            () = self.alarm.ring() => false,
        }
    }

    /// Carries a request out and answers it. An error ends the connection.
    async fn respond(&mut self, head: &Head, here: Here) -> Result<(), Ended> {
        let request = self.line.read.split_to(head.end()).freeze();
        let Self { state, peer, line, known, answer, .. } = self;
        let rest = {
            let work = pin!(carry_out(state, *peer, known.request(state.dev), (head, here), &request, answer));
            line.unless_gone(work).await.ok_or(Ended)?
        };
        let closing = state.runtime.closing().is_cancelled();
        let text = answer.finish(state.runtime.now(), closing);
        match rest {
            Some(rest) => line.forward(text.to_vec(), rest, state.runtime.closing()).await?,
            None => line.send(text, state.limits.request_timeout).await?,
        }
        self.shrink();
        if closing { Err(Ended) } else { Ok(()) }
    }

    /// Lets go of what one large request or answer took.
    fn shrink(&mut self) {
        if self.line.read.is_empty() && self.line.read.capacity() > KEPT_BYTES_MAX {
            self.line.read = BytesMut::new();
        }
        self.answer.shrink(KEPT_BYTES_MAX);
    }
}

/// Writes the answer, but for what of it is a stream, which is given back.
async fn carry_out(
    state: &Arc<State>,
    peer: IpAddr,
    (headers, said): (&HeaderMap, &Said),
    (head, here): (&Head, Here),
    request: &Bytes,
    answer: &mut Answer,
) -> Option<Body> {
    let body = request.slice(head.body());
    let response = match here {
        Here::Command => {
            let name = std::str::from_utf8(&request[head.command()]).unwrap_or_default();
            match pin!(called(state, name, (headers, said), peer, &body)).await {
                Ok(result) => {
                    answer.json(result.into_text().into_bytes());
                    return None;
                }
                Err(problem) => problem.into_response(),
            }
        }
        // Boxed: a connection must not always have the room that these need.
        Here::Rpc => Box::pin(rpc_body(state, headers, peer, Full::new(body))).await,
        Here::A2a => match Box::pin(a2a::plain(state, (headers, said), peer, body)).await {
            Answered::Json(text) => {
                answer.json(text);
                return None;
            }
            Answered::Other(response) => response,
        },
    };
    answer.response(response).await
}
