//! How the store's troubles look to a caller. Log lines keep the detail, callers get what they can act on.

use factum_model::{ErrorCode, Refusal};
use factum_store::{AppendError, ReadError};

/// A commit that was not written.
pub(crate) fn append_refusal(error: &AppendError) -> Refusal {
    match error {
        AppendError::Conflict { .. } => {
            Refusal::unavailable("the session changed underneath; nothing was written, try again")
                .with("cause", "conflict")
        }
        AppendError::Full { .. } => {
            Refusal::unavailable("the server has no disk space left; nothing was written").with("cause", "disk_full")
        }
        AppendError::TooLarge { what, actual, limit } => Refusal::limit(what, *actual as u64, *limit as u64),
        AppendError::Poisoned { .. } => {
            let mut refusal = Refusal::unavailable(
                "the server stopped accepting writes after a disk error; whether this one was kept is not known",
            )
            .with("cause", "store_poisoned");
            // Only a restart helps, and the outcome of this command is not known.
            refusal.retryable = false;
            refusal
        }
        AppendError::Closed => Refusal::unavailable("the server is shutting down").with("cause", "closing"),
        #[allow(unreachable_patterns, reason = "variants added by the store are refusals to come back from")]
        _ => Refusal::unavailable("the server is busy; nothing was written, try again").with("cause", "busy"),
    }
}

/// A read that gave nothing.
pub(crate) fn read_refusal(error: &ReadError) -> Refusal {
    tracing::error!(%error, "reading the store failed");
    match error {
        ReadError::Closed => Refusal::unavailable("the server is shutting down").with("cause", "closing"),
        ReadError::Damaged { .. } => {
            Refusal::new(ErrorCode::Internal, "stored data is damaged; an operator has to run `factum verify`")
        }
        ReadError::Io { .. } => Refusal::new(ErrorCode::Internal, "reading stored data failed"),
    }
}
