//! A2A at the edge: what its words, numbers and documents are, and what of ours they stand for.
//!
//! This crate owns the protocol's own vocabulary: which version a request speaks, which operation it means, how each version
//! writes params and answers, which number an error has, what the agent card says, what a client sees of a task of ours, and
//! the messaging extension of seed 002. As a server it deliberately knows nothing of HTTP, credentials or the runtime; `api`
//! carries requests here and answers away. As a `client` it asks other agents, through the guarded client of
//! `factum-outbound`.

mod card;
mod check;
pub mod client;
mod dialect;
mod error;
mod extension;
mod fault;
mod method;
mod operation;
mod params;
pub mod parts;
pub mod server;
mod version;
pub mod view;

pub use card::{BadKey, Card, CardKey, Form, Skill, Unverified, verify_card};
pub use check::{PAGE_SIZE_MAX, SENT_PUSH_CONFIG};
pub use dialect::{Dialect, StreamWriter, get_task, list_push_configs, list_tasks, push_params_0_3};
pub use error::{Error, details};
pub use extension::{Extensions, MESSAGING_FEATURES, MESSAGING_URI, MESSAGING_VERSION};
pub use fault::{DOMAIN, Kind, REFUSED, extension_required, invalid, invalid_field, not_here, refused};
pub use method::{METHODS_0_3, METHODS_1_0, METHODS_APRIL_2025, Method};
pub use operation::{Around, Name, Operation, Outcome};
pub use version::Version;
