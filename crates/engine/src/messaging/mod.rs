//! The messaging aggregate (seed 002): a channel, who is in it, and how many messages it has.
//!
//! `state` is what is remembered, `apply` the only code that changes it, `access` says who may do what, and each command
//! file decides without changing anything. Messages are not here: they are in the log, so the state stays as small as its
//! members. Two numbers never to be confused: a message's sequence counts messages, the stream's counts all facts; `index`
//! keeps what leads from one to the other.

mod access;
mod add_member;
mod apply;
mod content;
mod create_channel;
mod delete_channel;
mod digest;
mod direct;
mod forms;
mod index;
mod mark_read;
mod meaning;
mod names;
mod open_direct;
mod own_messages;
mod publish_message;
mod remove_member;
mod state;
mod update_channel;
mod view;

#[cfg(test)]
mod tests;

pub use access::{Operation, allow};
pub use add_member::add_member;
pub use apply::apply;
pub use create_channel::create_channel;
pub use delete_channel::delete_channel;
pub use direct::{DirectId, Target, direct_channel_id, target};
pub use index::{MemberRow, MessageKeyRow, apply_commit, keys};
pub use mark_read::mark_read;
pub use meaning::{meant_to_create, meant_to_mark_read, meant_to_update};
pub use names::{partition_name, stream_name};
pub use open_direct::open_direct;
pub use publish_message::{Threads, publish_message, repeated};
pub use remove_member::remove_member;
pub use state::{ChannelState, Member, Shell};
pub use update_channel::update_channel;
pub use view::{audit_view, channel_view, control_view, message_view, private_to};
