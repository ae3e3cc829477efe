//! Commands right from an HTTP/1.1 connection, without the machinery for everything else that HTTP can be.
//!
//! Almost every request is one small `POST`, sent whole and answered whole, over a connection that stays open. Those are read
//! here, with the parser that hyper has, carried out, and answered in one write. Everything else is left to hyper, together
//! with the bytes that were read: another method or path, a query, a body without a length or a large one, `Expect`,
//! an upgrade, HTTP/2, and whatever is malformed, comes in pieces or comes slowly. A connection that is hyper's stays hyper's.
//!
//! ```text
//!   accept ──► here: look ──► carry out ──► write ──► look …
//!                     └── not ours ──► hyper, from the first byte of that request on
//! ```
//!
//! So this is no second HTTP server: what hostile clients may do is hyper's to judge. What is answered here is answered by
//! the same functions, with the same status, headers and bytes (`tests/it/plain_http.rs` of the binary compares the two).

mod alarm;
mod answer;
mod head;
mod rewound;

use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Uri};
use http_body_util::{BodyExt, Full};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::a2a;
use crate::http::{called, rpc_body};
use crate::state::State;
use alarm::Alarm;
use answer::{Answer, Ended};
#[cfg(feature = "fuzzing")]
pub(crate) use head::look;
use head::{Head, Route};
pub(crate) use rewound::Rewound;

/// Room for a request. As much as hyper makes for itself, so that what is left of one is used by the other.
const READ_BYTES: usize = 8 << 10;
/// What a client may send ahead while an answer is under way. More waits in the system's buffers.
const AHEAD_BYTES_MAX: usize = 64 << 10;
/// How long the rest of a request may take that has begun to arrive. Whoever is slower is hyper's.
const PATIENCE: Duration = Duration::from_secs(1);
/// Buffers that grew beyond this are not kept between requests.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// Serves a connection until it ends, or gives it back with what was read and not answered.
pub(crate) async fn serve(state: &Arc<State>, peer: IpAddr, stream: TcpStream) -> Option<Rewound> {
    let mut connection = Connection {
        state,
        peer,
        stream,
        read: BytesMut::new(),
        headers: HeaderMap::new(),
        answer: Answer::default(),
        alarm: Alarm::new(),
        closing: Box::pin(state.runtime.closing().cancelled_owned()),
    };
    match connection.next().await {
        // Boxed: whoever only listens never needs the room of a command.
        Next::Ours(head) => Box::pin(connection.serve(head)).await,
        Next::NotOurs => Some(connection.rewound()),
        Next::Gone => None,
    }
}

struct Connection<'a> {
    state: &'a Arc<State>,
    peer: IpAddr,
    stream: TcpStream,
    /// What has arrived and is not answered.
    read: BytesMut,
    /// Those of the request at hand; kept for their room.
    headers: HeaderMap,
    answer: Answer,
    alarm: Alarm,
    closing: Pin<Box<WaitForCancellationFutureOwned>>,
}

enum Next {
    Ours(Head),
    NotOurs,
    /// The client has left, or is to leave.
    Gone,
}

impl Connection<'_> {
    async fn serve(mut self, mut head: Head) -> Option<Rewound> {
        loop {
            self.respond(head).await.ok()?;
            match self.next().await {
                Next::Ours(next) => head = next,
                Next::NotOurs => return Some(self.rewound()),
                Next::Gone => return None,
            }
        }
    }

    fn rewound(self) -> Rewound {
        Rewound::new(self.read.freeze(), self.stream)
    }

    /// Waits for the next request, whole.
    async fn next(&mut self) -> Next {
        if self.read.is_empty() && !self.begun().await {
            return Next::Gone;
        }
        let Some(head) = head::look(&self.read, &mut self.headers, self.state.limits.body_bytes_max) else {
            return Next::NotOurs;
        };
        while self.read.len() < head.end() {
            self.read.reserve(head.end() - self.read.len());
            match tokio::time::timeout(PATIENCE, self.stream.read_buf(&mut self.read)).await {
                Ok(Ok(1..)) => {}
                // It is cut off, or slow. Hyper reads the same end again.
                _ => return Next::NotOurs,
            }
        }
        if head.route == Route::A2a && answer::may_stream(&self.read[head.body()]) {
            Next::NotOurs
        } else {
            Next::Ours(head)
        }
    }

    /// Waits for the first bytes of a request, as long as a head may take; false where there will be none.
    async fn begun(&mut self) -> bool {
        self.alarm.set(self.state.limits.header_timeout);
        self.read.reserve(READ_BYTES);
        tokio::select! {
            biased;
            read = self.stream.read_buf(&mut self.read) => matches!(read, Ok(1..)),
            () = &mut self.closing => false,
            () = self.alarm.ring() => false,
        }
    }

    /// Carries a request out and answers it. An error ends the connection.
    async fn respond(&mut self, head: Head) -> Result<(), Ended> {
        let request = self.read.split_to(head.end()).freeze();
        let Self { state, peer, stream, read, headers, answer, .. } = self;
        let rest = {
            let work = pin!(carry_out(state, *peer, headers, &head, &request, answer));
            unless_gone(stream, read, work).await.ok_or(Ended)?
        };
        let closing = state.runtime.closing().is_cancelled();
        let text = answer.finish(state.runtime.now(), closing || rest.is_some());
        let within = tokio::time::timeout(state.limits.request_timeout, send(stream, text));
        within.await.map_err(|_| Ended)?.map_err(|_| Ended)?;
        if let Some(rest) = rest {
            unless_gone(stream, read, pin!(forward(stream, rest))).await;
            return Err(Ended);
        }
        self.shrink();
        if closing { Err(Ended) } else { Ok(()) }
    }

    /// Lets go of what one large request or answer took.
    fn shrink(&mut self) {
        if self.read.is_empty() && self.read.capacity() > KEPT_BYTES_MAX {
            self.read = BytesMut::new();
        }
        self.answer.shrink(KEPT_BYTES_MAX);
    }
}

/// Writes the answer, but for what of it is a stream, which is given back.
async fn carry_out(
    state: &Arc<State>,
    peer: IpAddr,
    headers: &mut HeaderMap,
    head: &Head,
    request: &Bytes,
    answer: &mut Answer,
) -> Option<axum::body::Body> {
    let body = request.slice(head.body());
    let response = match head.route {
        Route::Command => {
            let name = std::str::from_utf8(&request[head.command.clone()]).unwrap_or_default();
            match called(state, name, headers, peer, &body).await {
                Ok(result) => {
                    answer.json(result.get());
                    return None;
                }
                Err(problem) => problem.into_response(),
            }
        }
        // Boxed: a connection must not always have the room that these need.
        Route::Rpc => Box::pin(rpc_body(state, headers, peer, Full::new(body))).await,
        Route::A2a => Box::pin(asked_over_a2a(state, headers, peer, body)).await,
    };
    answer.response(response).await
}

async fn asked_over_a2a(state: &Arc<State>, headers: &mut HeaderMap, peer: IpAddr, body: Bytes) -> Response {
    let (mut head, ()) = http::Request::new(()).into_parts();
    head.method = Method::POST;
    head.uri = Uri::from_static(head::A2A);
    head.headers = std::mem::take(headers);
    let response = a2a::endpoint(state, &head, peer, Full::new(body)).await;
    *headers = head.headers;
    response
}

/// Drives `work` until it is done; `None` where its client leaves meanwhile. Nobody works on for somebody who does not listen.
/// It is pinned where it was made: the future of a command is some kilobytes, and would be moved for each.
async fn unless_gone<T>(
    stream: &TcpStream,
    read: &mut BytesMut,
    mut work: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    std::future::poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        while read.len() < AHEAD_BYTES_MAX {
            if stream.poll_read_ready(context).is_pending() {
                break;
            }
            match stream.try_read_buf(read) {
                Ok(1..) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(0) | Err(_) => return Poll::Ready(None),
            }
        }
        Poll::Pending
    })
    .await
}

async fn send(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.try_write(bytes) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => stream.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// An answer whose length nobody knows ends with its connection.
async fn forward(stream: &TcpStream, mut body: axum::body::Body) {
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else { continue };
        if send(stream, data).await.is_err() {
            return;
        }
    }
}
