//! Bodies that are too large or never end, and streams that fall silent.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use factum_outbound::{Client, Error, Options, Phase, Streaming};
use futures::stream::{self, StreamExt};

use crate::world::{local, serve};

/// Small bounds, and time that is short for a test and long for loopback.
fn bounded() -> Client {
    let options = Options {
        timeout: Duration::from_millis(300),
        idle_timeout: Duration::from_millis(200),
        body_bytes_max: 1000,
        event_bytes_max: 100,
        ..Options::default()
    };
    Client::new(options.with_loopback()).unwrap()
}

fn chunks(first: &'static str, rest: impl futures::Stream<Item = &'static str> + Send + 'static) -> Body {
    let all = stream::once(async move { first }).chain(rest);
    Body::from_stream(all.map(|chunk| Ok::<_, Infallible>(Bytes::from_static(chunk.as_bytes()))))
}

/// In large pieces, so that the connection is full and the reader's turn comes before its time is over on any machine.
fn endless() -> Body {
    Body::from_stream(stream::repeat(Bytes::from(vec![b'x'; 1 << 16])).map(Ok::<_, Infallible>))
}

/// One piece every few milliseconds, without an end: never silent, never done.
fn dripping(piece: &'static str) -> impl futures::Stream<Item = &'static str> + Send {
    let ticks = tokio::time::interval(Duration::from_millis(20));
    stream::unfold(ticks, move |mut ticks| async move {
        ticks.tick().await;
        Some((piece, ticks))
    })
}

fn events(body: Body) -> Response {
    ([("content-type", "text/event-stream; charset=utf-8")], body).into_response()
}

async fn url(path: &str) -> String {
    let router = Router::new()
        .route("/fits", get(|| async { "x".repeat(1000) }))
        .route("/announced", get(|| async { "x".repeat(1001) }))
        .route("/endless", get(|| async { endless() }))
        .route("/hanging", get(|| async { chunks("x", stream::pending()) }))
        .route("/dripping", get(|| async { chunks("x", dripping("x")) }))
        .route("/mute", get(|| async { futures::future::pending::<&str>().await }))
        .route(
            "/events",
            get(|| async { events(chunks("id: 1\ndata: a\n\n: beat\n\n", stream::iter(["data: b\n\n"]))) }),
        )
        .route("/silent-events", get(|| async { events(chunks("data: a\n\n", stream::pending())) }))
        .route(
            "/beating-events",
            get(|| async {
                events(chunks("data: a\n\n", dripping(": beat\n\n").take(30).chain(stream::iter(["data: b\n\n"]))))
            }),
        )
        .route(
            "/large-event",
            get(|| async { events(chunks("data: a\n\ndata: ", stream::repeat("xxxxxxxxxxxxxxxx"))) }),
        )
        .route("/no-events", get(|| async { (axum::http::StatusCode::NOT_FOUND, "no such task") }));
    format!("http://{}{path}", serve("127.0.0.1:0", router).await)
}

#[tokio::test]
async fn a_body_is_read_up_to_its_bound() {
    assert_eq!(bounded().get(&url("/fits").await).unwrap().send().await.unwrap().body.len(), 1000);
    for path in ["/announced", "/endless"] {
        let error = bounded().get(&url(path).await).unwrap().send().await.unwrap_err();
        assert!(matches!(error, Error::TooLarge { max: 1000, .. }), "{path}: {error}");
    }
    let smaller = bounded().get(&url("/fits").await).unwrap().body_bytes_max(999).send().await.unwrap_err();
    assert!(matches!(smaller, Error::TooLarge { max: 999, .. }), "{smaller}");
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_cut_off_however_it_goes_on() {
    for path in ["/mute", "/hanging", "/dripping"] {
        let error = bounded().get(&url(path).await).unwrap().send().await.unwrap_err();
        assert!(matches!(error, Error::TimedOut { phase: Phase::Answering, .. }), "{path}: {error}");
        assert!(!error.is_before_sending(), "{path}");
    }
}

async fn stream_of(path: &str) -> factum_outbound::Events {
    match bounded().get(&url(path).await).unwrap().stream().await.unwrap() {
        Streaming::Events(_, events) => *events,
        Streaming::Answer(answer) => panic!("{path}: {answer:?}"),
    }
}

#[tokio::test]
async fn events_come_one_by_one_and_the_end_is_the_end() {
    let mut events = stream_of("/events").await;
    let first = events.next().await.unwrap().unwrap();
    assert_eq!((first.id.as_deref(), first.data.as_str()), (Some("1"), "a"));
    assert_eq!(events.next().await.unwrap().unwrap().data, "b");
    assert_eq!(events.next().await.unwrap(), None);
}

#[tokio::test]
async fn a_stream_may_last_but_not_be_silent_and_no_event_may_be_too_large() {
    let mut silent = stream_of("/silent-events").await;
    assert_eq!(silent.next().await.unwrap().unwrap().data, "a");
    let error = silent.next().await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { phase: Phase::Silent, .. }), "{error}");

    let mut beating = stream_of("/beating-events").await;
    assert_eq!(beating.next().await.unwrap().unwrap().data, "a");
    assert_eq!(beating.next().await.unwrap().unwrap().data, "b", "longer than a whole answer may take");

    let mut large = stream_of("/large-event").await;
    assert_eq!(large.next().await.unwrap().unwrap().data, "a");
    let error = large.next().await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { what: "an event", max: 100, .. }), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_given_as_it_is() {
    let Streaming::Answer(answer) = local().get(&url("/no-events").await).unwrap().stream().await.unwrap() else {
        panic!("a stream");
    };
    assert_eq!((answer.status.as_u16(), answer.body.as_ref()), (404, b"no such task".as_ref()));
}

/// Whoever reads it may give up waiting for an event and come back: that is no sign of life.
#[tokio::test]
async fn a_silence_is_one_however_often_somebody_begins_to_wait() {
    let mut silent = stream_of("/silent-events").await;
    assert_eq!(silent.next().await.unwrap().unwrap().data, "a");
    for _ in 0..100 {
        let Ok(next) = tokio::time::timeout(Duration::from_millis(20), silent.next()).await else { continue };
        let error = next.unwrap_err();
        return assert!(matches!(error, Error::TimedOut { phase: Phase::Silent, .. }), "{error}");
    }
    panic!("it was silent ten times as long as it may be");
}

/// What was sent over a connection may have been carried out, however it ends.
#[tokio::test]
async fn a_connection_that_breaks_may_have_carried_the_request() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let request = local().post(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let (closed, sent) = tokio::join!(async { listener.accept().await.map(drop) }, request.send());
    closed.unwrap();
    let error = sent.unwrap_err();
    assert!(matches!(error, Error::Broken { .. }) && !error.is_before_sending(), "{error}");
}
