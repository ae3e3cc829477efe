//! The other side of A2A: asking an agent elsewhere to do something.
//!
//! [`discover`] reads an agent's card, checks its signature, and chooses an interface that both sides speak; the [`Peer`]
//! that comes out of it sends, streams, reads, lists, cancels and subscribes. Whatever version and binding the peer speaks,
//! what goes in and comes out are the types of 1.0; 0.3 and April 2025 are mapped at the edge (`v0_3`, `v0_3_http`,
//! `april_2025`). Every failure is of a kind by what can be done about it (`failure`).
//!
//! Each binding has its room: `rpc` and `rest`, with what both do in `json`, and `grpc`.
//!
//! Deliberately absent: retries, reconnecting and remembering. Whoever delegates knows what may be sent twice.

mod april_2025;
mod card;
mod credential;
mod discover;
mod failure;
mod forgiving;
mod grpc;
mod json;
mod native;
mod operation;
mod peer;
mod rest;
mod rpc;
mod spoken;
mod updates;
mod v0_3;
mod v0_3_http;

pub use card::{Binding, Interface, PeerCard, Signature};
pub use credential::Credential;
pub use discover::{PeerOptions, Trust, VerifyCard, discover};
pub use failure::Failure;
pub use forgiving::forgiven;
pub use peer::Peer;
pub use spoken::Spoken;
pub use updates::{PeerUpdate, PeerUpdates};

#[cfg(test)]
mod tests;
