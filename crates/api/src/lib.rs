//! Every way in: JSON-RPC over HTTP, WebSocket and stdio, plain HTTP, server-sent events, gRPC, all on one port.
//!
//! This crate is the only one that knows status codes, headers and credentials. What a command means is decided behind
//! [`factum_runtime::Runtime`]; here a request becomes a caller, a name and some JSON, and an answer becomes bytes.

pub mod auth;
pub mod reference;

pub use auth::{AuthOptions, Authenticator, IssuerOptions, IssuerKeys};
