//! Every way in: JSON-RPC over HTTP, WebSocket and stdio, plain HTTP, server-sent events, gRPC and A2A, all on one port.
//!
//! This crate is the only one that knows status codes, headers and credentials. What a command means is decided behind
//! [`factum_runtime::Runtime`]; here a request becomes a caller, a name and some JSON, and an answer becomes bytes.

mod a2a;
mod alive;
mod asked;
mod authority;
mod body;
mod casing;
mod channels;
mod connection;
mod direct;
mod events;
mod http;
mod keyed;
mod limits;
mod peers;
mod problem;
mod rate;
mod router;
mod rpc;
mod said;
mod server;
mod sse;
mod state;
mod stdio;
mod undecoded;
mod ws;

pub mod auth;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod grpc;
pub mod metrics;
pub mod openapi;
mod outgoing;
pub mod reference;
pub mod status;

pub use a2a::{A2aOptions, ClientContexts};
pub use auth::{AuthOptions, Authenticator, IssuerKeys, IssuerOptions};
pub use factum_a2a::CardKey;
pub use limits::TransportLimits;
pub use server::{Server, ServerOptions, StoreStats, bind};
pub use stdio::stdio;
