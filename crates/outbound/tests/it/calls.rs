//! Answers over HTTP/2, frame by frame: trailers come through, and neither time nor size is without an end.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Version};
use axum::response::Redirect;
use axum::routing::post;
use factum_outbound::{Client, Error, Frames, Options, Phase, Range};
use futures::Stream;
use futures::stream::{self, StreamExt};
use http_body_util::{BodyExt, StreamBody};
use tokio::io::AsyncReadExt;

use crate::world::{Changing, allowing, local, serve};

type Frame = http_body::Frame<Bytes>;

fn bounded() -> Client {
    let options = Options {
        timeout: Duration::from_millis(300),
        idle_timeout: Duration::from_millis(200),
        body_bytes_max: 1000,
        ..Options::default()
    };
    Client::new(options.with_loopback()).unwrap()
}

fn body(frames: impl Stream<Item = Frame> + Send + 'static) -> Body {
    Body::new(StreamBody::new(frames.map(Ok::<_, Infallible>)))
}

fn data(text: &'static str) -> Frame {
    Frame::data(Bytes::from_static(text.as_bytes()))
}

fn trailers() -> Frame {
    let mut trailers = HeaderMap::new();
    trailers.insert("x-outcome", HeaderValue::from_static("fine"));
    Frame::trailers(trailers)
}

/// One piece every few milliseconds, without an end.
fn dripping() -> impl Stream<Item = Frame> + Send {
    stream::unfold(tokio::time::interval(Duration::from_millis(20)), |mut ticks| async move {
        ticks.tick().await;
        Some((data("x"), ticks))
    })
}

async fn url(path: &str) -> String {
    let router = Router::new()
        .route("/version", post(|version: Version| async move { format!("{version:?}") }))
        .route("/trailers", post(|| async { body(stream::iter([data("a"), trailers()])) }))
        .route("/mute", post(|| async { futures::future::pending::<&str>().await }))
        .route("/hanging", post(|| async { body(stream::once(async { data("x") }).chain(stream::pending())) }))
        .route("/dripping", post(|| async { body(dripping()) }))
        .route("/lasting", post(|| async { body(dripping().take(30)) }))
        .route(
            "/large",
            post(|| async { body(stream::iter([[b'x'; 600]; 2]).map(|part| Frame::data(part.to_vec().into()))) }),
        )
        .route("/from", post(|| async { Redirect::temporary("/version") }));
    format!("http://{}{path}", serve("127.0.0.1:0", router).await)
}

async fn read(mut frames: Frames) -> Result<(usize, Option<HeaderMap>), Error> {
    let (mut bytes, mut trailers) = (0, None);
    while let Some(frame) = frames.frame().await {
        match frame?.into_data() {
            Ok(data) => bytes += data.len(),
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
    }
    Ok((bytes, trailers))
}

async fn call(path: &str) -> Result<(usize, Option<HeaderMap>), Error> {
    read(bounded().post(&url(path).await)?.call().await?.into_body()).await
}

async fn call_streaming(path: &str) -> Result<(usize, Option<HeaderMap>), Error> {
    read(bounded().post(&url(path).await)?.call_streaming().await?.into_body()).await
}

#[tokio::test]
async fn a_call_is_http_2_and_its_trailers_come_through() {
    let answer = local().post(&url("/version").await).unwrap().call().await.unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "HTTP/2.0");
    for outcome in [call("/trailers").await, call_streaming("/trailers").await] {
        let (bytes, trailers) = outcome.unwrap();
        assert_eq!((bytes, trailers.unwrap().get("x-outcome").unwrap().to_str().unwrap()), (1, "fine"));
    }
}

#[tokio::test]
async fn a_whole_answer_has_an_end_to_its_time_and_its_size() {
    for path in ["/mute", "/hanging", "/dripping"] {
        let error = call(path).await.unwrap_err();
        assert!(matches!(error, Error::TimedOut { phase: Phase::Answering, .. }), "{path}: {error}");
    }
    let error = call("/large").await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { max: 1000, .. }), "{error}");
}

#[tokio::test]
async fn a_stream_may_last_but_begins_in_time_and_is_never_silent_for_long() {
    let error = call_streaming("/mute").await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { phase: Phase::Answering, .. }), "{error}");
    let error = call_streaming("/hanging").await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { phase: Phase::Silent, .. }), "{error}");
    assert_eq!(call_streaming("/lasting").await.unwrap(), (30, None), "longer than a whole answer may take");
}

#[tokio::test]
async fn a_call_is_guarded_like_every_request() {
    let error = local().post(&url("/from").await).unwrap().call().await.map(drop).unwrap_err();
    assert!(matches!(error, Error::Redirected { status: 307, .. }), "{error}");

    let there = url("/version").await.replace("127.0.0.1", "rebinding.example");
    let resolver = Changing::new(&[&["127.0.0.1"]]);
    let client = Client::with_resolver(allowing(&["127.0.0.2/32"]), resolver.clone()).unwrap();
    let error = client.post(&there).unwrap().call().await.map(drop).unwrap_err();
    assert!(matches!(error, Error::Blocked { range: Range::Loopback, .. }), "{error}");
    assert_eq!(resolver.asked(), 1);
}

/// Long streams on a shared connection would keep everything else waiting, and a dead one would stay dead.
#[tokio::test]
async fn each_call_has_a_connection_of_its_own() {
    let url = url("/version").await.replace("127.0.0.1", "local.example");
    let resolver = Changing::new(&[&["127.0.0.1"]]);
    let client = Client::with_resolver(allowing(&["127.0.0.1/32"]), resolver.clone()).unwrap();
    for _ in 0..3 {
        client.post(&url).unwrap().call().await.unwrap();
    }
    assert_eq!(resolver.asked(), 3);
}

/// What the first thing that is said to a server that speaks TLS offers.
async fn offered_over_tls(send: impl AsyncFnOnce(String) -> Result<(), Error>) -> Vec<&'static str> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let listen = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 5];
        stream.read_exact(&mut head).await.unwrap();
        let mut hello = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
        stream.read_exact(&mut hello).await.unwrap();
        let holds = |protocol: &[u8]| hello.windows(protocol.len()).any(|window| window == protocol);
        ["\u{2}h2", "\u{8}http/1.1"].into_iter().filter(|protocol| holds(protocol.as_bytes())).collect()
    };
    let (offered, sent) = tokio::join!(listen, send(url));
    let sent = sent.unwrap_err();
    assert!(matches!(sent, Error::Unreachable { .. }) && sent.is_before_sending(), "{sent}");
    offered
}

#[tokio::test]
async fn over_tls_a_call_offers_http_2_and_a_plain_request_does_not() {
    let call = async |url: String| local().post(&url).unwrap().call().await.map(drop);
    assert_eq!(offered_over_tls(call).await, ["\u{2}h2"]);
    let send = async |url: String| local().post(&url).unwrap().send().await.map(drop);
    let offered = offered_over_tls(send).await;
    assert!(!offered.contains(&"\u{2}h2"), "{offered:?}");
}
