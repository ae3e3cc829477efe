//! What a server refuses with, whatever the binding, and which of the protocol's errors that is.
//!
//! The numbers are those of the A2A specification (1.0.1, §5.4), which goes before the table in the format's own document.
//! gRPC and HTTP use one status for several errors; there the reason in the `ErrorInfo` tells them apart.

use serde_json::{Value, json};

use crate::binding::Binding;

/// A refusal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub binding: Binding,
    /// JSON-RPC's code, HTTP's status or gRPC's status.
    pub code: i64,
    pub message: String,
    /// The structured details, each with its `@type`.
    pub details: Vec<Value>,
}

struct Known {
    name: &'static str,
    json_rpc: i64,
    grpc: i64,
    http: i64,
    /// Empty where the protocol gives none.
    reason: &'static str,
}

const fn known(name: &'static str, json_rpc: i64, grpc: i64, http: i64, reason: &'static str) -> Known {
    Known { name, json_rpc, grpc, http, reason }
}

const KNOWN: [Known; 12] = [
    known("TaskNotFoundError", -32001, 5, 404, "TASK_NOT_FOUND"),
    known("TaskNotCancelableError", -32002, 9, 400, "TASK_NOT_CANCELABLE"),
    known("PushNotificationNotSupportedError", -32003, 9, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    known("UnsupportedOperationError", -32004, 9, 400, "UNSUPPORTED_OPERATION"),
    known("ContentTypeNotSupportedError", -32005, 3, 400, "CONTENT_TYPE_NOT_SUPPORTED"),
    known("ExtendedCardNotSupportedError", -32007, 9, 400, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
    known("ExtensionSupportRequiredError", -32008, 9, 400, "EXTENSION_SUPPORT_REQUIRED"),
    known("VersionNotSupportedError", -32009, 9, 400, "VERSION_NOT_SUPPORTED"),
    known("InvalidParamsError", -32602, 3, 400, ""),
    known("JSONParseError", -32700, 3, 400, ""),
    known("MethodNotFoundError", -32601, 12, 404, ""),
    known("InternalError", -32603, 13, 500, ""),
];

impl Fault {
    /// The name the suites have for it.
    pub(crate) fn name(&self) -> String {
        let own = |known: &&Known| match self.binding {
            Binding::JsonRpc => known.json_rpc == self.code,
            Binding::Grpc => known.grpc == self.code,
            Binding::Rest => known.http == self.code,
        };
        let reason = self.info().and_then(|info| info["reason"].as_str()).unwrap_or_default();
        // JSON-RPC's codes are one to one; elsewhere the reason decides among those that share a status.
        let fits = |known: &&Known| own(known) && (self.binding == Binding::JsonRpc || known.reason == reason);
        KNOWN.iter().find(fits).map_or_else(|| format!("{} {reason}", self.code), |known| known.name.to_owned())
    }

    /// The `ErrorInfo` among the details.
    pub(crate) fn info(&self) -> Option<&Value> {
        self.details
            .iter()
            .find(|detail| detail["@type"].as_str().is_some_and(|kind| kind.ends_with("google.rpc.ErrorInfo")))
    }

    /// As the suites look at it, apart from its code. `data` and `details` are what there is of structured information,
    /// wherever the binding puts it: the `ErrorInfo`, or the first detail.
    pub(crate) fn to_json(&self) -> Value {
        let mut fault = json!({ "code": self.name(), "error_type": self.name(), "message": self.message });
        if let Some(detail) = self.info().or(self.details.first()) {
            fault["data"] = detail.clone();
            fault["details"] = detail.clone();
        }
        fault
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name(), self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_apart_on_every_binding() {
        let info = |reason: &str| vec![json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason})];
        for (binding, code, details, name) in [
            (Binding::JsonRpc, -32001, vec![], "TaskNotFoundError"),
            (Binding::JsonRpc, -32602, vec![], "InvalidParamsError"),
            (Binding::Grpc, 9, info("TASK_NOT_CANCELABLE"), "TaskNotCancelableError"),
            (Binding::Grpc, 9, info("UNSUPPORTED_OPERATION"), "UnsupportedOperationError"),
            (Binding::Grpc, 5, info("UNSUPPORTED_OPERATION"), "5 UNSUPPORTED_OPERATION"),
            (Binding::Rest, 404, info("TASK_NOT_FOUND"), "TaskNotFoundError"),
            (Binding::Rest, 400, info("CONTENT_TYPE_NOT_SUPPORTED"), "ContentTypeNotSupportedError"),
            (Binding::Rest, 400, vec![], "InvalidParamsError"),
        ] {
            let fault = Fault { binding, code, message: String::new(), details };
            assert_eq!(fault.name(), name, "{binding:?} {code}");
        }
    }
}
