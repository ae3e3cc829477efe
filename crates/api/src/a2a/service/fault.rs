//! What the runtime refuses, in the words of A2A.

use a2a::A2AError;
use factum_model::{ErrorCode, Refusal};

/// A refusal about a task that a request names.
pub(super) fn refused(refusal: &Refusal, id: &str) -> A2AError {
    match refusal.code {
        ErrorCode::NotFound => A2AError::task_not_found(id),
        ErrorCode::PreconditionFailed => A2AError::unsupported_operation(refusal.message.clone()),
        _ => factum_a2a::refused(refusal),
    }
}

/// Whether a message was refused because its task is over.
pub(super) fn is_over(refusal: &Refusal) -> bool {
    refusal.details.get("cause").and_then(|cause| cause.as_str()) == Some("task_over")
}

/// A task that could not be cancelled.
pub(super) fn not_cancelable(refusal: &Refusal, id: &str) -> A2AError {
    match refusal.code {
        ErrorCode::PreconditionFailed => A2AError::task_not_cancelable(id),
        _ => refused(refusal, id),
    }
}
