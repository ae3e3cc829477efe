//! A2A's operations, carried out by the runtime.

use std::sync::Arc;

use a2a::{
    A2AError, AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, SendMessageResponse,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
};
use factum_a2a::server::{Sent, Server, Updates};
use factum_runtime::Caller;

use crate::state::State;

/// The operations for one caller and one agent.
pub(crate) struct Service {
    state: Arc<State>,
    caller: Caller,
    agent: String,
}

impl Service {
    pub(crate) fn new(state: &Arc<State>, caller: &Caller, agent: &str) -> Self {
        Self { state: state.clone(), caller: caller.clone(), agent: agent.to_owned() }
    }
}

fn not_here<T>() -> Result<T, A2AError> {
    Err(A2AError::unsupported_operation("this version does not carry it out; channels/* and /v1/submit_turn are there"))
}

impl Server for Service {
    async fn send_message(&self, _: Sent) -> Result<SendMessageResponse, A2AError> {
        not_here()
    }

    async fn stream_message(&self, _: Sent) -> Result<Updates, A2AError> {
        not_here()
    }

    async fn get_task(&self, _: GetTaskRequest) -> Result<Task, A2AError> {
        not_here()
    }

    async fn list_tasks(&self, _: ListTasksRequest) -> Result<ListTasksResponse, A2AError> {
        not_here()
    }

    async fn cancel_task(&self, _: CancelTaskRequest) -> Result<Task, A2AError> {
        not_here()
    }

    async fn subscribe(&self, _: SubscribeToTaskRequest, _: Option<u64>) -> Result<Updates, A2AError> {
        not_here()
    }

    async fn create_push_config(&self, _: TaskPushNotificationConfig) -> Result<TaskPushNotificationConfig, A2AError> {
        not_here()
    }

    async fn get_push_config(
        &self,
        _: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        not_here()
    }

    async fn list_push_configs(
        &self,
        _: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, A2AError> {
        not_here()
    }

    async fn delete_push_config(&self, _: DeleteTaskPushNotificationConfigRequest) -> Result<(), A2AError> {
        not_here()
    }

    async fn extended_card(&self) -> Result<AgentCard, A2AError> {
        Ok(super::extended(&self.state, &self.caller, &self.agent))
    }
}
