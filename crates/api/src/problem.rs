//! Refusals as `application/problem+json` (RFC 9457), with the same members as every other transport.

use axum::response::{IntoResponse, Response};
use factum_model::{ErrorCode, Refusal};
use factum_runtime::CallError;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::rpc::no_such_method;
use crate::status::http_status;

/// A refusal on its way out over HTTP.
pub(crate) struct Problem(pub(crate) Refusal);

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        match error {
            CallError::UnknownMethod => Self(no_such_method()),
            CallError::Refused(refusal) => Self(refusal),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(http_status(self.0.code)).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        self.with_status(status)
    }
}

impl Problem {
    /// The same with a status of HTTP's own, on the response and in its body.
    pub(crate) fn with_status(self, status: StatusCode) -> Response {
        let mut response = (status, problem(&self.0, status).to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match self.0.code {
            ErrorCode::Unauthenticated => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            ErrorCode::RateLimited => {
                let ms = self.0.details.get("retry_after_ms").and_then(Value::as_u64).unwrap_or(1_000);
                headers.insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1_000)));
            }
            _ => {}
        }
        response
    }
}

fn problem(refusal: &Refusal, status: StatusCode) -> Value {
    let code = refusal.code.as_str();
    let mut problem = Map::new();
    problem.insert("type".to_owned(), json!(format!("urn:factum:error:{code}")));
    problem.insert("title".to_owned(), json!(code.replace('_', " ")));
    problem.insert("status".to_owned(), json!(status.as_u16()));
    problem.insert("detail".to_owned(), json!(refusal.message));
    problem.insert("code".to_owned(), json!(code));
    problem.insert("message".to_owned(), json!(refusal.message));
    problem.insert("retryable".to_owned(), json!(refusal.retryable));
    problem.insert("details".to_owned(), json!(refusal.details));
    Value::Object(problem)
}
