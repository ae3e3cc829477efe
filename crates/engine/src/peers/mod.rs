//! The peers aggregate (seed 000): a remote channel, who is on its other end, and what that peer can do.
//!
//! A peer enrolls under an id of its own and comes back under the same one. Called `peers` in code, `channel` on the wire;
//! messaging channels (seed 002) are something else. Deliberately absent for now: cursors, acknowledgements and the tasks of
//! peers. What a worker holds is not here either: that is its runs' to know, in their sessions.

mod apply;
mod enroll_channel;
mod index;
mod state;

#[cfg(test)]
mod tests;

pub use apply::apply;
pub use enroll_channel::{DEFAULT_QUEUE, enroll_channel};
pub use index::{PeerRow, apply_commit, keys, partition_name, stream_name};
pub use state::{Peer, PeerState};
