//! The store held to its contract, on a real disk, in memory, and on a disk that fails in every way it can.

#![allow(clippy::disallowed_methods, reason = "tests damage files on purpose")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod blobs;
mod conformance;
mod corruption;
mod crash;
mod fixtures;
mod full;
mod offline;
mod property;
mod support;
mod together;
