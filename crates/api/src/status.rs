//! Which number each transport puts in front of a refusal. The one place that knows.

use factum_model::ErrorCode;
use tonic::Code;

/// JSON-RPC's own number for params that do not fit.
pub const RPC_INVALID_PARAMS: i32 = -32602;
/// JSON-RPC's number for every other refusal; `data.code` says which.
pub const RPC_REFUSED: i32 = -32000;

/// The status of an HTTP response.
pub fn http_status(code: ErrorCode) -> u16 {
    match code {
        ErrorCode::InvalidParams => 400,
        ErrorCode::Unauthenticated => 401,
        ErrorCode::PermissionDenied => 403,
        ErrorCode::NotFound => 404,
        ErrorCode::Conflict => 409,
        ErrorCode::PreconditionFailed => 412,
        ErrorCode::LimitExceeded => 413,
        ErrorCode::RateLimited => 429,
        ErrorCode::Internal => 500,
        ErrorCode::Unavailable => 503,
    }
}

/// The status of a gRPC call.
pub fn grpc_code(code: ErrorCode) -> Code {
    match code {
        ErrorCode::InvalidParams => Code::InvalidArgument,
        ErrorCode::Unauthenticated => Code::Unauthenticated,
        ErrorCode::PermissionDenied => Code::PermissionDenied,
        ErrorCode::NotFound => Code::NotFound,
        ErrorCode::Conflict => Code::Aborted,
        ErrorCode::PreconditionFailed => Code::FailedPrecondition,
        ErrorCode::LimitExceeded | ErrorCode::RateLimited => Code::ResourceExhausted,
        ErrorCode::Internal => Code::Internal,
        ErrorCode::Unavailable => Code::Unavailable,
    }
}

/// The code of a JSON-RPC error. Faults of the protocol itself (-32700, -32600, -32601) are no refusals.
pub fn rpc_code(code: ErrorCode) -> i32 {
    if code == ErrorCode::InvalidParams { RPC_INVALID_PARAMS } else { RPC_REFUSED }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_succeed_later_has_a_number_that_says_so() {
        for code in ErrorCode::ALL {
            assert_eq!(matches!(http_status(code), 429 | 503), code.retryable(), "{code:?}");
        }
    }
}
