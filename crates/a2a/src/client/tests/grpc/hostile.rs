//! Peers that never answer, fall silent, say too much, point where nobody may go, or do not speak gRPC at all.

use std::time::Duration;

use axum::Router;
use axum::response::IntoResponse;
use factum_outbound::{Client, Options};
use http::StatusCode;
use serde_json::json;
use tokio::time::timeout;

use super::super::super::{Failure, Peer, PeerOptions, discover};
use super::super::failures::{Kind, kind};
use super::super::fake::{CARD, client};
use super::Fake;

/// Small bounds, and time that is short for a test and long for loopback.
async fn bounded(fake: &Fake) -> Peer {
    let options = Options {
        timeout: Duration::from_millis(400),
        idle_timeout: Duration::from_millis(200),
        body_bytes_max: 5000,
        event_bytes_max: 1000,
        ..Options::default()
    };
    discover(&Client::new(options.with_loopback()).unwrap(), fake.options()).await.unwrap()
}

#[tokio::test]
async fn a_peer_that_never_answers_is_not_waited_for() {
    let fake = Fake::start().await;
    let peer = bounded(&fake).await;
    for failure in
        [peer.get("never", None).await.unwrap_err(), peer.subscribe("never", None).await.map(drop).unwrap_err()]
    {
        assert_eq!(kind(&failure), Kind::Network(true), "{failure}");
        assert!(failure.to_string().contains("took longer than 400 ms to answer"), "{failure}");
    }
}

#[tokio::test]
async fn a_stream_that_goes_silent_is_left() {
    let fake = Fake::start().await;
    let mut updates = bounded(&fake).await.subscribe("silent", None).await.unwrap();
    assert!(updates.next().await.unwrap().is_some());
    let next = timeout(Duration::from_secs(20), updates.next()).await.expect("it is left");
    assert_eq!(next.unwrap(), None, "whoever works may have nothing to say");
}

#[tokio::test]
async fn a_message_that_is_too_large_is_not_read() {
    let fake = Fake::start().await;
    let peer = bounded(&fake).await;
    let failure = peer.get("large", None).await.unwrap_err();
    assert!(failure.to_string().contains("5000 bytes"), "{failure}");
    assert_eq!(kind(&failure), Kind::TooLarge, "{failure}");
    let mut updates = peer.subscribe("large", None).await.unwrap();
    assert!(updates.next().await.unwrap().is_some());
    let failure = updates.next().await.unwrap_err();
    assert!(failure.to_string().contains("1000 bytes"), "{failure}");
    assert_eq!(kind(&failure), Kind::TooLarge, "{failure}");
}

#[tokio::test]
async fn an_address_that_may_not_be_reached_is_not_used() {
    for url in ["169.254.169.254:80", "http://169.254.169.254", "https://10.0.0.1"] {
        let fake = Fake::with_url(|_| url.to_owned()).await;
        let failure = discover(&client(), fake.options()).await.unwrap_err();
        assert!(failure.to_string().contains("not reached from here"), "{url}: {failure}");
    }
    let odd = Fake::with_url(|_| "0x7f.1:80".to_owned()).await;
    let failure = discover(&client(), odd.options()).await.unwrap_err();
    assert!(failure.to_string().contains("no plain IPv4 address"), "{failure}");
}

#[tokio::test]
async fn a_credential_does_not_follow_an_unsigned_card_to_another_origin() {
    let fake = Fake::with_url(|_| "127.0.0.9:9".to_owned()).await;
    let failure = discover(&client(), fake.options()).await.unwrap_err();
    assert!(failure.to_string().contains("another origin"), "{failure}");
}

/// A server of HTTP that is no server of gRPC.
async fn no_grpc(status: StatusCode) -> Peer {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let card = json!({ "name": "fake", "supportedInterfaces":
        [{ "url": address.to_string(), "protocolBinding": "GRPC", "protocolVersion": "1.0" }] });
    let router = Router::new()
        .route(CARD, axum::routing::get(|| async move { card.to_string() }))
        .fallback(move || async move { (status, "<html>").into_response() });
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let options = PeerOptions { url: format!("http://{address}"), ..PeerOptions::default() };
    discover(&client(), options).await.unwrap()
}

#[tokio::test]
async fn what_does_not_speak_grpc_is_told_apart_as_with_the_other_bindings() {
    let table = [
        (StatusCode::OK, Kind::Malformed),
        (StatusCode::NOT_FOUND, Kind::Malformed),
        (StatusCode::UNAUTHORIZED, Kind::Auth),
        (StatusCode::TOO_MANY_REQUESTS, Kind::Network(false)),
        (StatusCode::BAD_GATEWAY, Kind::Network(true)),
        (StatusCode::INTERNAL_SERVER_ERROR, Kind::Network(true)),
        (StatusCode::TEMPORARY_REDIRECT, Kind::Network(false)),
    ];
    for (status, expected) in table {
        let failure = no_grpc(status).await.get("t", None).await.unwrap_err();
        assert_eq!(kind(&failure), expected, "{status}: {failure:?}");
    }
}

#[tokio::test]
async fn nobody_there_is_the_network() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let fake = Fake::with_url(|_| nobody.to_string()).await;
    let options = PeerOptions { credential: super::super::super::Credential::None, ..fake.options() };
    let failure = discover(&client(), options).await.unwrap().get("t", None).await.unwrap_err();
    assert!(matches!(failure, Failure::Network { .. }), "{failure:?}");
}
