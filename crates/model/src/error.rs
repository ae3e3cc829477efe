//! What a caller is told when a command is refused.
//!
//! The vocabulary is WIRE.md's and the same on every transport. Status codes are not here: only the `api` crate knows
//! which number a transport puts in front of a code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The kinds of refusal, by what the caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// It does not exist, or the caller may not know that it does. The two are the same bytes.
    NotFound,
    /// The caller is known and may not do this at all, whatever it names.
    PermissionDenied,
    /// Something is there already, or changed in between.
    Conflict,
    /// The request is malformed.
    InvalidParams,
    /// A named limit was passed.
    LimitExceeded,
    /// Too many requests; `details.retry_after_ms` says when to come back.
    RateLimited,
    /// This cannot be done here or now.
    Unavailable,
    /// No credential, or one that is not accepted.
    Unauthenticated,
    /// The state does not allow it; `details` says which state.
    PreconditionFailed,
    /// A defect on our side.
    Internal,
}

impl ErrorCode {
    /// Every code, for the reference and for tests that walk them all.
    pub const ALL: [ErrorCode; 10] = [
        Self::NotFound,
        Self::PermissionDenied,
        Self::Conflict,
        Self::InvalidParams,
        Self::LimitExceeded,
        Self::RateLimited,
        Self::Unavailable,
        Self::Unauthenticated,
        Self::PreconditionFailed,
        Self::Internal,
    ];

    /// The code as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::PermissionDenied => "permission_denied",
            Self::Conflict => "conflict",
            Self::InvalidParams => "invalid_params",
            Self::LimitExceeded => "limit_exceeded",
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::Unauthenticated => "unauthenticated",
            Self::PreconditionFailed => "precondition_failed",
            Self::Internal => "internal",
        }
    }

    /// Whether the same request may succeed later without being changed.
    pub fn retryable(self) -> bool {
        matches!(self, Self::RateLimited | Self::Unavailable)
    }
}

/// Why a command was not carried out. Nothing was written.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[error("{message}")]
pub struct Refusal {
    pub code: ErrorCode,
    pub message: String,
    pub retryable: bool,
    #[serde(default)]
    pub details: Map<String, Value>,
}

impl Refusal {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retryable: code.retryable(), details: Map::new() }
    }

    /// Adds one fact the caller can act on.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// The one answer for what is absent and for what is hidden. It names nothing, so that both are the same bytes.
    pub fn not_found() -> Self {
        Self::new(ErrorCode::NotFound, "not found")
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Conflict, message)
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParams, message)
    }

    pub fn precondition(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::PreconditionFailed, message)
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unavailable, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message)
    }

    /// A named limit was passed.
    pub fn limit(name: &str, actual: u64, limit: u64) -> Self {
        Self::new(ErrorCode::LimitExceeded, format!("{name} is {actual}, the limit is {limit}"))
            .with("limit", json!({ "name": name, "actual": actual, "max": limit }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_spelled_as_they_serialize() {
        for code in ErrorCode::ALL {
            assert_eq!(json!(code), json!(code.as_str()));
        }
    }
}
