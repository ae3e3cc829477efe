//! The store held to its contract, on a real disk, in memory, and on a disk that fails in every way it can.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod blobs;
mod conformance;
mod corruption;
mod crash;
mod full;
mod offline;
mod property;
mod support;
