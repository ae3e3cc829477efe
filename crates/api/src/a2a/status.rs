//! Which status HTTP and gRPC have for an error of A2A (1.0 §5.4), and how it is counted. The JSON-RPC numbers are A2A's own.

use factum_a2a::Kind;
use factum_model::ErrorCode;
use tonic::Code;

use crate::status;

/// The status of an HTTP response.
pub(super) fn http_status(kind: Kind) -> u16 {
    match kind {
        Kind::TaskNotFound | Kind::MethodNotFound => 404,
        Kind::TaskNotCancelable
        | Kind::PushNotificationNotSupported
        | Kind::UnsupportedOperation
        | Kind::ContentTypeNotSupported
        | Kind::ExtendedAgentCardNotConfigured
        | Kind::ExtensionSupportRequired
        | Kind::VersionNotSupported
        | Kind::Parse
        | Kind::InvalidRequest
        | Kind::InvalidParams => 400,
        Kind::InvalidAgentResponse | Kind::Internal => 500,
        Kind::Refused(code) => status::http_status(code),
    }
}

/// The status of a gRPC call.
pub(super) fn grpc_code(kind: Kind) -> Code {
    match kind {
        Kind::TaskNotFound => Code::NotFound,
        Kind::TaskNotCancelable
        | Kind::PushNotificationNotSupported
        | Kind::UnsupportedOperation
        | Kind::ExtendedAgentCardNotConfigured
        | Kind::ExtensionSupportRequired
        | Kind::VersionNotSupported => Code::FailedPrecondition,
        Kind::ContentTypeNotSupported | Kind::Parse | Kind::InvalidRequest | Kind::InvalidParams => {
            Code::InvalidArgument
        }
        Kind::InvalidAgentResponse | Kind::Internal => Code::Internal,
        Kind::MethodNotFound => Code::Unimplemented,
        Kind::Refused(code) => status::grpc_code(code),
    }
}

/// The name of a gRPC status, which stands in the body of HTTP's errors, too.
pub(super) fn grpc_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// What the metrics call it.
pub(super) fn counted(kind: Kind) -> ErrorCode {
    match kind {
        Kind::TaskNotFound | Kind::MethodNotFound => ErrorCode::NotFound,
        Kind::Parse | Kind::InvalidRequest | Kind::InvalidParams | Kind::ContentTypeNotSupported => {
            ErrorCode::InvalidParams
        }
        Kind::InvalidAgentResponse | Kind::Internal => ErrorCode::Internal,
        Kind::Refused(code) => code,
        _ => ErrorCode::PreconditionFailed,
    }
}
