//! A2A on the wire: JSON-RPC, HTTP+JSON and gRPC, 1.0 and 0.3 and April 2025, on the one port. What the words mean is in
//! `factum_a2a`; here they meet HTTP and credentials.
//!
//! ```text
//! rpc.rs   POST /a2a             ─┐
//! rest.rs  /a2a/message:send …   ─┼─► ask.rs: may it be asked? ─► factum_a2a::Operation ─► a Server (service/)
//! grpc.rs  lf.a2a.v1.A2AService  ─┘
//! ```
//!
//! `stream.rs` sends what comes of it little by little, `answer.rs` and `status.rs` say what went wrong, `card.rs` tells
//! strangers what there is. Everything asks a [`Host`] for its server, so that all of it runs in front of any.

mod answer;
mod ask;
mod card;
mod grpc;
mod path;
mod rest;
mod rpc;
mod service;
mod setup;
mod status;
mod stream;
mod tenant;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use a2a::A2AError;
use axum::Router;
use factum_a2a::refused;
use factum_a2a::server::Server;
use factum_runtime::Caller;
use tower::util::MapResponse;

pub(crate) use card::{card, card_of_april_2025, extended, jwks};
pub(crate) use rpc::{Answered, endpoint, plain};
pub(crate) use setup::Setup;
pub use setup::{A2aOptions, ClientContexts};

use crate::state::State;
use crate::undecoded::{self, GrpcResponse, Lost, NO_SUCH_METHOD};

/// Makes the server that a request is for.
pub(crate) trait Host: Clone + Send + Sync + 'static {
    type Server: Server + 'static;

    /// A server for one caller and one agent, whose name is that of one there is.
    fn server(&self, state: &Arc<State>, caller: &Caller, agent: &str) -> Self::Server;
}

/// The host whose servers are this runtime.
#[derive(Clone, Copy)]
pub(crate) struct OfRuntime;

impl Host for OfRuntime {
    type Server = service::Service;

    fn server(&self, state: &Arc<State>, caller: &Caller, agent: &str) -> service::Service {
        server(state, caller, agent)
    }
}

/// A2A's operations for one caller and one agent, carried out by the runtime.
fn server(state: &Arc<State>, caller: &Caller, agent: &str) -> service::Service {
    service::Service::new(state, caller, agent)
}

/// Whether there is anything at a path below `/a2a/`, for a request of 1.0.
#[cfg(test)]
pub(crate) fn is_served(rest: &str) -> bool {
    path::parse(rest, Some(factum_a2a::Version::V1_0)).is_some()
}

/// The same endpoint for clients that put a slash behind every address, which is not described as one of its own.
const WITH_A_SLASH: &str = "/a2a/";
/// And for those that know a server's address and look for its agent there.
const AT_THE_ROOT: &str = "/";

/// Everything below `/a2a`, and gRPC's service.
pub(crate) fn routes<H: Host>(host: H, state: &Arc<State>) -> Router<Arc<State>> {
    let max = state.limits.body_bytes_max;
    let status = |lost: &Lost| {
        answer::grpc_status(&match lost {
            Lost::Message(refusal) => refused(refusal),
            Lost::Method => A2AError::new(a2a::error_code::METHOD_NOT_FOUND, NO_SUCH_METHOD),
        })
    };
    let grpc = grpc::service(host.clone(), state);
    let grpc = MapResponse::new(grpc, move |response: GrpcResponse| undecoded::reworded(response, max, status));
    let (root, below) = (host.clone(), host);
    let root = axum::routing::post(move |state, request| rpc::routed(root.clone(), state, request));
    let endpoint = root.clone().fallback(rest::not_posted);
    Router::new()
        .route("/a2a", endpoint.clone())
        .route(WITH_A_SLASH, endpoint)
        .route(AT_THE_ROOT, root.fallback(crate::router::not_here))
        .route("/a2a/{*rest}", axum::routing::any(move |state, request| rest::routed(below.clone(), state, request)))
        .route_service("/lf.a2a.v1.A2AService/{method}", grpc)
}
