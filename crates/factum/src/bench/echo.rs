//! The bare server: the stack our own stands on (tokio, hyper, axum, the same accept loop), and nothing behind it.
//!
//! It answers what it is sent, sends on what it is told, and streams events from nowhere. What our server costs above it
//! is what durability, sessions and agents cost.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::{Stream, StreamExt, stream};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::broadcast;

use super::child::READY;
use crate::output::Output;

/// As in `api/src/server.rs`.
const BACKLOG: u32 = 4_096;
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How far a subscriber may fall behind. Publishers here wait for all of them, so none does.
const BROADCAST_MAX: usize = 1_024;
/// Events that are sent together where there are many, as our server does.
const BATCH_EVENTS: u64 = 256;

/// Serves until whoever started it is gone, which shows as the end of stdin.
pub(crate) async fn serve(output: &Output) -> Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let listener = socket.listen(BACKLOG)?;
    output.line(format_args!("{READY}{}", listener.local_addr()?))?;
    let mut rest = Vec::new();
    let mut stdin = tokio::io::stdin();
    tokio::select! {
        _ = stdin.read_to_end(&mut rest) => Ok(()),
        ended = accept(listener, router()) => ended,
    }
}

async fn accept(listener: TcpListener, app: Router) -> Result<()> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).half_close(false);
    loop {
        let (connection, _) = listener.accept().await?;
        connection.set_nodelay(true)?;
        let (builder, service) = (builder.clone(), TowerToHyperService::new(app.clone()));
        tokio::spawn(async move {
            // A client that goes away is no news.
            drop(builder.serve_connection_with_upgrades(TokioIo::new(connection), service).await);
        });
    }
}

fn router() -> Router {
    Router::new()
        .route("/echo", post(echo))
        .route("/publish", post(publish))
        .route("/events", get(events))
        .route("/frames", get(frames))
        .with_state(broadcast::Sender::new(BROADCAST_MAX))
}

async fn echo(body: Bytes) -> Response {
    ([("content-type", "application/json")], body).into_response()
}

/// Sends the body on to every subscriber, as it is.
async fn publish(State(sender): State<broadcast::Sender<Bytes>>, body: Bytes) -> &'static str {
    drop(sender.send(body));
    "{}"
}

async fn events(State(sender): State<broadcast::Sender<Bytes>>) -> Response {
    let next = |mut receiver: broadcast::Receiver<Bytes>| async move {
        let frame = receiver.recv().await.ok()?;
        Some((frame, receiver))
    };
    let hello = stream::iter([Bytes::from_static(b"retry: 1000\n\n")]);
    event_stream(hello.chain(stream::unfold(sender.subscribe(), next)))
}

#[derive(Deserialize)]
struct Frames {
    count: u64,
    bytes: usize,
}

/// So many events of this size, at once.
async fn frames(Query(Frames { count, bytes }): Query<Frames>) -> Response {
    let batch = move |first: u64| Bytes::from(frames_of(first, BATCH_EVENTS.min(count + 1 - first), bytes));
    event_stream(stream::iter((1..=count).step_by(BATCH_EVENTS as usize)).map(batch))
}

/// Events numbered from `first`, each of `bytes` bytes.
pub(super) fn frames_of(first: u64, count: u64, bytes: usize) -> String {
    let frame = |id: u64| {
        let head = format!("id: {id}\ndata: ");
        let pad = bytes.saturating_sub(head.len() + 2);
        format!("{head}{}\n\n", "x".repeat(pad))
    };
    (first..first + count).map(frame).collect()
}

fn event_stream(frames: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let body = Body::from_stream(frames.map(Ok::<_, Infallible>));
    ([("content-type", "text/event-stream"), ("cache-control", "no-store")], body).into_response()
}
