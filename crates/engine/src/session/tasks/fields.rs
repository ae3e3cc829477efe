//! What the fields of a task have to look like, and how large they may be, wherever they come from.
//!
//! A task is one row of the index, and rows have a largest size. The bounds together stay well below it, so that whatever somebody
//! said of a task, there is room for what the runtime has to say of it: that it ended, and how. What callers say is refused where
//! it is too long; what the runtime says is cut.

use factum_model::Refusal;
use factum_model::routing::TaskProfile;
use factum_model::task::{Acceptance, RetryPolicy, TaskRow};
use factum_model::value::Failure;
use serde_json::Value;

use crate::context::{Limits, check};
use crate::session::text::clip;
use crate::size::json_bytes;

pub(super) fn check_policy(policy: Option<&RetryPolicy>, limits: &Limits) -> Result<(), Refusal> {
    let Some(policy) = policy else { return Ok(()) };
    check("task_refs", policy.non_retryable.len(), limits.task_refs_max).map_err(of("retry_policy.non_retryable"))?;
    for category in &policy.non_retryable {
        check_name("retry_policy.non_retryable", Some(category), limits)?;
    }
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

/// A name: short, and compared rather than read.
pub(super) fn check_name(field: &str, name: Option<&str>, limits: &Limits) -> Result<(), Refusal> {
    let chars = name.map_or(0, |name| name.chars().count());
    check("task_name_chars", chars, limits.task_name_chars_max).map_err(of(field))
}

/// A text: somebody reads it.
pub(super) fn check_text(field: &str, text: Option<&str>, limits: &Limits) -> Result<(), Refusal> {
    let chars = text.map_or(0, |text| text.chars().count());
    check("task_text_chars", chars, limits.task_text_chars_max).map_err(of(field))
}

pub(super) fn check_refs(field: &str, refs: &[String], limits: &Limits) -> Result<(), Refusal> {
    check("task_refs", refs.len(), limits.task_refs_max).map_err(of(field))?;
    refs.iter().try_for_each(|one| check_ref(field, one, limits))
}

pub(super) fn check_ref(field: &str, one: &str, limits: &Limits) -> Result<(), Refusal> {
    check("task_ref_bytes", one.len(), limits.task_ref_bytes_max).map_err(of(field))
}

pub(super) fn check_failure(error: &Failure, limits: &Limits) -> Result<(), Refusal> {
    check_name("error.category", Some(&error.category), limits)?;
    check_text("error.message", Some(&error.message), limits)?;
    check_text("error.advice", error.advice.as_deref(), limits)
}

/// The same, cut to what fits.
pub(super) fn clip_failure(error: Failure, limits: &Limits) -> Failure {
    let text = |text: &str| clip(text, limits.task_text_chars_max);
    Failure {
        category: clip(&error.category, limits.task_name_chars_max),
        message: text(&error.message),
        retryable: error.retryable,
        advice: error.advice.as_deref().map(text),
    }
}

pub(super) fn check_acceptance(acceptance: Option<&Acceptance>, limits: &Limits) -> Result<(), Refusal> {
    check("task_acceptance_bytes", acceptance.map_or(0, json_bytes), limits.task_acceptance_bytes_max)
}

pub(super) fn check_profile(profile: Option<&TaskProfile>, limits: &Limits) -> Result<(), Refusal> {
    check("metadata_bytes", profile.map_or(0, json_bytes), limits.metadata_bytes_max).map_err(of("task_profile"))
}

/// Refuses artifacts or evidence that a task has no room for.
pub(super) fn check_artifacts<'a>(
    row: &TaskRow,
    more: impl IntoIterator<Item = &'a str>,
    limits: &Limits,
) -> Result<(), Refusal> {
    let known = row.artifacts.iter().chain(&row.artifact_names).chain(&row.evidence_refs);
    let mut bytes: usize = known.map(String::len).sum();
    for name in more {
        check_ref("artifacts", name, limits)?;
        bytes += name.len();
    }
    check("task_artifact_bytes", bytes, limits.task_artifact_bytes_max)
}

/// Which field a refusal is about.
fn of(field: &str) -> impl FnOnce(Refusal) -> Refusal {
    move |refusal| refusal.with("field", field)
}

pub(super) fn check_values<'a>(
    values: impl IntoIterator<Item = Option<&'a Value>>,
    limits: &Limits,
) -> Result<(), Refusal> {
    for value in values.into_iter().flatten() {
        check("metadata_bytes", json_bytes(value), limits.metadata_bytes_max)?;
    }
    Ok(())
}
