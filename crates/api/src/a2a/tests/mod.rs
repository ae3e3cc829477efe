//! A2A on the wire, in front of a server that lives in memory: what each binding asks it, and how its answers come out.

mod cards;
mod errors;
mod fake;
mod grpc;
mod negotiation;
mod rest;
mod revoked;
mod rpc;
mod streams;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use factum_runtime::{Agents, Options, Runtime, Secret};
use factum_store::{Blobs, MemoryStore};
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use self::fake::Fake;
use super::setup::{A2aOptions, Setup};
use crate::auth::{AuthOptions, Authenticator};
use crate::limits::TransportLimits;
use crate::metrics::Metrics;
use crate::router::router_with;
use crate::state::{Peer, State};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Longer than any test: a heartbeat that is not asked for never comes.
const NEVER: Duration = Duration::from_secs(3_600);

/// A server with its fake.
struct World {
    fake: Fake,
    state: Arc<State>,
    router: Router,
    _dir: TempDir,
}

impl World {
    async fn new(options: A2aOptions) -> Self {
        Self::with(options, NEVER, true).await
    }

    /// Push notifications on, which most tests do not mind and some need.
    async fn open() -> Self {
        Self::new(A2aOptions { push_notifications: true, ..A2aOptions::default() }).await
    }

    /// What a server says that asks for credentials, and takes those of development.
    async fn guarded(options: A2aOptions) -> Self {
        Self::made(options, NEVER, true, false).await
    }

    async fn with(options: A2aOptions, heartbeat: Duration, dev: bool) -> Self {
        Self::made(options, heartbeat, dev, dev).await
    }

    async fn made(options: A2aOptions, heartbeat: Duration, takes_all: bool, dev: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(dir.path().join("blobs")).unwrap();
        let runtime = Options::new(Agents::demo(), Secret::new([7; 32]));
        let runtime = Runtime::start(Arc::new(MemoryStore::new()), blobs, runtime).await.unwrap();
        let auth = AuthOptions { dev: takes_all, ..AuthOptions::default() };
        let auth = Authenticator::new(runtime.clone(), auth).await.unwrap();
        let metrics = Arc::new(Metrics::new(Vec::new()));
        let mut state = State::new(runtime, auth, dev, TransportLimits::default(), heartbeat, metrics);
        state.a2a = Setup::new(options);
        let (state, fake) = (Arc::new(state), Fake::default());
        Self { router: router_with(fake.clone(), state.clone()), state, fake, _dir: dir }
    }

    async fn send(&self, mut request: Request<Body>) -> Response {
        request.extensions_mut().insert(Peer(LOOPBACK));
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// A request with these headers and, where there is one, a body of JSON.
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        Answer::of(self.send(request.body(body).unwrap()).await).await
    }

    /// JSON-RPC to the default agent, in the version said.
    async fn rpc(&self, version: Option<&str>, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let headers: Vec<_> = version.map(|version| ("a2a-version", version)).into_iter().collect();
        self.ask("POST", "/a2a", &headers, Some(&body)).await.json()
    }
}

/// An answer that has come to its end.
struct Answer {
    status: u16,
    headers: http::HeaderMap,
    text: String,
}

impl Answer {
    async fn of(response: Response) -> Self {
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Self { status: head.status.as_u16(), headers: head.headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {:?}", self.text))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The events of a stream: their ids and their data.
    fn events(&self) -> Vec<(Option<&str>, Value)> {
        let events = self.text.split("\n\n").filter(|event| event.contains("data: "));
        let read = |event: &'_ str| -> Value {
            let line = event.lines().find_map(|line| line.strip_prefix("data: "));
            serde_json::from_str(line.unwrap_or_default()).unwrap()
        };
        events.map(|event| (event.lines().find_map(|line| line.strip_prefix("id: ")), read(event))).collect()
    }
}

/// A message of 1.0 with this text.
fn message(text: &str) -> Value {
    json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": text }] } })
}
