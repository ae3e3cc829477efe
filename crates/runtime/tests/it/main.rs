//! The shell on a store in memory: what is visible when, what a repeat gets, what happens when the store says no.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, reason = "tests touch the world")]

mod abandoned;
mod access;
mod counting;
mod delegations;
mod durability;
mod idempotency;
mod inbound;
mod jobs;
mod lifecycle;
mod messaging;
mod peers;
mod subagents;
mod tasks;
mod unavailable;
mod workers;
mod world;
