//! Tasks that peers give to us: how a peer's message becomes a command, and how the peer finds its tasks again.
//!
//! What a message means for a task is decided in `engine`; which protocol it came in, and what its peer sees of the task, is
//! not known here.

mod ahead;
mod find;
mod push;
mod receive;

pub use find::{InboundFilter, InboundPage};
pub use push::PushTarget;
pub use receive::{Begun, PeerMessage, PeerMessageAccepted, Received};
