//! What kinds of errors there are, and how those are made that come from us: refusals, and params that do not fit.
//!
//! An [`a2a::A2AError`] has A2A's own number. Refusals that A2A has no number for (a credential that is missing, a rate that
//! is exceeded) share [`REFUSED`], and `ErrorInfo.reason` tells them apart; [`Kind::of`] reads it back.

use std::collections::HashMap;

use a2a::{A2AError, ERROR_INFO_TYPE, FieldViolation, TypedDetail, error_code};
use factum_model::{ErrorCode, Refusal};
use serde_json::Value;

/// Whose reasons they are.
pub const DOMAIN: &str = a2a::PROTOCOL_DOMAIN;

/// The number of every refusal that A2A has none for.
pub const REFUSED: i32 = -32000;

/// Which error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    TaskNotFound,
    TaskNotCancelable,
    PushNotificationNotSupported,
    UnsupportedOperation,
    ContentTypeNotSupported,
    InvalidAgentResponse,
    ExtendedAgentCardNotConfigured,
    ExtensionSupportRequired,
    VersionNotSupported,
    Parse,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    Internal,
    /// One that is not A2A's but ours.
    Refused(ErrorCode),
}

impl Kind {
    /// The errors of A2A and of JSON-RPC; ours are those of [`ErrorCode::ALL`].
    pub const PROTOCOL: [Kind; 14] = [
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotificationNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedAgentCardNotConfigured,
        Self::ExtensionSupportRequired,
        Self::VersionNotSupported,
        Self::Parse,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::Internal,
    ];

    pub fn of(error: &A2AError) -> Self {
        if error.code == REFUSED {
            let refused = |code: &ErrorCode| Some(Self::Refused(*code).reason()) == said_reason(error);
            return ErrorCode::ALL.into_iter().find(refused).map_or(Self::Internal, Self::Refused);
        }
        Self::PROTOCOL.into_iter().find(|kind| kind.code() == error.code).unwrap_or(Self::Internal)
    }

    /// The number in a JSON-RPC answer.
    pub fn code(self) -> i32 {
        match self {
            Self::TaskNotFound => error_code::TASK_NOT_FOUND,
            Self::TaskNotCancelable => error_code::TASK_NOT_CANCELABLE,
            Self::PushNotificationNotSupported => error_code::PUSH_NOTIFICATION_NOT_SUPPORTED,
            Self::UnsupportedOperation => error_code::UNSUPPORTED_OPERATION,
            Self::ContentTypeNotSupported => error_code::CONTENT_TYPE_NOT_SUPPORTED,
            Self::InvalidAgentResponse => error_code::INVALID_AGENT_RESPONSE,
            Self::ExtendedAgentCardNotConfigured => error_code::EXTENDED_CARD_NOT_CONFIGURED,
            Self::ExtensionSupportRequired => error_code::EXTENSION_SUPPORT_REQUIRED,
            Self::VersionNotSupported => error_code::VERSION_NOT_SUPPORTED,
            Self::Parse => error_code::PARSE_ERROR,
            Self::InvalidRequest => error_code::INVALID_REQUEST,
            Self::MethodNotFound => error_code::METHOD_NOT_FOUND,
            Self::InvalidParams => error_code::INVALID_PARAMS,
            Self::Internal => error_code::INTERNAL_ERROR,
            Self::Refused(_) => REFUSED,
        }
    }

    /// `ErrorInfo.reason`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Refused(code) => match code {
                ErrorCode::NotFound => "NOT_FOUND",
                ErrorCode::PermissionDenied => "PERMISSION_DENIED",
                ErrorCode::Conflict => "CONFLICT",
                ErrorCode::InvalidParams => "INVALID_PARAMS",
                ErrorCode::LimitExceeded => "LIMIT_EXCEEDED",
                ErrorCode::RateLimited => "RATE_LIMITED",
                ErrorCode::Unavailable => "UNAVAILABLE",
                ErrorCode::Unauthenticated => "UNAUTHENTICATED",
                ErrorCode::PreconditionFailed => "PRECONDITION_FAILED",
                ErrorCode::Internal => "INTERNAL_ERROR",
            },
            known => a2a::error_reason(known.code()),
        }
    }

    /// The name that 0.3 has for it: `TaskNotFoundError`.
    pub fn name(self) -> String {
        let word = |word: &str| word[..1].to_owned() + &word[1..].to_ascii_lowercase();
        let words: String = self.reason().split('_').filter(|part| !part.is_empty()).map(word).collect();
        format!("{}Error", words.trim_end_matches("Error"))
    }
}

fn said_reason(error: &A2AError) -> Option<&str> {
    let info = error.details.iter().flatten().find(|detail| detail.type_url == ERROR_INFO_TYPE)?;
    info.value.get("reason")?.as_str()
}

/// A refusal of ours as an error of A2A.
pub fn refused(refusal: &Refusal) -> A2AError {
    let code = match refusal.code {
        ErrorCode::NotFound => error_code::TASK_NOT_FOUND,
        ErrorCode::InvalidParams => error_code::INVALID_PARAMS,
        ErrorCode::Internal => error_code::INTERNAL_ERROR,
        _ => REFUSED,
    };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let metadata: HashMap<String, String> =
        refusal.details.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    let reason = Kind::Refused(refusal.code).reason();
    let info = TypedDetail::error_info(reason, DOMAIN, Some(metadata).filter(|metadata| !metadata.is_empty()));
    A2AError::new(code, refusal.message.clone()).with_details(vec![info])
}

/// Something that is not there and is no task, such as an agent or a path.
pub fn not_here(message: impl Into<String>) -> A2AError {
    let info = TypedDetail::error_info(Kind::Refused(ErrorCode::NotFound).reason(), DOMAIN, None);
    A2AError::new(REFUSED, message).with_details(vec![info])
}

/// Params that do not fit, with each field that is wrong and why.
pub fn invalid(violations: Vec<FieldViolation>) -> A2AError {
    let told =
        violations.iter().map(|one| format!("{}: {}", one.field, one.description)).collect::<Vec<_>>().join("; ");
    A2AError::invalid_params(told).with_details(vec![TypedDetail::bad_request(violations)])
}

/// One field that is wrong.
pub fn invalid_field(field: impl Into<String>, description: impl Into<String>) -> A2AError {
    invalid(vec![FieldViolation { field: field.into(), description: description.into() }])
}

/// The same error with another name for a field that is wrong, or for what it is in.
pub(crate) fn with_field(mut error: A2AError, from: &str, to: &str) -> A2AError {
    if !error.message.contains(from) {
        return error;
    }
    error.message = error.message.replace(from, to);
    let violations = error.details.iter_mut().flatten().filter_map(|detail| detail.value.get_mut("fieldViolations"));
    for violation in violations.filter_map(Value::as_array_mut).flatten() {
        if let Some(Value::String(field)) = violation.get_mut("field") {
            *field = field.replace(from, to);
        }
    }
    error
}

/// What is asked for needs an extension that the request did not activate.
pub fn extension_required(uri: &str) -> A2AError {
    let message = format!("this agent requires the extension {uri}; name it in A2A-Extensions");
    A2AError::new(error_code::EXTENSION_SUPPORT_REQUIRED, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of 1.0 §5.4, as far as it is not HTTP's or gRPC's.
    #[test]
    fn each_kind_has_its_number_reason_and_name() {
        let table = [
            (-32001, "TASK_NOT_FOUND", "TaskNotFoundError"),
            (-32002, "TASK_NOT_CANCELABLE", "TaskNotCancelableError"),
            (-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", "PushNotificationNotSupportedError"),
            (-32004, "UNSUPPORTED_OPERATION", "UnsupportedOperationError"),
            (-32005, "CONTENT_TYPE_NOT_SUPPORTED", "ContentTypeNotSupportedError"),
            (-32006, "INVALID_AGENT_RESPONSE", "InvalidAgentResponseError"),
            (-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "ExtendedAgentCardNotConfiguredError"),
            (-32008, "EXTENSION_SUPPORT_REQUIRED", "ExtensionSupportRequiredError"),
            (-32009, "VERSION_NOT_SUPPORTED", "VersionNotSupportedError"),
            (-32700, "PARSE_ERROR", "ParseError"),
            (-32600, "INVALID_REQUEST", "InvalidRequestError"),
            (-32601, "METHOD_NOT_FOUND", "MethodNotFoundError"),
            (-32602, "INVALID_PARAMS", "InvalidParamsError"),
            (-32603, "INTERNAL_ERROR", "InternalError"),
        ];
        for (kind, (code, reason, name)) in Kind::PROTOCOL.into_iter().zip(table) {
            assert_eq!((kind.code(), kind.reason(), kind.name().as_str()), (code, reason, name));
            assert_eq!(Kind::of(&A2AError::new(code, "why")), kind);
        }
        assert_eq!(Kind::of(&A2AError::new(-1, "nobody knows")), Kind::Internal);
    }

    #[test]
    fn a_refusal_keeps_what_it_is() {
        for code in ErrorCode::ALL {
            let kind = match code {
                ErrorCode::NotFound => Kind::TaskNotFound,
                ErrorCode::InvalidParams => Kind::InvalidParams,
                ErrorCode::Internal => Kind::Internal,
                other => Kind::Refused(other),
            };
            assert_eq!(Kind::of(&refused(&Refusal::new(code, "why"))), kind, "{code:?}");
        }
        let limited = refused(&Refusal::new(ErrorCode::RateLimited, "slow down").with("retry_after_ms", 7));
        assert_eq!(crate::error::details(&limited)[0]["metadata"]["retry_after_ms"], "7");
    }
}
