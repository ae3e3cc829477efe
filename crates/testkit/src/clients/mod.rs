//! One trait for calling commands, whatever carries them.

mod a2a;
mod grpc;
mod http;
mod local;
mod mux;
mod rpc;
mod stdio;
mod ws;

use async_trait::async_trait;
use serde_json::{Value, json};

pub use a2a::A2a;
pub use grpc::Grpc;
pub use http::Http;
pub use local::Local;
pub use rpc::{Rpc, read_answer};
pub use stdio::Stdio;
pub use ws::WebSocket;

/// A result, or the error object with its members `code`, `message`, `retryable` and `details`.
pub type Outcome = Result<Value, Value>;

/// A way to call commands.
#[async_trait]
pub trait Client: Send + Sync {
    /// What carries the calls, for messages.
    fn name(&self) -> &'static str;

    /// Calls a command. Where no answer came at all the error's code is `transport`, which no server says.
    async fn call(&self, method: &str, params: Value) -> Outcome;
}

/// The error of a call that nobody answered: whether it took effect is not known.
pub fn transport_error(error: impl std::fmt::Display) -> Value {
    json!({ "code": "transport", "message": error.to_string(), "retryable": true, "details": {} })
}

/// The members of an error object that are the same on every transport, and nothing else.
pub(crate) fn error_object(value: &Value) -> Value {
    let member = |name: &str| value.get(name).unwrap_or_else(|| panic!("an error without {name}: {value}")).clone();
    json!({
        "code": member("code"), "message": member("message"), "retryable": member("retryable"),
        "details": member("details"),
    })
}
