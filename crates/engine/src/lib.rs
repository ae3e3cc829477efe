//! The pure core: what a command means, what an event changes, what a reader sees.
//!
//! ```text
//!   decide(state, command, context) -> events       refuses or decides; changes nothing
//!   apply(state, event)                             total: never fails, never asks the clock
//!   effects(event), index(before, event, after)     what follows from a fact, outside and in the index
//! ```
//!
//! No I/O, no async, no clock, no randomness: time and ids arrive in the [`Context`]. One aggregate is one folder, one
//! command one file. What is deliberately absent: waiting, storing, sending; that is the shell's (`runtime`).

mod context;
mod digest;
mod few;
mod key;
mod size;

pub mod access;
pub mod messaging;
pub mod peers;
pub mod session;

pub use context::{Context, Decision, Limits, Through, no_opening};
pub use digest::{canonical_json, digest_of, params_digest, sha256};
pub use key::{IndexChange, Key, KeyReader};
pub use size::json_bytes;
