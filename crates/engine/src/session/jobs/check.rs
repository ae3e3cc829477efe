//! What a caller may name: who works on a job, and refs.

use factum_model::Refusal;
use factum_model::task::Execution;

use crate::context::{Limits, check};

/// Characters of a queue's name. It is a part of index keys.
const QUEUE_CHARS_MAX: usize = 64;
/// Characters of all required capabilities together, with the commas between them. They are a part of index keys.
const CAPABILITIES_CHARS_MAX: usize = 200;

pub(super) fn check_execution(execution: &Execution) -> Result<(), Refusal> {
    if execution.queue.is_some() && execution.agent.is_some() {
        return Err(Refusal::invalid("a job is done by workers of a queue or by an agent, not by both"));
    }
    if execution.queue.is_none() && !execution.required_capabilities.is_empty() {
        return Err(Refusal::invalid("required_capabilities are of workers; name their queue"));
    }
    let names = execution.queue.iter().chain(&execution.required_capabilities);
    if names.into_iter().any(|name| !is_name(name)) {
        return Err(Refusal::invalid(
            "a queue or capability is named by letters, digits and _ - . : / in at most 64 characters",
        ));
    }
    check("capabilities_chars", execution.required_capabilities.join(",").len(), CAPABILITIES_CHARS_MAX)
}

fn is_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':' | b'/');
    !name.is_empty() && name.len() <= QUEUE_CHARS_MAX && name.bytes().all(allowed)
}

/// Refs are kept with a job; together they are held to the bound of metadata.
pub(super) fn check_refs<'a>(refs: impl Iterator<Item = &'a String>, limits: &Limits) -> Result<(), Refusal> {
    refs.map(String::len).try_for_each(|bytes| check("ref_bytes", bytes, limits.metadata_bytes_max))
}
