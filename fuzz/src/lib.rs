//! What the fuzz targets share: a runtime in memory, a mutator that knows JSON, and the judge of JSON-RPC answers.
//!
//! A target is one file in `fuzz_targets/` that says in its first lines what it holds. It asserts more than the absence of
//! panics, and what it compares with is written here or there a second time: a decoder is not checked with itself.

pub mod json;
pub mod random;
pub mod rpc;
pub mod samples;
pub mod time;
pub mod world;
