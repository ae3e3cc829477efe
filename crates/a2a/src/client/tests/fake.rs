//! A peer that answers by a table and remembers what it was asked.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use factum_outbound::{Client, Options};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::super::{Credential, Failure, Peer, PeerOptions, discover};

/// What a fake peer was asked.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// How it answers. Gets what was asked, and its own address.
pub(super) type Answering = fn(&Asked, SocketAddr) -> Response;

pub(super) struct Fake {
    pub(super) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

struct Shared {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    answering: Answering,
}

impl Fake {
    pub(super) async fn start(answering: Answering) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::default());
        let shared = Arc::new(Shared { address, asked: Arc::clone(&asked), answering });
        let router = Router::new().fallback(answer).with_state(shared);
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, asked }
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().clone()
    }

    /// The last thing it was asked.
    pub(super) fn last(&self) -> Asked {
        self.asked.lock().last().unwrap().clone()
    }

    pub(super) fn options(&self) -> PeerOptions {
        PeerOptions { url: format!("http://{}", self.address), ..PeerOptions::default() }
    }

    pub(super) async fn discover(&self) -> Result<Peer, Failure> {
        discover(&client(), self.options()).await
    }

    pub(super) async fn with_bearer(&self, token: &str) -> Result<Peer, Failure> {
        let credential = Credential::Bearer(token.to_owned().into());
        discover(&client(), PeerOptions { credential, ..self.options() }).await
    }
}

pub(super) fn client() -> Client {
    Client::new(Options::default().with_loopback()).unwrap()
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let asked = Asked { method, path, headers, body };
    shared.asked.lock().push(asked.clone());
    (shared.answering)(&asked, shared.address)
}

pub(super) fn not_found() -> Response {
    StatusCode::NOT_FOUND.into_response()
}

pub(super) fn json_of(value: Value) -> Response {
    ([("content-type", "application/json")], value.to_string()).into_response()
}

pub(super) fn rpc(asked: &Asked, result: Value) -> Response {
    json_of(json!({ "jsonrpc": "2.0", "id": asked.body["id"], "result": result }))
}

/// A stream of these events, each with its number as its id.
pub(super) fn events(items: &[Value]) -> Response {
    let text: String = items.iter().enumerate().map(|(n, item)| format!("id: {}\ndata: {item}\n\n", n + 1)).collect();
    ([("content-type", "text/event-stream")], text).into_response()
}

/// A card of 1.0 with one interface.
pub(super) fn card(address: SocketAddr, path: &str, binding: &str, version: &str) -> Response {
    json_of(json!({
        "name": "fake", "description": "", "version": "1", "skills": [],
        "capabilities": { "streaming": true },
        "supportedInterfaces": [
            { "url": format!("http://{address}{path}"), "protocolBinding": binding, "protocolVersion": version }
        ],
    }))
}

pub(super) const CARD: &str = "/.well-known/agent-card.json";
