//! What the fields of a task have to look like, wherever they come from.

use factum_model::Refusal;
use factum_model::task::{Execution, RetryPolicy};
use serde_json::Value;

use crate::context::{Limits, check};

/// The longest name of a queue or capability.
const NAME_BYTES_MAX: usize = 64;
/// How long they are together: they stand in the key that a run is found by, and keys have a longest length.
const CAPABILITIES_BYTES_MAX: usize = 200;
/// How many capabilities a run may ask for.
const CAPABILITIES_MAX: usize = 16;

pub(super) fn check_execution(execution: &Execution) -> Result<(), Refusal> {
    if execution.queue.is_some() && execution.agent.is_some() {
        return Err(Refusal::invalid("a task is done by the workers of a queue or by an agent, not by both"));
    }
    if execution.queue.is_none() && !execution.required_capabilities.is_empty() {
        return Err(Refusal::invalid("required_capabilities are asked of workers: name a queue too"));
    }
    check("required_capabilities", execution.required_capabilities.len(), CAPABILITIES_MAX)?;
    let bytes: usize = execution.required_capabilities.iter().map(|name| name.len() + 1).sum();
    check("required_capabilities_bytes", bytes, CAPABILITIES_BYTES_MAX)?;
    for name in execution.queue.iter().chain(&execution.required_capabilities) {
        check_name(name)?;
    }
    Ok(())
}

/// Names of queues and capabilities are parts of keys.
pub fn check_name(name: &str) -> Result<(), Refusal> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'/');
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(allowed) {
        return Err(Refusal::invalid("queues and capabilities have 1 to 64 characters out of A-Z a-z 0-9 _ - . : /")
            .with("name", name));
    }
    Ok(())
}

pub(super) fn check_policy(policy: Option<&RetryPolicy>) -> Result<(), Refusal> {
    let Some(policy) = policy else { return Ok(()) };
    if policy.max_attempts == 0 {
        return Err(Refusal::invalid("retry_policy.max_attempts counts the first attempt too, so it is at least 1"));
    }
    if policy.backoff.as_ref().is_some_and(|backoff| backoff.factor_percent < 100 || backoff.jitter_percent > 100) {
        return Err(Refusal::invalid("backoff.factor_percent is at least 100 and backoff.jitter_percent at most 100"));
    }
    Ok(())
}

pub(super) fn check_values<'a>(
    values: impl IntoIterator<Item = Option<&'a Value>>,
    limits: &Limits,
) -> Result<(), Refusal> {
    for value in values.into_iter().flatten() {
        check("metadata_bytes", value.to_string().len(), limits.metadata_bytes_max)?;
    }
    Ok(())
}
