//! What a server of A2A can be asked, in the words of 1.0, whatever version and binding a request came in.
//!
//! The bindings (JSON-RPC, HTTP+JSON, gRPC) and the older versions are mapped to this one trait and share everything behind
//! it. `api` implements it for one caller and one agent: whoever holds a [`Server`] has passed the door already. What is
//! refused is an [`a2a::A2AError`]; how each binding says so is not known here.

use std::pin::Pin;

use a2a::{
    A2AError, AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, SendMessageRequest,
    SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
};
use futures::{Future, Stream};

/// A message, and what a request says around it.
#[derive(Clone, Debug)]
pub struct Sent {
    pub request: SendMessageRequest,
    /// The task has this id and is made where it is not known: clients of April 2025 choose ids themselves.
    pub own_task_id: Option<String>,
    /// Sending this again is answered like the first time (`Idempotency-Key`). A message id is no such key: it may repeat.
    pub idempotency_key: Option<String>,
}

/// Whether a task has to be there for something to be said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskIs {
    There,
    /// It may be sent later, under the id that its client names.
    Expected,
}

/// One item of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// Where the stream goes on behind this item: the `id` of a server-sent event.
    pub position: Option<u64>,
    pub response: StreamResponse,
}

/// What comes of a task. It ends with the task; one that a message began also where the task waits for its user, while a
/// subscription goes on, since somebody else may answer.
pub type Updates = Pin<Box<dyn Stream<Item = Result<Update, A2AError>> + Send>>;

/// The operations of A2A, for one caller.
pub trait Server: Send + Sync {
    fn send_message(&self, sent: Sent) -> impl Future<Output = Result<SendMessageResponse, A2AError>> + Send;

    fn stream_message(&self, sent: Sent) -> impl Future<Output = Result<Updates, A2AError>> + Send;

    fn get_task(&self, request: GetTaskRequest) -> impl Future<Output = Result<Task, A2AError>> + Send;

    fn list_tasks(&self, request: ListTasksRequest)
    -> impl Future<Output = Result<ListTasksResponse, A2AError>> + Send;

    fn cancel_task(&self, request: CancelTaskRequest) -> impl Future<Output = Result<Task, A2AError>> + Send;

    /// Begins with the task as it stood at `after`, and goes on with everything since; without it, as it stands now.
    fn subscribe(
        &self,
        request: SubscribeToTaskRequest,
        after: Option<u64>,
    ) -> impl Future<Output = Result<Updates, A2AError>> + Send;

    fn create_push_config(
        &self,
        config: TaskPushNotificationConfig,
        task: TaskIs,
    ) -> impl Future<Output = Result<TaskPushNotificationConfig, A2AError>> + Send;

    fn get_push_config(
        &self,
        request: GetTaskPushNotificationConfigRequest,
    ) -> impl Future<Output = Result<TaskPushNotificationConfig, A2AError>> + Send;

    fn list_push_configs(
        &self,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> impl Future<Output = Result<ListTaskPushNotificationConfigsResponse, A2AError>> + Send;

    fn delete_push_config(
        &self,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> impl Future<Output = Result<(), A2AError>> + Send;

    fn extended_card(&self) -> impl Future<Output = Result<AgentCard, A2AError>> + Send;
}
