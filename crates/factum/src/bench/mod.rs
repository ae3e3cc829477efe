//! What `factum bench` measures: one file for each benchmark, and the tools they share.
//!
//! A figure alone says more about the machine than about Factum, so each stands beside a reference that is measured in
//! the same run: the disk without a store, a server without a runtime, a session without a history. Reference and ours
//! take short turns, and the middle turn counts, so that a noisy machine is noisy for both.
//!
//! ```text
//!   commits   floor                the bytes of a commit, written and synced, nothing else
//!   http      echo                 the same stack, answering with what it was sent
//!   fanout    echo (broadcast)     the same stack, sending on what it was sent
//!   resume    echo (frames)        the same stack, sending that many events from memory
//!   reconnect echo (frames)        the same for many clients at once
//!   sessions  the smallest session
//!   restart   an empty store
//!   memory    a session as JSON; a subscriber of echo
//!   publish   echo                 the same stack; and Redis, PostgreSQL and NATS with durable settings
//!   channels  the shortest channel, the fewest channels
//!   tasks     a graph of a hundredth the size
//!   workers   a single worker, and nobody
//!   a2a       servers of the official SDKs, with their tasks in memory
//! ```
//!
//! Deliberately absent: pass and fail. A benchmark is read by a person; what must hold is in the tests, and no test here
//! or there depends on how fast a machine is.

pub(crate) mod a2a;
pub(crate) mod channels;
pub(crate) mod commits;
pub(crate) mod echo;
pub(crate) mod fanout;
pub(crate) mod http;
pub(crate) mod memory;
pub(crate) mod messages;
pub(crate) mod reconnect;
pub(crate) mod report;
pub(crate) mod restart;
pub(crate) mod resume;
pub(crate) mod sessions;
pub(crate) mod tasks;
pub(crate) mod workers;

mod child;
mod chunked;
mod floor;
mod history;
mod load;
mod measure;
mod peers;
mod place;
mod preload;
mod publish;
mod rounds;
mod sse;
mod subscribers;
mod wire;

pub(crate) use place::Place;
pub(crate) use report::Report;

/// Asks the system for as many open files as it gives: a thousand subscribers are a thousand sockets on either side.
pub(crate) fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // What is refused shows as a connection that cannot be made.
    let _ = setrlimit(Resource::Nofile, limit);
}
