//! The errors of A2A and of the messaging extension: their numbers and names. HTTP's are `api`'s.

use factum_model::{ErrorCode, Refusal};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The error object of a JSON-RPC answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Error {
    pub code: i32,
    pub message: String,
    pub data: Value,
}

const UNSUPPORTED_OPERATION: i32 = -32004;
const VERSION_NOT_SUPPORTED: i32 = -32009;

impl Error {
    /// A refusal of a command of the messaging extension, with the seed's name for it (seed 002 §9).
    pub fn messaging(refusal: &Refusal) -> Self {
        let (code, name) = match refusal.code {
            ErrorCode::NotFound => (-32040, "ChannelNotFoundError"),
            ErrorCode::PermissionDenied => (-32041, "PermissionDeniedError"),
            ErrorCode::Conflict | ErrorCode::PreconditionFailed => (-32042, "ConflictError"),
            ErrorCode::LimitExceeded => (-32043, "LimitExceededError"),
            ErrorCode::RateLimited => (-32044, "RateLimitError"),
            ErrorCode::InvalidParams => (-32602, "InvalidParamsError"),
            ErrorCode::Unauthenticated => (-32000, "UnauthenticatedError"),
            ErrorCode::Unavailable => (-32000, "UnavailableError"),
            ErrorCode::Internal => (-32603, "InternalError"),
        };
        let mut data = Map::new();
        data.insert("error".to_owned(), name.into());
        data.insert("code".to_owned(), refusal.code.as_str().into());
        data.insert("retryable".to_owned(), refusal.retryable.into());
        if let Some(wait) = refusal.details.get("retry_after_ms") {
            data.insert("retryAfterMs".to_owned(), wait.clone());
        }
        data.insert("details".to_owned(), refusal.details.clone().into());
        Self { code, message: refusal.message.clone(), data: data.into() }
    }

    /// A method of A2A itself that this version does not carry out.
    pub fn unsupported(method: &str) -> Self {
        let message = format!("{method} is not carried out by this version; channels/* and /v1/submit_turn are");
        Self { code: UNSUPPORTED_OPERATION, message, data: info("UNSUPPORTED_OPERATION") }
    }

    pub fn version_not_supported(said: &str) -> Self {
        let message = format!("A2A version {said:?} is not supported; 1.0 and 0.3 are");
        Self { code: VERSION_NOT_SUPPORTED, message, data: info("VERSION_NOT_SUPPORTED") }
    }
}

/// `google.rpc.ErrorInfo` as 1.0 puts it into `data`.
fn info(reason: &str) -> Value {
    json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org" }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_the_numbers_and_names_of_the_extension() {
        let table = [
            (ErrorCode::NotFound, -32040, "ChannelNotFoundError"),
            (ErrorCode::PermissionDenied, -32041, "PermissionDeniedError"),
            (ErrorCode::Conflict, -32042, "ConflictError"),
            (ErrorCode::LimitExceeded, -32043, "LimitExceededError"),
            (ErrorCode::RateLimited, -32044, "RateLimitError"),
            (ErrorCode::InvalidParams, -32602, "InvalidParamsError"),
        ];
        for (code, number, name) in table {
            let error = Error::messaging(&Refusal::new(code, "why").with("retry_after_ms", 7));
            assert_eq!((error.code, error.message.as_str()), (number, "why"));
            assert_eq!((&error.data["error"], &error.data["retryAfterMs"]), (&json!(name), &json!(7)));
        }
    }
}
