//! The real binary, driven over real sockets and pipes: what is promised on every transport, for every caller, against every
//! kind of nonsense, and on a disk that fails.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "tests touch the world, and one that is skipped says so"
)]

mod access;
mod delegation;
mod disk;
mod door;
mod events;
mod hostile;
mod isolation;
mod messaging;
mod parity;
mod peers;
mod plain_http;
mod push;
mod streams;
mod suite;
mod support;
mod unheard;
mod walk;
mod workers;
