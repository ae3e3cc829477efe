//! A2A at the edge: what its words, numbers and documents are, and what of ours they stand for.
//!
//! This crate owns the protocol's own vocabulary: which version a request speaks, which method it means, which number an
//! error has, what the agent card says, and the messaging extension of seed 002. As a server it
//! deliberately knows nothing of HTTP, credentials or the runtime; `api` carries requests here and answers away. As a
//! `client` it asks other agents, through the guarded client of `factum-outbound`.

mod card;
pub mod client;
mod error;
mod extension;
mod method;
pub mod parts;
pub mod server;
mod version;
pub mod view;

pub use card::{Card, Form, Skill};
pub use error::Error;
pub use extension::{Extensions, MESSAGING_FEATURES, MESSAGING_URI, MESSAGING_VERSION};
pub use method::{CORE_METHODS, Method};
pub use version::Version;
