//! The peers aggregate (seed 000): a remote channel, who is on its other end, what that peer can do, which sessions it takes
//! part in and up to where, and what it was asked to decide.
//!
//! A peer enrolls under an id of its own and comes back under the same one. Called `peers` in code, `channel` on the wire;
//! messaging channels (seed 002) are something else. What a worker holds is not here: that is its runs' to know, in their
//! sessions. Nor is whether a connection is open right now: that is no fact until it changes something.

mod ack_events;
mod apply;
mod bridge;
mod close_channel;
mod cursors;
mod derived;
mod enroll_channel;
mod follow_sessions;
mod from_sessions;
mod index;
mod presence;
mod push_ahead;
mod read_model;
mod reconnect_channel;
mod state;
mod token;

#[cfg(test)]
mod tests;

pub use ack_events::{Acknowledged, ack_events, acknowledged, check_ack};
pub use apply::apply;
pub use bridge::{Question, asks_permission, forward_permission, refuse_permission, return_permission};
pub use close_channel::close_channel;
pub use cursors::Heads;
pub use derived::{Derived, channel_of_peer, channel_of_principal, is_reserved};
pub use enroll_channel::{DEFAULT_QUEUE, enroll_channel};
pub use follow_sessions::{follow_sessions, join_sessions};
pub use from_sessions::{FromSessions, asked_of_client, given_to_peer, linked_by_client, reachable};
pub use index::{PeerRow, apply_commit, keys, partition_name, stream_name};
pub use presence::{Sign, appear, vanish};
pub use push_ahead::{PushAhead, set_push_ahead, take_push_ahead};
pub use read_model::{Presence, record, summary};
pub use reconnect_channel::{Return, reconnect_channel};
pub use state::{Bridged, Cursor, Followed, Peer, PeerState};
