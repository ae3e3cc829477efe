//! Requests of 0.3 and April 2025.

use a2a::{
    A2AError, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest, SendMessageRequest,
    SubscribeToTaskRequest, TaskPushNotificationConfig,
};
use serde::Deserialize;

use super::shapes::{ConfigurationIn, MessageId, MessageIn, Metadata, PushIn};
use crate::dialect::Dialect;
use crate::fault::invalid_field;
use crate::operation::{Around, Name, Operation};
use crate::params::read as fields;
use crate::server::Sent;

#[derive(Deserialize)]
struct SendIn {
    #[serde(alias = "request")]
    message: MessageIn,
    configuration: Option<ConfigurationIn>,
    metadata: Option<Metadata>,
}

/// `TaskIdParams` and everything that adds a field to it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskIn {
    id: String,
    history_length: Option<i32>,
    push_notification_config_id: Option<String>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetPushIn {
    /// `id` in April 2025.
    #[serde(alias = "id")]
    task_id: String,
    push_notification_config: PushIn,
}

/// Reads 0.3: JSON-RPC's params, or a body of its HTTP+JSON with the path's ids put into it.
pub(in crate::dialect) fn read(
    name: Name,
    params: &str,
    around: Around,
    dialect: Dialect,
) -> Result<Operation, A2AError> {
    Ok(match name {
        Name::SendMessage => Operation::SendMessage(sent(params, around, dialect)?),
        Name::StreamMessage => Operation::StreamMessage(sent(params, around, dialect)?),
        Name::ListTasks => return Err(A2AError::method_not_found("tasks/list")),
        Name::CreatePushConfig => Operation::CreatePushConfig(set_push(params)?),
        Name::ExtendedCard => Operation::ExtendedCard(GetExtendedAgentCardRequest { tenant: None }),
        Name::GetTask
        | Name::CancelTask
        | Name::Subscribe
        | Name::GetPushConfig
        | Name::ListPushConfigs
        | Name::DeletePushConfig => of_task(name, fields(params)?, around)?,
    })
}

fn of_task(name: Name, task: TaskIn, around: Around) -> Result<Operation, A2AError> {
    let TaskIn { id, history_length, push_notification_config_id, metadata } = task;
    let tenant = None;
    let all =
        |task_id| ListTaskPushNotificationConfigsRequest { task_id, page_size: None, page_token: None, tenant: None };
    Ok(match (name, push_notification_config_id) {
        (Name::CancelTask, _) => Operation::CancelTask(CancelTaskRequest { id, metadata, tenant }),
        (Name::Subscribe, _) => Operation::Subscribe(SubscribeToTaskRequest { id, tenant }, around.after),
        (Name::GetPushConfig, Some(config)) => {
            Operation::GetPushConfig(GetTaskPushNotificationConfigRequest { task_id: id, id: config, tenant })
        }
        (Name::GetPushConfig, None) => Operation::AnyPushConfig(all(id)),
        (Name::ListPushConfigs, _) => Operation::ListPushConfigs(all(id)),
        (Name::DeletePushConfig, Some(config)) => {
            Operation::DeletePushConfig(DeleteTaskPushNotificationConfigRequest { task_id: id, id: config, tenant })
        }
        (Name::DeletePushConfig, None) => return Err(invalid_field("pushNotificationConfigId", "is required")),
        _ => Operation::GetTask(GetTaskRequest { id, history_length, tenant }),
    })
}

fn sent(params: &str, around: Around, dialect: Dialect) -> Result<Box<Sent>, A2AError> {
    let SendIn { message, configuration, metadata } = fields(params)?;
    let configuration = configuration.map(|configuration| {
        // JSON-RPC waits unless told not to. In the protobuf form a field that is not there is false.
        let waits = match dialect {
            Dialect::V0_3Http => Some(configuration.blocking.unwrap_or(false)),
            _ => configuration.blocking,
        };
        configuration.into_configuration(waits.map(|waits| !waits))
    });
    let message = message.into_message(MessageId::Required)?;
    let request = SendMessageRequest { message, configuration, metadata, tenant: None };
    Ok(Box::new(Sent { request, own_task_id: None, idempotency_key: around.idempotency_key }))
}

/// A configuration without an id replaces the one that had none before, so it gets the task's.
fn set_push(params: &str) -> Result<TaskPushNotificationConfig, A2AError> {
    let SetPushIn { task_id, push_notification_config } = fields(params)?;
    let mut config = push_notification_config.into_config(task_id);
    if config.id.as_deref().unwrap_or_default().is_empty() {
        config.id = Some(config.task_id.clone());
    }
    Ok(config)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SendTaskIn {
    id: String,
    session_id: Option<String>,
    message: MessageIn,
    accepted_output_modes: Option<Vec<String>>,
    push_notification: Option<PushIn>,
    history_length: Option<i32>,
    metadata: Option<Metadata>,
}

/// Reads April 2025, as far as it is not 0.3's.
pub(in crate::dialect) fn read_april_2025(name: Name, params: &str, around: Around) -> Result<Operation, A2AError> {
    match name {
        Name::SendMessage => Ok(Operation::SendMessage(sent_april_2025(params, around)?)),
        Name::StreamMessage => Ok(Operation::StreamMessage(sent_april_2025(params, around)?)),
        Name::CreatePushConfig => Ok(Operation::CreatePushConfigAhead(set_push(params)?)),
        name => read(name, params, around, Dialect::April2025),
    }
}

/// The task's id is the client's, and `sessionId` is what is called a context now.
fn sent_april_2025(params: &str, around: Around) -> Result<Box<Sent>, A2AError> {
    let send: SendTaskIn = fields(params)?;
    if send.id.is_empty() {
        return Err(invalid_field("id", "is required"));
    }
    let mut message = send.message.into_message(MessageId::Made)?;
    message.context_id = send.session_id.or(message.context_id);
    message.task_id = None;
    let configuration = ConfigurationIn {
        accepted_output_modes: send.accepted_output_modes,
        history_length: send.history_length,
        push_notification_config: send.push_notification.map(|push| push.called(&send.id)),
        blocking: None,
    };
    let said = configuration.accepted_output_modes.is_some()
        || configuration.history_length.is_some()
        || configuration.push_notification_config.is_some();
    let configuration = said.then(|| configuration.into_configuration(None));
    let request = SendMessageRequest { message, configuration, metadata: send.metadata, tenant: None };
    Ok(Box::new(Sent { request, own_task_id: Some(send.id), idempotency_key: around.idempotency_key }))
}
