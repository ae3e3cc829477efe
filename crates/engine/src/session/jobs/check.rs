//! What refs of a job may be.

use factum_model::Refusal;

use crate::context::{Limits, check};

/// Refs are kept with a job; together they are held to the bound of metadata.
pub(super) fn check_refs<'a>(refs: impl Iterator<Item = &'a String>, limits: &Limits) -> Result<(), Refusal> {
    refs.map(String::len).try_for_each(|bytes| check("ref_bytes", bytes, limits.metadata_bytes_max))
}
