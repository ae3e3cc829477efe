//! What the fields of a task have to look like, wherever they come from.

use factum_model::Refusal;
use factum_model::task::RetryPolicy;
use serde_json::Value;

use crate::context::{Limits, check};

pub(super) fn check_policy(policy: Option<&RetryPolicy>) -> Result<(), Refusal> {
    let Some(policy) = policy else { return Ok(()) };
    if policy.max_attempts == 0 {
        return Err(Refusal::invalid("retry_policy.max_attempts counts the first attempt too, so it is at least 1"));
    }
    if policy.timeout_ms == Some(0) || policy.inactivity_timeout_ms == Some(0) {
        return Err(Refusal::invalid("a timeout is at least 1 ms; leave it out where there is none"));
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
