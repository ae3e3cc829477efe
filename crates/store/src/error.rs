//! What can go wrong in a store, by what the caller does next.

use std::path::PathBuf;
use std::sync::Arc;

use crate::contract::{Position, Sequence};

/// Why a commit was not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Somebody else wrote first. Load the stream again and decide again.
    #[error("stream {stream} is at sequence {actual}, not at {expected}")]
    Conflict { stream: Arc<str>, expected: Sequence, actual: Sequence },
    /// There is no room. Free some and try again; nothing was written and nothing is broken.
    #[error("no room for the next log segment: {reason}; free disk space and try again")]
    Full { reason: Arc<str> },
    /// More is waiting to be written than the store may hold in memory. Wait and try again; nothing was written.
    #[error("{waiting} commits are waiting to be written; try again shortly")]
    Busy { waiting: usize },
    /// A limit of the contract was passed.
    #[error("commit refused: {what} is {actual}, the limit is {limit}")]
    TooLarge { what: &'static str, actual: usize, limit: usize },
    /// Something the contract asks for is missing: a mistake of the caller.
    #[error("commit refused: {what} is empty")]
    Empty { what: &'static str },
    /// A write or sync failed. Nothing is accepted until the store is opened again.
    #[error("the store stopped accepting writes: {reason}; look at the disk, then restart")]
    Poisoned { reason: Arc<str> },
    #[error("the store is closed")]
    Closed,
}

/// Why a read gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The bytes on disk are not the ones that were written.
    #[error("the log is damaged at position {position}: {reason}")]
    Damaged { position: Position, reason: Arc<str> },
    #[error("reading the store failed: {reason}")]
    Io { reason: Arc<str> },
    #[error("the store is closed")]
    Closed,
}

/// Why a store cannot be opened, verified or repaired. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "{} is in use by another process; stop the Factum that runs on it, or give this one another directory",
        dir.display()
    )]
    Locked { dir: PathBuf },
    #[error("{reason}")]
    Format { reason: String },
    /// Damage that no crash explains. Never dropped silently.
    #[error(
        "the log is damaged in {file} at offset {offset} (position {position}): {reason}; nothing was changed. \
         Run `factum verify` to see all of it{advice}"
    )]
    Damaged { file: String, offset: u64, position: Position, reason: String, advice: &'static str },
    #[error("{doing} failed: {source}")]
    Io { doing: String, source: std::io::Error },
    #[error("the derived index cannot be written: {reason}; it is made again from the log at the next start")]
    Index { reason: String },
}

impl OpenError {
    /// Added to the advice where the damage is at the very end of the log.
    pub(crate) const TAIL_ADVICE: &'static str =
        ", and `factum repair --truncate-tail` to keep what is intact and set the rest aside";
    pub(crate) const NO_ADVICE: &'static str = ", then restore the file from a backup";

    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}
