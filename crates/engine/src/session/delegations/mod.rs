//! Tasks that an agent elsewhere does: what is known of the peer's task, what is to be done next, and what that means here.
//!
//! ```text
//!   start ─► linked (the message's id is chosen and recorded) ─► the shell sends it ─► updated: the peer's ids are known
//!                                                                                         │
//!        ◄── action.required ◄── the peer asks ◄──────────────── updated, updated, … ◄────┤
//!        ──► the answer is sent as a message ──►                                          │
//!   reconciled ◄── artifacts are taken in ◄── completed, not reconciled ◄─────────────────┘
//! ```
//!
//! The local run and the peer's task keep their own ids (seed 000, "A2A alignment"). A connection that breaks is a
//! `channel.disconnected` and changes what is known of the peer (`recovery`), never how the task stands. The run ends when
//! the peer is done *and* what it made is here. `state` is what is remembered, `apply` changes it, `next` says what the
//! shell has to do, `observe` what the shell saw means; how runs end is the business of `tasks`. Tasks that peers gave to
//! us are not here: their links point the other way.

mod apply;
mod begin;
mod next;
mod observe;
mod questions;
mod state;

pub(super) use apply::apply;
pub use begin::peer_named;
pub(super) use begin::{carry_on, link};
pub use next::{Step, next};
pub use observe::{Observed, PeerArtifact, PeerNews, Terms, WORDS_MAX};
pub(super) use observe::{PeerChange, changed, taken_in};
pub(super) use questions::{ANSWER_UNKNOWN, ask, asking_peer, returned, stands, superseded};
pub use state::{Delegation, Delegations, PendingAnswer};
