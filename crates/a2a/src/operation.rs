//! An operation, read and ready: what every binding and every version is turned into, and how a [`Server`] is asked.

use std::pin::pin;

use a2a::{
    A2AError, AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, SendMessageResponse,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
};

use crate::server::{Sent, Server, TaskIs, Updates};

/// What the operations are called here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    SendMessage,
    StreamMessage,
    GetTask,
    ListTasks,
    CancelTask,
    Subscribe,
    CreatePushConfig,
    GetPushConfig,
    ListPushConfigs,
    DeletePushConfig,
    ExtendedCard,
}

impl Name {
    pub const ALL: [Name; 11] = [
        Self::SendMessage,
        Self::StreamMessage,
        Self::GetTask,
        Self::ListTasks,
        Self::CancelTask,
        Self::Subscribe,
        Self::CreatePushConfig,
        Self::GetPushConfig,
        Self::ListPushConfigs,
        Self::DeletePushConfig,
        Self::ExtendedCard,
    ];

    /// Whether the answer is a stream.
    pub fn streams(self) -> bool {
        matches!(self, Self::StreamMessage | Self::Subscribe)
    }

    /// Whether it is about push notifications, which a server may not offer.
    pub fn is_push(self) -> bool {
        matches!(self, Self::CreatePushConfig | Self::GetPushConfig | Self::ListPushConfigs | Self::DeletePushConfig)
    }
}

/// What a request says beside its params.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    pub idempotency_key: Option<String>,
    /// The last position that the client has seen of a stream it takes up again.
    pub after: Option<u64>,
}

/// An operation with its params, in the words of 1.0.
#[derive(Clone, Debug)]
pub enum Operation {
    SendMessage(Box<Sent>),
    StreamMessage(Box<Sent>),
    GetTask(GetTaskRequest),
    ListTasks(ListTasksRequest),
    CancelTask(CancelTaskRequest),
    Subscribe(SubscribeToTaskRequest, Option<u64>),
    CreatePushConfig(TaskPushNotificationConfig),
    /// The same of a task that may not be there yet: clients of April 2025 choose ids themselves, and may say this first.
    CreatePushConfigAhead(TaskPushNotificationConfig),
    GetPushConfig(GetTaskPushNotificationConfigRequest),
    /// The one configuration of a task: older versions need not say which.
    AnyPushConfig(ListTaskPushNotificationConfigsRequest),
    ListPushConfigs(ListTaskPushNotificationConfigsRequest),
    DeletePushConfig(DeleteTaskPushNotificationConfigRequest),
    ExtendedCard(GetExtendedAgentCardRequest),
}

/// What comes of it.
pub enum Outcome {
    Sent(SendMessageResponse),
    Updates(Updates),
    Task(Task),
    Tasks(ListTasksResponse),
    PushConfig(TaskPushNotificationConfig),
    PushConfigs(ListTaskPushNotificationConfigsResponse),
    Deleted,
    Card(Box<AgentCard>),
}

impl Operation {
    /// Where the request says for whom it is, that.
    pub fn tenant(&self) -> Option<&str> {
        let tenant = match self {
            Self::SendMessage(sent) | Self::StreamMessage(sent) => &sent.request.tenant,
            Self::GetTask(request) => &request.tenant,
            Self::ListTasks(request) => &request.tenant,
            Self::CancelTask(request) => &request.tenant,
            Self::Subscribe(request, _) => &request.tenant,
            Self::CreatePushConfig(config) | Self::CreatePushConfigAhead(config) => &config.tenant,
            Self::GetPushConfig(request) => &request.tenant,
            Self::AnyPushConfig(request) | Self::ListPushConfigs(request) => &request.tenant,
            Self::DeletePushConfig(request) => &request.tenant,
            Self::ExtendedCard(request) => &request.tenant,
        };
        tenant.as_deref().filter(|tenant| !tenant.is_empty())
    }

    /// Whether a push notification is asked for, which a server may not offer.
    pub fn wants_push(&self) -> bool {
        match self {
            Self::SendMessage(sent) | Self::StreamMessage(sent) => {
                sent.request.configuration.as_ref().is_some_and(|wish| wish.task_push_notification_config.is_some())
            }
            Self::CreatePushConfig(_)
            | Self::CreatePushConfigAhead(_)
            | Self::GetPushConfig(_)
            | Self::AnyPushConfig(_)
            | Self::ListPushConfigs(_)
            | Self::DeletePushConfig(_) => true,
            _ => false,
        }
    }

    /// Asks a server.
    pub async fn carry_out(self, server: &impl Server) -> Result<Outcome, A2AError> {
        Ok(match self {
            // Pinned where it is made: it is some kilobytes, and would be moved for each message.
            Self::SendMessage(sent) => Outcome::Sent(pin!(server.send_message(*sent)).await?),
            Self::StreamMessage(sent) => Outcome::Updates(server.stream_message(*sent).await?),
            Self::GetTask(request) => Outcome::Task(server.get_task(request).await?),
            Self::ListTasks(request) => Outcome::Tasks(server.list_tasks(request).await?),
            Self::CancelTask(request) => Outcome::Task(server.cancel_task(request).await?),
            Self::Subscribe(request, after) => Outcome::Updates(server.subscribe(request, after).await?),
            Self::CreatePushConfig(config) => {
                Outcome::PushConfig(server.create_push_config(config, TaskIs::There).await?)
            }
            Self::CreatePushConfigAhead(config) => {
                Outcome::PushConfig(server.create_push_config(config, TaskIs::Expected).await?)
            }
            Self::GetPushConfig(request) => Outcome::PushConfig(server.get_push_config(request).await?),
            Self::AnyPushConfig(request) => Outcome::PushConfig(any_push_config(server, request).await?),
            Self::ListPushConfigs(request) => Outcome::PushConfigs(server.list_push_configs(request).await?),
            Self::DeletePushConfig(request) => {
                server.delete_push_config(request).await?;
                Outcome::Deleted
            }
            Self::ExtendedCard(_) => Outcome::Card(Box::new(server.extended_card().await?)),
        })
    }
}

/// The configuration that was made without an id of its own, which is the task's, or else the first there is.
async fn any_push_config(
    server: &impl Server,
    request: ListTaskPushNotificationConfigsRequest,
) -> Result<TaskPushNotificationConfig, A2AError> {
    let task_id = request.task_id.clone();
    let mut configs = server.list_push_configs(request).await?.configs;
    let at = configs.iter().position(|config| config.id.as_ref() == Some(&task_id)).unwrap_or(0);
    if at < configs.len() {
        return Ok(configs.swap_remove(at));
    }
    let message = format!("task not found, or it has no push notification configuration: {task_id}");
    Err(A2AError::new(a2a::error_code::TASK_NOT_FOUND, message))
}
