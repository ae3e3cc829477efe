//! Crash tests: the server is killed at any line, again and again, and whoever wrote and read meanwhile compares notes.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "tests touch the world, and this one says its seed"
)]

/// By this name they are known to run alone (`.config/nextest.toml`).
#[path = "."]
mod crash {
    mod channels;
    mod kills;
    mod peers;
    mod read;
    mod tasks;
    mod turns;
}
