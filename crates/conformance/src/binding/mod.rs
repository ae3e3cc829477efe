//! The three bindings: an abstract operation goes out as each of them says it, and comes back without their framing.

mod grpc;
mod jsonrpc;
mod raw;
mod rest;
mod sse;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use futures::Stream;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::target::Target;

pub(crate) use raw::send as send_raw;

/// How long anything but a stream may take.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(40);

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Binding {
    #[serde(rename = "jsonrpc")]
    JsonRpc,
    #[serde(rename = "rest")]
    Rest,
    #[serde(rename = "grpc")]
    Grpc,
}

impl Binding {
    pub(crate) const ALL: [Binding; 3] = [Binding::JsonRpc, Binding::Rest, Binding::Grpc];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Binding::JsonRpc => "jsonrpc",
            Binding::Rest => "rest",
            Binding::Grpc => "grpc",
        }
    }

    pub(crate) fn in_card(self) -> &'static str {
        match self {
            Binding::JsonRpc => "JSONRPC",
            Binding::Rest => "HTTP+JSON",
            Binding::Grpc => "GRPC",
        }
    }

    pub(crate) fn parse(name: &str) -> Result<Binding> {
        let found = Binding::ALL.into_iter().find(|binding| binding.name() == name);
        found.ok_or_else(|| anyhow!("{name:?} is no binding; jsonrpc, rest and grpc are"))
    }
}

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    SendMessage,
    SendStreamingMessage,
    GetTask,
    ListTasks,
    CancelTask,
    SubscribeToTask,
    GetAgentCard,
    GetExtendedAgentCard,
    CreatePushConfig,
    GetPushConfig,
    ListPushConfigs,
    DeletePushConfig,
}

impl Operation {
    /// Reads a name of the format, or the longer ones that the suites use for push configurations.
    pub(crate) fn parse(name: &str, params: &Map<String, Value>) -> Result<Operation> {
        Ok(match name {
            "send_message" => Operation::SendMessage,
            "send_streaming_message" => Operation::SendStreamingMessage,
            "get_task" => Operation::GetTask,
            "list_tasks" => Operation::ListTasks,
            "cancel_task" => Operation::CancelTask,
            "subscribe_to_task" => Operation::SubscribeToTask,
            "get_agent_card" if params.get("extended") == Some(&Value::Bool(true)) => Operation::GetExtendedAgentCard,
            "get_agent_card" => Operation::GetAgentCard,
            "get_extended_agent_card" => Operation::GetExtendedAgentCard,
            "create_push_config" | "set_push_notification_config" => Operation::CreatePushConfig,
            "get_push_config" | "get_push_notification_config" => Operation::GetPushConfig,
            "list_push_configs" | "list_push_notification_configs" => Operation::ListPushConfigs,
            "delete_push_config" | "delete_push_notification_config" => Operation::DeletePushConfig,
            other => bail!("the operation {other} is not known"),
        })
    }

    pub(crate) fn streams(self) -> bool {
        matches!(self, Operation::SendStreamingMessage | Operation::SubscribeToTask)
    }

    /// The method of JSON-RPC and gRPC.
    fn method(self) -> &'static str {
        match self {
            Operation::SendMessage => "SendMessage",
            Operation::SendStreamingMessage => "SendStreamingMessage",
            Operation::GetTask => "GetTask",
            Operation::ListTasks => "ListTasks",
            Operation::CancelTask => "CancelTask",
            Operation::SubscribeToTask => "SubscribeToTask",
            Operation::GetAgentCard | Operation::GetExtendedAgentCard => "GetExtendedAgentCard",
            Operation::CreatePushConfig => "CreateTaskPushNotificationConfig",
            Operation::GetPushConfig => "GetTaskPushNotificationConfig",
            Operation::ListPushConfigs => "ListTaskPushNotificationConfigs",
            Operation::DeletePushConfig => "DeleteTaskPushNotificationConfig",
        }
    }

    /// Parameters of the suites as the protocol has them: a message has an id and names its task and context itself, and a
    /// push configuration is flat.
    pub(crate) fn shaped(self, mut params: Map<String, Value>) -> Map<String, Value> {
        params.remove("extended");
        if let Some(Value::Object(config)) = params.remove("pushNotificationConfig") {
            params.extend(config);
        }
        let outside: Vec<(&str, Value)> = match self {
            Operation::SendMessage | Operation::SendStreamingMessage => {
                ["taskId", "contextId"].into_iter().filter_map(|key| Some((key, params.remove(key)?))).collect()
            }
            _ => Vec::new(),
        };
        if let Some(Value::Object(message)) = params.get_mut("message") {
            for (key, value) in outside {
                message.entry(key).or_insert(value);
            }
            message.entry("messageId").or_insert_with(|| uuid::Uuid::new_v4().to_string().into());
        }
        params
    }
}

/// An answer that is no stream.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The object of the protocol, or what was refused.
    pub outcome: Result<Value, Fault>,
    /// HTTP's headers, in lower case; empty for gRPC.
    pub headers: BTreeMap<String, String>,
}

/// One event after the other, without framing.
pub(crate) type Events = Pin<Box<dyn Stream<Item = Result<Value, Fault>> + Send>>;

/// Asks for one answer.
pub(crate) async fn call(
    target: &Target,
    binding: Binding,
    operation: Operation,
    params: Map<String, Value>,
    token: Option<&str>,
) -> Result<Answer> {
    let params = operation.shaped(params);
    let asked = async {
        if operation == Operation::GetAgentCard {
            return rest::card(target).await;
        }
        match binding {
            Binding::JsonRpc => jsonrpc::call(target, operation, params, token).await,
            Binding::Rest => rest::call(target, operation, params, token).await,
            Binding::Grpc => grpc::call(target, operation, params, token).await,
        }
    };
    tokio::time::timeout(ANSWER_WAIT_MAX, asked).await.map_err(|_| anyhow!("no answer within {ANSWER_WAIT_MAX:?}"))?
}

/// Opens a stream. What is refused before it opens is a fault.
pub(crate) async fn stream(
    target: &Target,
    binding: Binding,
    operation: Operation,
    params: Map<String, Value>,
    token: Option<&str>,
) -> Result<Result<Events, Fault>> {
    let params = operation.shaped(params);
    let opened = async {
        match binding {
            Binding::JsonRpc => jsonrpc::stream(target, operation, params, token).await,
            Binding::Rest => rest::stream(target, operation, params, token).await,
            Binding::Grpc => grpc::stream(target, operation, params, token).await,
        }
    };
    tokio::time::timeout(ANSWER_WAIT_MAX, opened).await.map_err(|_| anyhow!("no stream within {ANSWER_WAIT_MAX:?}"))?
}

fn headers_of(response: &reqwest::Response) -> BTreeMap<String, String> {
    let text = |value: &reqwest::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    response.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

fn is_event_stream(response: &reqwest::Response) -> bool {
    let media_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
    media_type.is_some_and(|media_type| media_type.starts_with("text/event-stream"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shaped(operation: Operation, params: Value) -> Value {
        operation.shaped(params.as_object().unwrap().clone()).into()
    }

    #[test]
    fn a_message_names_its_task_and_has_an_id() {
        let params = json!({"taskId": "t", "contextId": "c", "message": {"role": "ROLE_USER", "messageId": "m"}});
        let expected = json!({"message": {"role": "ROLE_USER", "messageId": "m", "taskId": "t", "contextId": "c"}});
        assert_eq!(shaped(Operation::SendMessage, params), expected);
        assert!(shaped(Operation::SendMessage, json!({"message": {}}))["message"]["messageId"].is_string());
        assert_eq!(shaped(Operation::ListTasks, json!({"contextId": "c"})), json!({"contextId": "c"}));
        let config = json!({"taskId": "t", "pushNotificationConfig": {"url": "u"}});
        assert_eq!(shaped(Operation::CreatePushConfig, config), json!({"taskId": "t", "url": "u"}));
    }
}
