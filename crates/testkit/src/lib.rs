//! What tests of the whole thing are made of: servers to start and kill, clients of every transport, readers that resume,
//! and the checkers that look for anything lost, doubled or reordered.
//!
//! Everything here drives the real binary over real sockets and pipes, except [`clients::Local`], which is the runtime
//! without any transport and the reference the others are compared with. Nothing here decides what is right: a helper that
//! meets something a transport must never do (an answer to nobody, a problem whose status is not its own) panics.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "test support touches the world, and a test that cannot go on panics"
)]

pub mod channel_history;
pub mod clients;
pub mod coins;
pub mod history;
pub mod normal;
pub mod server;
pub mod sse;
pub mod wait;

pub use channel_history::ChannelHistory;
pub use clients::{Client, Outcome};
pub use history::History;
pub use normal::normalise;
pub use server::{Launch, Output, Server, run, run_for};
pub use sse::{Event, Reader};
pub use wait::{eventually, within};
