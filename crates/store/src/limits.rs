//! The contract's limits on one commit, checked in one place for every store.

use crate::contract::{
    COMMIT_BYTES_MAX, COMMIT_RECORDS_MAX, Commit, IndexChange, KEY_BYTES_MAX, PARTITION_BYTES_MAX,
    STREAM_NAME_BYTES_MAX, VALUE_BYTES_MAX,
};
use crate::error::AppendError;
use crate::frame;

/// Refuses what the contract does not allow, before anything else is looked at.
pub(crate) fn check(commit: &Commit) -> Result<(), AppendError> {
    not_empty("the stream's name", commit.stream.len())?;
    not_empty("the list of records", commit.records.len())?;
    at_most("the stream's name in bytes", commit.stream.len(), STREAM_NAME_BYTES_MAX)?;
    at_most("the partition's name in bytes", commit.partition.len(), PARTITION_BYTES_MAX)?;
    at_most("the number of records", commit.records.len(), COMMIT_RECORDS_MAX)?;
    for change in &commit.index {
        let (key, value_len) = match change {
            IndexChange::Put { key, value } => (key, value.len()),
            IndexChange::Delete { key } => (key, 0),
        };
        not_empty("an index key", key.len())?;
        at_most("an index key in bytes", key.len(), KEY_BYTES_MAX)?;
        at_most("an index value in bytes", value_len, VALUE_BYTES_MAX)?;
    }
    at_most("the commit in bytes", frame::body_len(commit), COMMIT_BYTES_MAX)
}

fn not_empty(what: &'static str, len: usize) -> Result<(), AppendError> {
    if len == 0 { Err(AppendError::Empty { what }) } else { Ok(()) }
}

fn at_most(what: &'static str, actual: usize, limit: usize) -> Result<(), AppendError> {
    if actual > limit { Err(AppendError::TooLarge { what, actual, limit }) } else { Ok(()) }
}
