//! What a status of gRPC is as a failure: by its `ErrorInfo` where it has one, as with the JSON bindings, and by its code
//! where it has none.

use a2a::{A2AError, error_code, reason_to_error_code};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::super::failure::{Failure, cut};
use super::super::operation::Operation;
use super::carrier::Said;
use crate::fault::REFUSED;

pub(super) fn failure(status: &Status, operation: Operation, said: &Said) -> Failure {
    if let Some(ours) = carried(status) {
        return ours;
    }
    // What tonic makes up itself it says of answers that it cannot read, or that are too large.
    if !said.by_peer() {
        return match status.code() {
            Code::OutOfRange => Failure::TooLarge { problem: cut(status.message()) },
            _ => Failure::malformed(status.message()),
        };
    }
    let reason = status.get_details_error_info().map(|info| info.reason);
    let reason = reason.as_deref();
    if let Some(failure) = reason.and_then(|reason| Failure::by_reason(reason, &cut(status.message()))) {
        return failure;
    }
    match reason.and_then(reason_to_error_code) {
        Some(code) => Failure::said(operation, &A2AError::new(code, status.message()), reason),
        None => by_code(status, operation),
    }
}

/// What went wrong on the way, as the carrier said it.
fn carried(status: &Status) -> Option<Failure> {
    let mut source = std::error::Error::source(status);
    while let Some(cause) = source {
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return Some(failure.clone());
        }
        source = cause.source();
    }
    None
}

fn by_code(status: &Status, operation: Operation) -> Failure {
    let problem = cut(&format!("{:?}: {}", status.code(), status.message()));
    let refused = |code: i32| Failure::Refused { code, message: problem.clone() };
    match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => Failure::Auth { problem },
        Code::NotFound if operation.names_task() => Failure::Missing { problem },
        Code::ResourceExhausted => Failure::Network { problem, may_have_arrived: false },
        // Whoever gives one of these broke while it was at it, or somebody on the way did.
        Code::Unavailable
        | Code::DeadlineExceeded
        | Code::Cancelled
        | Code::Unknown
        | Code::Internal
        | Code::DataLoss
        | Code::Ok => Failure::Network { problem, may_have_arrived: true },
        Code::InvalidArgument => refused(error_code::INVALID_PARAMS),
        Code::Unimplemented => refused(error_code::METHOD_NOT_FOUND),
        Code::FailedPrecondition => refused(error_code::UNSUPPORTED_OPERATION),
        Code::NotFound | Code::AlreadyExists | Code::Aborted | Code::OutOfRange => refused(REFUSED),
    }
}
