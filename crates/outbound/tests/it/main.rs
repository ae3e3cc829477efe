//! The client against servers on loopback: what it refuses to follow, to wait for and to read.

#![allow(clippy::unwrap_used, reason = "helpers of tests, where a surprise has to end the test")]

mod bounds;
mod calls;
mod guard;
mod proxy;
mod world;
