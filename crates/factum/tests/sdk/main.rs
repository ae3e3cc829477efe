//! The official A2A clients, as their users would use them, against the real binary on loopback.
//!
//! What each client does is in `tests/sdk`, in its own language; here servers are started, killed and started again. The
//! clients are installed by `cargo xtask sdk` (and by `cargo xtask test`); without them these tests fail and say so.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch the world, and one that cannot go on panics"
)]

mod clients;
mod crash;
mod support;
