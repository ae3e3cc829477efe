//! `GET /rpc` as a WebSocket: JSON-RPC with subscriptions.

use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{FromRequestParts, State as Extract};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use factum_model::Refusal;
use factum_model::peer::Transport::Websocket;
use factum_runtime::Caller;
use futures::stream::SplitSink;
use futures::{SinkExt, Stream, StreamExt};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::alive::Recheck;
use crate::connection::{self, Incoming};
use crate::http::peer;
use crate::metrics::Transport;
use crate::problem::Problem;
use crate::state::{Credential, Place, State};

/// A message up to this many times the limit is read to its end before it is refused: a client whose sending is cut off
/// usually does not get to read why. A larger one is not read at all.
const READ_FOR_REFUSAL: usize = 2;

/// A client of which nothing was heard for so many heartbeats is gone, whatever its connection says. Each of them asks it. It is
/// also how long one message may take, either way: nothing else comes in the middle of it.
const UNHEARD_HEARTBEATS_MAX: u32 = 4;

/// When a client last showed that it is there: by a message or an answer to a ping that came whole, or by taking all of one
/// that had to wait for it.
#[derive(Clone)]
struct Heard(Arc<Mutex<Instant>>);

impl Heard {
    fn now(&self) {
        *self.0.lock() = Instant::now();
    }

    fn at(&self) -> Instant {
        *self.0.lock()
    }
}

pub(crate) async fn upgrade(Extract(state): Extract<Arc<State>>, request: http::Request<Body>) -> Response {
    let (mut head, _) = request.into_parts();
    let caller = match state.admit(&head.headers, peer(&head)).await {
        Ok(caller) => caller.over(Websocket),
        Err(refusal) => return Problem(refusal).into_response(),
    };
    let Ok(upgrade) = WebSocketUpgrade::from_request_parts(&mut head, &()).await else {
        let message = "GET /rpc is a WebSocket; send POST /rpc for JSON-RPC over HTTP";
        return Problem(Refusal::invalid(message)).into_response();
    };
    let max = state.limits.ws_message_bytes_max;
    let credential = Credential::of(&head.headers, peer(&head));
    let place = head.extensions.remove::<Place>();
    let read = max.saturating_mul(READ_FOR_REFUSAL);
    upgrade.max_message_size(read).max_frame_size(read).on_upgrade(async move |socket| {
        serve(state, caller, credential, socket).await;
        drop(place);
    })
}

/// Pings keep idle connections through proxies, and find out about clients that have gone.
async fn serve(state: Arc<State>, caller: Caller, credential: Credential, socket: WebSocket) {
    let (mut sink, stream) = socket.split();
    let heartbeat = state.heartbeat;
    let max = state.limits.ws_message_bytes_max;
    // What waits in the queue when a key is revoked is not sent any more.
    let mut recheck = Recheck::new(&state, credential.clone());
    let (mut connection, mut queue) = connection::open(state, caller, Some(credential), Transport::WebSocket);
    let why: Arc<OnceLock<CloseFrame>> = Arc::default();
    let said = why.clone();
    let heard = Heard(Arc::new(Mutex::new(Instant::now())));
    let takes = heard.clone();
    let mut writer = tokio::spawn(async move {
        let mut ping_at = Instant::now() + heartbeat;
        loop {
            // However much there is to send, it is asked whether it is there.
            let next = async {
                tokio::select! {
                    biased;
                    () = tokio::time::sleep_until(ping_at) => None,
                    text = queue.next() => Some(text),
                }
            };
            let message = match recheck.pass(next).await {
                Err(refusal) => {
                    said.get_or_init(|| not_admitted(&refusal));
                    break;
                }
                Ok(None) => {
                    ping_at = Instant::now() + heartbeat;
                    Message::Ping(Bytes::new())
                }
                Ok(Some(Some(text))) => match String::from_utf8(text.into()) {
                    Ok(text) => Message::Text(text.into()),
                    Err(_) => continue,
                },
                Ok(Some(None)) => break,
            };
            if send(&mut sink, message, &takes).await.is_err() {
                return;
            }
        }
        if let Some(why) = said.get() {
            drop(sink.send(Message::Close(Some(why.clone()))).await);
        }
        drop(sink.close().await);
    });
    let refused = why.clone();
    let incoming = until_unheard(stream, heard, heartbeat.saturating_mul(UNHEARD_HEARTBEATS_MAX))
        .map(move |message| taken(message, max))
        .take_while(move |taken| {
            if let Err(Some(frame)) = taken {
                why.get_or_init(|| frame.clone());
            }
            std::future::ready(taken.is_ok())
        })
        .filter_map(|taken| std::future::ready(taken.ok().flatten().map(Incoming::Text)));
    if let Err(refusal) = connection.serve(Box::pin(incoming)).await {
        refused.get_or_init(|| not_admitted(&refusal));
    }
    // The queue ends with it, and the reason has to be there by then.
    drop(connection);
    // A client that does not read what is left must not keep its place.
    if tokio::time::timeout(heartbeat, &mut writer).await.is_err() {
        writer.abort();
    }
}

/// Sends a message. One that had to wait was made room for: its client takes what is sent.
async fn send(sink: &mut SplitSink<WebSocket, Message>, message: Message, takes: &Heard) -> Result<(), axum::Error> {
    let mut sending = std::pin::pin!(sink.send(message));
    if let Poll::Ready(sent) = futures::poll!(&mut sending) {
        return sent;
    }
    sending.await?;
    takes.now();
    Ok(())
}

/// What a client sends, until it has not shown for so long that it is there. What it sent already is read first, however late.
fn until_unheard<S: Stream + Unpin>(stream: S, heard: Heard, max: Duration) -> impl Stream<Item = S::Item> {
    futures::stream::unfold((stream, heard), move |(mut stream, heard)| async move {
        loop {
            let until = heard.at() + max;
            match tokio::time::timeout_at(until, stream.next()).await {
                Ok(next) => {
                    heard.now();
                    return next.map(|next| (next, (stream, heard)));
                }
                Err(_) if heard.at() + max <= Instant::now() => return None,
                Err(_) => {}
            }
        }
    })
}

/// What a message brings, if it brings anything; or what the connection is closed with, if anybody is there to be told.
fn taken(message: Result<Message, axum::Error>, max: usize) -> Result<Option<Bytes>, Option<CloseFrame>> {
    let bytes = match message {
        Ok(Message::Text(text)) => Bytes::from(text),
        Ok(Message::Binary(bytes)) => bytes,
        Ok(_) => return Ok(None),
        Err(error) => return Err(broken(error, max)),
    };
    if bytes.len() > max { Err(Some(too_large(max))) } else { Ok(Some(bytes)) }
}

/// Why a message could not be read; `None` where the connection itself is gone.
fn broken(error: axum::Error, max: usize) -> Option<CloseFrame> {
    match *error.into_inner().downcast::<tungstenite::Error>().ok()? {
        tungstenite::Error::Capacity(_) => Some(too_large(max)),
        tungstenite::Error::Utf8(_) => {
            Some(CloseFrame { code: close_code::INVALID, reason: "a text must be UTF-8".into() })
        }
        tungstenite::Error::Protocol(error) => {
            Some(CloseFrame { code: close_code::PROTOCOL, reason: error.to_string().into() })
        }
        _ => None,
    }
}

/// What a caller hears who would not be let in any more. A reason has at most 123 bytes (RFC 6455 §5.5).
fn not_admitted(refusal: &Refusal) -> CloseFrame {
    let mut reason = format!("{}: {}", refusal.code.as_str(), refusal.message);
    reason.truncate(reason.floor_char_boundary(123));
    CloseFrame { code: close_code::POLICY, reason: reason.into() }
}

fn too_large(max: usize) -> CloseFrame {
    let reason = format!("the message is larger than ws_message_bytes_max, {max} bytes");
    CloseFrame { code: close_code::SIZE, reason: reason.into() }
}
