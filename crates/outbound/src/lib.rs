//! The one way out: every request that this project sends to somebody else goes through [`Client`].
//!
//! Addresses come from strangers: an agent card names one, a webhook is one, an issuer's keys are behind one. Whoever
//! chooses an address chooses what a request made from inside our network reaches, so an address is judged before
//! anything is sent:
//!
//! 1. it is read strictly, and an odd spelling is refused rather than interpreted (`target`);
//! 2. its name is looked up once, and every address it has must be a public one or of a network that was allowed by
//!    configuration (`ranges`, `policy`);
//! 3. the connection is made to the addresses that were judged, with no second lookup that could answer otherwise
//!    (`resolve`);
//! 4. redirects are not followed, the environment's proxies are not used, and time and size are bounded (`client`,
//!    `body`, `sse`, `frames`).
//!
//! Deliberately absent: retries, caching, credentials and every protocol. Callers know what may be repeated.

mod body;
mod client;
mod error;
mod frames;
mod policy;
mod ranges;
mod request;
mod resolve;
mod sse;
mod target;

pub use client::{Client, Options};
pub use error::{Error, Phase};
pub use frames::Frames;
pub use ipnet::IpNet as Network;
pub use policy::{LOOPBACK, Policy};
pub use ranges::{Range, range_of};
pub use request::{Answer, Request, Streaming};
pub use resolve::{Resolve, SystemResolver};
pub use sse::{Event, Events};
pub use target::{Host, Scheme, Spelling, Target};
