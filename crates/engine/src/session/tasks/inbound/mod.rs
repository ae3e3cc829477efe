//! Tasks that a peer gave to us (seed 000, "A2A alignment"): the peer's ids stand beside ours, linked both ways.
//!
//! The peer knows the task under an id of its own protocol and the conversation under a context id; here it is a task of a
//! session like any other, done by an agent. `begin` makes both in one commit, `continue_inbound` takes what the peer says
//! later, `follow_up` lets the agent hear what came while it worked, `links` is what is remembered while the task is open,
//! `rows` how it is found again, `shown` how it looks
//! to its peer, `tell` what its channel hears of it. Tasks that a peer does for us are not here.

mod begin;
mod bridge;
mod continue_inbound;
mod follow_up;
mod links;
mod rows;
mod shown;
mod tell;

#[cfg(test)]
mod tests;

pub use begin::{Incoming, Received, begin_inbound};
pub(in super::super) use bridge::decided_here;
pub(super) use bridge::forward_permissions;
pub use continue_inbound::continue_inbound;
pub(super) use follow_up::follow_up;
pub(in super::super) use links::apply;
pub use links::{Inbound, Link};
pub(in super::super) use rows::RowDiff;
pub use rows::{InboundContext, InboundRow, keys};
pub(super) use tell::tell_peer;
pub(crate) use tell::{native_status, recovery};

/// The name under which a fact refers to the peer's message behind it: what of the message is not input.
pub const PEER_MESSAGE: &str = "peer_message";
