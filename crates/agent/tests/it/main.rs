//! Whole turns against the real engine, in memory, on a paused clock.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests, where a surprise has to end the test")]

mod at_once;
mod conformance;
mod crash;
mod demo;
mod random;
mod rules;
mod world;
