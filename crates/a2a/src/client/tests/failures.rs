//! Whatever goes wrong is of one kind, and says whether the request may have arrived.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use factum_outbound::{Client, Options};
use futures::StreamExt;
use serde_json::json;
use tokio::time::timeout;

use super::super::{Failure, discover};
use super::fake::{Asked, CARD, Fake, card, events, json_of, not_found};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Network(bool),
    /// For so many seconds.
    Busy(bool, u64),
    Auth,
    Missing,
    Refused(i32),
    Malformed,
    TooLarge,
}

pub(super) fn kind(failure: &Failure) -> Kind {
    match failure {
        Failure::Network { may_have_arrived, .. } => Kind::Network(*may_have_arrived),
        Failure::Silent { .. } => Kind::Network(true),
        Failure::Busy { may_have_arrived, after, .. } => Kind::Busy(*may_have_arrived, after.as_secs()),
        Failure::Auth { .. } => Kind::Auth,
        Failure::Missing { .. } => Kind::Missing,
        Failure::Refused { code, .. } => Kind::Refused(*code),
        Failure::Malformed { .. } => Kind::Malformed,
        Failure::TooLarge { .. } => Kind::TooLarge,
    }
}

fn rpc_error(code: i32) -> Response {
    json_of(json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": code, "message": "no" } }))
}

/// A refusal as Factum words it: one number for all of them, and a reason.
fn rpc_refusal(status: u16, reason: &str) -> Response {
    let info = json!({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "factum" });
    let error = json!({ "code": -32000, "message": "no", "data": [info] });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "error": error });
    (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response()
}

fn rest_error(status: u16, reason: &str) -> Response {
    let info =
        json!({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org" });
    let body = json!({ "error": { "code": status, "status": "X", "message": "no", "details": [info] } });
    (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response()
}

/// By the id of the task that is asked for.
fn answers(asked: &Asked, address: std::net::SocketAddr) -> Response {
    let id = asked.body["params"]["id"].as_str().unwrap_or_default();
    let rest = asked.path.strip_prefix("/rest/tasks/");
    match (asked.path.as_str(), rest.unwrap_or(id)) {
        (CARD, _) => card(address, "/rpc", "JSONRPC", "1.0"),
        ("/rest/.well-known/agent-card.json", _) => card(address, "/rest", "HTTP+JSON", "1.0"),
        ("/rpc", "gone") => rpc_error(-32001),
        ("/rpc", "over") => rpc_error(-32004),
        ("/rpc", "broken") => rpc_error(-32603),
        ("/rpc", "trouble") => rpc_error(-32000),
        (_, "detail") => (StatusCode::INTERNAL_SERVER_ERROR, r#"{"detail":"oops"}"#).into_response(),
        ("/rpc", "closing") => rpc_refusal(200, "UNAVAILABLE"),
        ("/rpc", "closed") => rpc_refusal(503, "UNAVAILABLE"),
        ("/rpc", "often") => rpc_refusal(200, "RATE_LIMITED"),
        ("/rpc", "unknown") => rpc_refusal(200, "UNAUTHENTICATED"),
        ("/rpc", "conflict") => rpc_refusal(200, "CONFLICT"),
        (_, "closing" | "closed") => rest_error(503, "UNAVAILABLE"),
        (_, "often") => rest_error(429, "RATE_LIMITED"),
        (_, "unknown") => rest_error(401, "UNAUTHENTICATED"),
        (_, "gone") => rest_error(404, "TASK_NOT_FOUND"),
        (_, "over") => rest_error(400, "UNSUPPORTED_OPERATION"),
        (_, "broken") => rest_error(500, "INTERNAL_ERROR"),
        (_, "secret") => StatusCode::UNAUTHORIZED.into_response(),
        (_, "forbidden") => StatusCode::FORBIDDEN.into_response(),
        (_, "busy") => StatusCode::TOO_MANY_REQUESTS.into_response(),
        (_, "gateway") => StatusCode::BAD_GATEWAY.into_response(),
        (_, "html") => "<html>".into_response(),
        (_, "other") => json_of(json!({ "jsonrpc": "2.0", "id": 1, "result": { "id": 7 } })),
        (_, "elsewhere") => axum::response::Redirect::temporary("/").into_response(),
        _ => not_found(),
    }
}

#[tokio::test]
async fn every_failure_is_of_one_kind() {
    let fake = Fake::start(answers).await;
    let rpc = fake.discover().await.unwrap();
    let options = super::super::PeerOptions { url: format!("http://{}/rest", fake.address), ..fake.options() };
    let rest = super::super::discover(&super::fake::client(), options).await.unwrap();
    let table = [
        ("gone", Kind::Missing),
        ("over", Kind::Refused(-32004)),
        ("broken", Kind::Network(true)),
        ("secret", Kind::Auth),
        ("forbidden", Kind::Auth),
        ("busy", Kind::Network(false)),
        ("closing", Kind::Network(true)),
        ("closed", Kind::Network(true)),
        ("often", Kind::Network(false)),
        ("unknown", Kind::Auth),
        ("gateway", Kind::Network(true)),
        ("detail", Kind::Network(true)),
        ("html", Kind::Malformed),
        ("other", Kind::Malformed),
        ("elsewhere", Kind::Network(false)),
    ];
    for (id, expected) in table {
        for (way, peer) in [("rpc", &rpc), ("rest", &rest)] {
            let failure = peer.get(id, None).await.unwrap_err();
            assert_eq!(kind(&failure), expected, "{way} {id}: {failure:?}");
        }
    }
    assert_eq!(kind(&rpc.get("trouble", None).await.unwrap_err()), Kind::Refused(-32000), "a no about a task");
    assert_eq!(kind(&rpc.get("unheard of", None).await.unwrap_err()), Kind::Malformed, "not the peer's word");
    assert_eq!(kind(&rpc.get("conflict", None).await.unwrap_err()), Kind::Refused(-32000), "judged, and refused");
    assert_eq!(kind(&rest.get("unheard of", None).await.unwrap_err()), Kind::Missing, "a plain 404 about a task");
}

#[tokio::test]
async fn a_peer_says_when_to_ask_again() {
    let fake = Fake::start(|asked, address| {
        let after = |status: u16, after: &str, body: Response| {
            (StatusCode::from_u16(status).unwrap(), [("Retry-After", after.to_owned())], body.into_body())
                .into_response()
        };
        match asked.body["params"]["id"].as_str() {
            _ if asked.path == CARD => card(address, "/rpc", "JSONRPC", "1.0"),
            _ if asked.path.starts_with("/busy") => after(503, "5", not_found()),
            Some("soon") => after(429, "8", not_found()),
            Some("said") => after(503, "8", rpc_refusal(503, "UNAVAILABLE")),
            Some("tomorrow") => after(503, "86400", not_found()),
            Some("a date") => after(503, "Wed, 21 Oct 2026 07:28:00 GMT", not_found()),
            _ => after(500, "8", not_found()),
        }
    })
    .await;
    let peer = fake.discover().await.unwrap();
    for (id, expected) in [
        ("soon", Kind::Busy(false, 8)),
        ("said", Kind::Busy(true, 8)),
        ("tomorrow", Kind::Busy(false, 60)),
        ("a date", Kind::Network(false)),
        ("broken", Kind::Network(true)),
    ] {
        assert_eq!(kind(&peer.get(id, None).await.unwrap_err()), expected, "{id}");
    }
    let options = super::super::PeerOptions { url: format!("http://{}/busy", fake.address), ..fake.options() };
    let failure = super::super::discover(&super::fake::client(), options).await.unwrap_err();
    assert_eq!(kind(&failure), Kind::Busy(false, 5));
}

/// What is sent is what must not be given up too early, nor sent twice.
#[tokio::test]
async fn a_message_is_refused_only_by_the_peer_s_judgement() {
    fn answering(asked: &Asked, address: std::net::SocketAddr) -> Response {
        let text = asked.body["params"]["message"]["parts"][0]["text"].as_str();
        let text = text.or(asked.body["message"]["parts"][0]["text"].as_str()).unwrap_or_default();
        let rpc = asked.path == "/rpc";
        match text {
            "" if asked.path == CARD => card(address, "/rpc", "JSONRPC", "1.0"),
            "" => card(address, "/rest", "HTTP+JSON", "1.0"),
            "conflict" => rpc_refusal(200, "CONFLICT"),
            code if code.starts_with('-') && rpc => rpc_error(code.parse().unwrap()),
            code if code.starts_with('-') => {
                let error = json!({ "code": code.parse::<i32>().unwrap(), "message": "no" });
                (StatusCode::BAD_REQUEST, json!({ "error": error }).to_string()).into_response()
            }
            status => (StatusCode::from_u16(status.parse().unwrap()).unwrap(), r#"{"detail":"?"}"#).into_response(),
        }
    }
    let fake = Fake::start(answering).await;
    let rpc = fake.discover().await.unwrap();
    let options = super::super::PeerOptions { url: format!("http://{}/rest", fake.address), ..fake.options() };
    let rest = super::super::discover(&super::fake::client(), options).await.unwrap();
    let table = [
        ("-32000", Kind::Network(false)),
        ("-32050", Kind::Network(false)),
        ("-32603", Kind::Network(true)),
        ("-32005", Kind::Refused(-32005)),
        ("-32602", Kind::Refused(-32602)),
        ("404", Kind::Network(false)),
        ("405", Kind::Network(false)),
        ("410", Kind::Network(false)),
        ("413", Kind::Refused(413)),
        ("500", Kind::Network(true)),
        ("503", Kind::Network(false)),
    ];
    for (text, expected) in table {
        for (way, peer) in [("rpc", &rpc), ("rest", &rest)] {
            let message = a2a::Message::new(a2a::Role::User, vec![a2a::Part::text(text)]);
            let request = a2a::SendMessageRequest { message, configuration: None, metadata: None, tenant: None };
            let failure = peer.send(request, None).await.unwrap_err();
            assert_eq!(kind(&failure), expected, "{way} {text}: {failure:?}");
        }
    }
    let message = a2a::Message::new(a2a::Role::User, vec![a2a::Part::text("conflict")]);
    let request = a2a::SendMessageRequest { message, configuration: None, metadata: None, tenant: None };
    assert_eq!(kind(&rpc.send(request, None).await.unwrap_err()), Kind::Refused(-32000), "judged, and refused");
}

#[tokio::test]
async fn nobody_there_is_the_network_and_nothing_arrived_where_no_name_is_found() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let options = super::super::PeerOptions { url, ..Default::default() };
    let failure = super::super::discover(&super::fake::client(), options).await.unwrap_err();
    assert!(matches!(failure, Failure::Network { .. }), "{failure:?}");

    let blocked = super::super::PeerOptions { url: "http://10.0.0.1".to_owned(), ..Default::default() };
    let failure = super::super::discover(&super::fake::client(), blocked).await.unwrap_err();
    assert_eq!(kind(&failure), Kind::Network(false));
    assert!(failure.to_string().contains("allow below [outbound]"), "{failure}");
}

#[tokio::test]
async fn a_stream_that_goes_wrong_says_so_where_it_does() {
    let fake = Fake::start(|asked, address| match asked.path.as_str() {
        CARD => card(address, "/rpc", "JSONRPC", "1.0"),
        _ if asked.body["params"]["id"] == "over" => rpc_error(-32004),
        _ => {
            let task = json!({ "id": "t", "contextId": "c", "status": { "state": "TASK_STATE_WORKING" } });
            events(&[
                json!({ "result": { "task": task } }),
                json!({ "error": { "code": -32001, "message": "gone" } }),
                json!("?"),
            ])
        }
    })
    .await;
    let peer = fake.discover().await.unwrap();
    let failure = peer.subscribe("over", None).await.map(drop).unwrap_err();
    assert_eq!(kind(&failure), Kind::Refused(-32004));
    let mut updates = peer.subscribe("t", None).await.unwrap();
    assert!(updates.next().await.unwrap().is_some());
    assert_eq!(kind(&updates.next().await.unwrap_err()), Kind::Missing);
    assert_eq!(kind(&updates.next().await.unwrap_err()), Kind::Malformed);
}

/// Silence says nothing of a task, so the stream is at its end and no more.
#[tokio::test]
async fn a_stream_that_goes_silent_ends() {
    let fake = Fake::start(|asked, address| match asked.path.as_str() {
        CARD => card(address, "/rpc", "JSONRPC", "1.0"),
        _ => {
            let task = json!({ "id": "t", "contextId": "c", "status": { "state": "TASK_STATE_WORKING" } });
            let first = format!("data: {}\n\n", json!({ "result": { "task": task } }));
            let first = futures::stream::iter([Ok::<_, Infallible>(first)]);
            let body = Body::from_stream(first.chain(futures::stream::pending()));
            ([("content-type", "text/event-stream")], body).into_response()
        }
    })
    .await;
    let options = Options { idle_timeout: Duration::from_millis(200), ..Options::default() };
    let peer = discover(&Client::new(options.with_loopback()).unwrap(), fake.options()).await.unwrap();
    let mut updates = peer.subscribe("t", None).await.unwrap();
    assert!(updates.next().await.unwrap().is_some());
    let next = timeout(Duration::from_secs(20), updates.next()).await.expect("it is left");
    assert_eq!(next.unwrap(), None);
}

#[tokio::test]
async fn a_credential_is_never_shown() {
    let fake = Fake::start(answers).await;
    let peer = fake.with_bearer("hunter2").await.unwrap();
    let failure = peer.get("secret", None).await.unwrap_err();
    assert!(!format!("{peer:?} {failure:?} {failure}").contains("hunter2"));
}
