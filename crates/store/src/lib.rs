//! The log: the trait every store keeps, the embedded engine, an in-memory one, and the suite that holds them to it.
//!
//! This crate owns durability, order and the derived index. It deliberately knows nothing of events, sessions or
//! agents: records, keys and values are bytes.
//!
//! Read in this order: `contract` says what is promised, `frame` and `segment` how a commit lies on disk, `writer` how it
//! gets there, `publish` who hears of it, `overlay`, `entries`, `index` and `checkpoint` how it is found again, `recovery` and `tail` what a start does after
//! a crash. Deliberately absent: compaction (facts never change), a cache of records (the newest bytes of the log are in
//! memory, `direct`, and the page cache has older ones), and any way to skip the sync.

mod contract;
mod error;
mod limits;
mod options;

mod direct;
mod disk;
mod frame;
mod log;
mod segment;
mod walk;

mod publish;
mod queue;
mod shared;
mod spare;
mod threads;
mod writer;
mod zeros;

mod checkpoint;
mod entries;
mod index;
mod overlay;
mod reads;
mod scan;

mod layout;
mod lock;
mod recovery;
mod replay;
mod tail;

mod embedded;
mod memory;

mod blobs;
mod repair;
mod verify;

#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(any(test, feature = "sim"))]
pub mod sim;

pub use blobs::{BlobError, Blobs, Digest, NotADigest};
pub use contract::*;
pub use disk::{Disk, DiskFile, RealDisk};
pub use embedded::EmbeddedStore;
pub use error::{AppendError, OpenError, ReadError};
pub use memory::MemoryStore;
pub use options::{Background, Options};
pub use recovery::{OpenReport, TornTail};
pub use repair::{DroppedCommit, RepairMode, RepairReport, repair_truncate_tail, repair_truncate_tail_on};
pub use shared::Stats;
pub use verify::{Finding, FindingKind, VerifyReport, verify, verify_on};
