//! Doors for the fuzz targets in `fuzz/`: everything a transport hands to this crate, without a socket. Compiled with the
//! feature `fuzzing` alone, no part of the API, and without logic of its own: what is fuzzed is what is served.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use factum_model::json::Encoded;
use factum_runtime::{CallError, Caller, Runtime};
use tower::ServiceExt;

use crate::a2a::{A2aOptions, Setup};
use crate::auth::{AuthOptions, AuthSetupError, Authenticator};
use crate::limits::TransportLimits;
use crate::metrics::{Metrics, Transport};
use crate::router::router;
use crate::rpc;
use crate::state::{Peer, State};

/// The words of A2A, and the official types they become.
#[doc(hidden)]
pub use {::a2a as lf, factum_a2a as a2a};

/// The params of an operation of A2A, as every binding reads them.
pub fn a2a_params(dialect: a2a::Dialect, name: a2a::Name, params: &str) -> Result<a2a::Operation, lf::A2AError> {
    dialect.read(name, Some(params), a2a::Around::default())
}

/// A request that is read right from its connection: its path, its headers, and where its body begins and ends.
pub fn plain_request(bytes: &[u8]) -> Option<(String, http::HeaderMap, std::ops::Range<usize>)> {
    let mut headers = http::HeaderMap::new();
    let head = crate::direct::look(bytes, &mut headers, TransportLimits::default().body_bytes_max)?;
    let path = String::from_utf8_lossy(&bytes[head.path.clone()]).into_owned();
    Some((path, headers, head.body()))
}

/// A server that listens nowhere.
#[doc(hidden)]
pub struct Door {
    state: Arc<State>,
    router: Router,
}

impl Door {
    pub async fn open(runtime: Runtime, auth: AuthOptions) -> Result<Self, AuthSetupError> {
        let dev = auth.dev;
        let auth = Authenticator::new(runtime.clone(), auth).await?;
        // Nobody is too fast here: how often a fuzzer asks is not what it is about.
        let unhurried =
            TransportLimits { requests_per_second: u32::MAX, requests_burst: u32::MAX, ..TransportLimits::default() };
        let metrics = Arc::new(Metrics::new(Vec::new()));
        let mut state = State::new(runtime, auth, dev, unhurried, Duration::from_secs(15), metrics);
        state.a2a = Setup::new(A2aOptions { push_notifications: true, ..A2aOptions::default() });
        let state = Arc::new(state);
        Ok(Self { router: router(state.clone()), state })
    }

    /// The body of `POST /rpc`, and what it is answered with.
    pub async fn rpc(&self, caller: &Caller, body: &[u8]) -> Option<Vec<u8>> {
        rpc::body(&self.state, Transport::Rpc, caller, body).await
    }

    /// One command by name, as every transport carries it out.
    pub async fn call(&self, caller: &Caller, method: &str, params: &str) -> Result<Encoded, CallError> {
        self.state.call(caller, method, params).await
    }

    /// A request as the accept loop hands it on.
    pub async fn http(&self, peer: IpAddr, mut request: http::Request<Body>) -> Response {
        request.extensions_mut().insert(Peer(peer));
        self.router.clone().oneshot(request).await.unwrap_or_else(|never| match never {})
    }
}
