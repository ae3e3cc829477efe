//! Answers on their way out: JSON-RPC's, HTTP's, gRPC's. One error, said in the words of each.

use a2a::A2AError;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use factum_a2a::{Dialect, Error, Kind, details};
use factum_model::{ErrorCode, Refusal};
use http::{HeaderValue, StatusCode, header};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt};

use super::status::{grpc_code, grpc_name, http_status};
use crate::http::json_response;
use crate::problem::Problem;
use crate::rpc;

pub(super) const A2A_JSON: HeaderValue = HeaderValue::from_static("application/a2a+json");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Puts the result that `write` writes around itself what JSON-RPC wants there.
pub(super) fn rpc_result(id: &RawValue, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.get().as_bytes());
    out.extend_from_slice(b",\"result\":");
    write(&mut out);
    out.push(b'}');
    out
}

pub(super) fn rpc_error(id: Option<&RawValue>, error: &A2AError) -> Vec<u8> {
    rpc::answer(id, Err(Error::from(error)))
}

/// `WWW-Authenticate`, `Retry-After`: what plain HTTP says beside a refusal.
fn copy_headers(refusal: Refusal, response: &mut Response) {
    for (name, value) in Problem(refusal).into_response().headers() {
        if !matches!(*name, header::CONTENT_TYPE | header::CONTENT_LENGTH) {
            response.headers_mut().insert(name.clone(), value.clone());
        }
    }
}

/// A result over HTTP+JSON.
pub(super) fn http_result(dialect: Dialect, body: Vec<u8>) -> Response {
    let mut response = json_response(StatusCode::OK, body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, content_type(dialect));
    response
}

fn content_type(dialect: Dialect) -> HeaderValue {
    if dialect == Dialect::V1_0 { A2A_JSON } else { JSON }
}

/// An error over HTTP+JSON.
pub(super) fn http_error(dialect: Dialect, error: &A2AError) -> Response {
    http_error_as(dialect, error, http_status(Kind::of(error)))
}

/// The same with a status of HTTP's own.
pub(super) fn http_error_as(dialect: Dialect, error: &A2AError, status: u16) -> Response {
    let body = Bytes::from(http_error_body(dialect, error, status).to_string());
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(code, body);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type(dialect));
    if let Kind::Refused(code @ (ErrorCode::Unauthenticated | ErrorCode::RateLimited)) = Kind::of(error) {
        let mut refusal = Refusal::new(code, "");
        if let Some(wait) =
            details(error)[0]["metadata"]["retry_after_ms"].as_str().and_then(|ms| ms.parse::<u64>().ok())
        {
            refusal = refusal.with("retry_after_ms", wait);
        }
        copy_headers(refusal, &mut response);
    }
    response
}

/// `google.rpc.Status` as 1.0 puts it into a body, and the members of a problem (RFC 9457) beside it. 0.3 had no shape of its
/// own, and its clients look at the top: for a number and a message, or for the error's name as `type`.
pub(super) fn http_error_body(dialect: Dialect, error: &A2AError, status: u16) -> Value {
    let kind = Kind::of(error);
    let inner = json!({
        "code": status,
        "status": grpc_name(grpc_code(kind)),
        "message": error.message,
        "details": details(error),
    });
    if dialect == Dialect::V1_0 {
        let words = kind.reason().to_ascii_lowercase();
        let page = format!("https://a2a-protocol.org/errors/{}", words.replace('_', "-"));
        return json!({
            "error": inner, "type": page, "title": words.replace('_', " "), "status": status, "detail": error.message,
        });
    }
    json!({ "code": error.code, "message": error.message, "type": kind.name(), "data": details(error), "error": inner })
}

/// An error over gRPC, with its details in `grpc-status-details-bin`.
pub(super) fn grpc_status(error: &A2AError) -> tonic::Status {
    let said = details(error);
    let info = &said[0];
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let metadata: std::collections::HashMap<String, String> =
        info["metadata"].as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect();
    let mut more = ErrorDetails::with_error_info(text(&info["reason"]), text(&info["domain"]), metadata);
    let violations = said.iter().filter_map(|detail| detail["fieldViolations"].as_array()).flatten();
    let violation = |one: &Value| FieldViolation::new(text(&one["field"]), text(&one["description"]));
    let violations: Vec<FieldViolation> = violations.map(violation).collect();
    if !violations.is_empty() {
        more.set_bad_request(violations);
    }
    tonic::Status::with_error_details(grpc_code(Kind::of(error)), error.message.clone(), more)
}
