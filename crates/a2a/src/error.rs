//! Errors on their way to a JSON-RPC answer: those of A2A, with what 1.0 puts beside them, and those of the messaging
//! extension. What kind an error is and how it is made is in `fault`; HTTP's and gRPC's numbers are `api`'s.

use a2a::{A2AError, ERROR_INFO_TYPE};
use factum_model::{ErrorCode, Refusal};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::fault::{DOMAIN, Kind};

/// The error object of a JSON-RPC answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Error {
    pub code: i32,
    pub message: String,
    pub data: Value,
}

impl From<&A2AError> for Error {
    fn from(error: &A2AError) -> Self {
        Self { code: error.code, message: error.message.clone(), data: details(error).into() }
    }
}

/// What stands beside an error, whatever the binding: `google.rpc.ErrorInfo` first, in every one, and then what else there
/// is to say, such as the fields that are wrong.
pub fn details(error: &A2AError) -> Vec<Value> {
    let said = error.details.as_deref().unwrap_or_default();
    let (infos, others): (Vec<_>, Vec<_>) = said.iter().partition(|detail| detail.type_url == ERROR_INFO_TYPE);
    let mut info = Map::new();
    info.insert("@type".to_owned(), ERROR_INFO_TYPE.into());
    info.insert("reason".to_owned(), Kind::of(error).reason().into());
    info.insert("domain".to_owned(), DOMAIN.into());
    if let Some(metadata) = infos.iter().find_map(|info| info.value.get("metadata")) {
        info.insert("metadata".to_owned(), metadata.clone());
    }
    let others = others.into_iter().map(|detail| serde_json::to_value(detail).unwrap_or_default());
    std::iter::once(Value::Object(info)).chain(others).collect()
}

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
}

#[cfg(test)]
mod tests {
    use a2a::TypedDetail;
    use serde_json::json;

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

    #[test]
    fn every_error_carries_exactly_one_error_info() {
        let info = |reason: &str| json!({ "@type": ERROR_INFO_TYPE, "reason": reason, "domain": "a2a-protocol.org" });
        let plain = Error::from(&A2AError::task_not_found("t"));
        assert_eq!((plain.code, plain.data), (-32001, json!([info("TASK_NOT_FOUND")])));

        let said =
            TypedDetail::error_info("SOMETHING", "elsewhere", Some([("taskId".to_owned(), "t".to_owned())].into()));
        let other = TypedDetail::from_struct([("more".to_owned(), json!(1))].into());
        let told = Error::from(&A2AError::unsupported_operation("no").with_details(vec![other, said]));
        let mut expected = info("UNSUPPORTED_OPERATION");
        expected["metadata"] = json!({ "taskId": "t" });
        assert_eq!(told.data, json!([expected, { "@type": a2a::STRUCT_TYPE, "more": 1 }]));
    }
}
