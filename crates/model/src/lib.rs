//! The vocabulary: ids, events, commands, read models, and the registry that declares each once.
//!
//! No I/O, no async, no clock: everything here is a value. What a command does is decided in `engine`; which status code
//! an error becomes is known only in `api`.

mod wire;

pub mod asked;
pub mod casing;
pub mod commands;
pub mod error;
pub mod event;
pub mod events;
pub mod evidence;
pub mod hook;
pub mod id;
pub mod job;
pub mod json;
pub mod limit;
pub mod messaging;
pub mod peer;
pub mod permission;
pub mod process;
pub mod read;
pub mod registry;
pub mod report;
pub mod routing;
pub mod sandbox;
pub mod schema;
pub mod subagent;
pub mod task;
pub mod time;
pub mod value;

#[cfg(any(test, feature = "samples"))]
mod samples;
#[cfg(test)]
mod tests;

pub use error::{ErrorCode, Refusal};
pub use event::{Encoder, Event, NewEvent, SCHEMA_VERSION, Scope, Trace};
pub use events::Fact;
pub use jiff::Timestamp;
pub use registry::Command;
