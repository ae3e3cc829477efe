//! A2A on this runtime: each operation of [`Server`] for one caller and one agent, on the facts of their sessions.
//!
//! A client's context is a session, a client's task a task in it; its ids are not ours and are linked both ways
//! (`runtime::inbound`). What the client sees is `factum_a2a::view`, folded from the log, so it is the same before and after a
//! restart. Which version and binding a request came in is not known here.

mod fault;
mod list;
mod outputs;
mod push;
mod send;
mod subscribe;
mod watch;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use a2a::{
    A2AError, AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, SendMessageRequest,
    SendMessageResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
};
use factum_a2a::server::{Sent, Server, TaskIs, Updates};
use factum_model::commands::CancelTask;
use factum_model::registry::Scope;
use factum_model::task::Propagation;
use factum_outbound::Policy;
use factum_runtime::{Caller, InboundRow, Runtime};

use fault::{not_cancelable, refused};
use outputs::Blobs;
use watch::Watch;

use super::setup::ClientContexts;
use crate::limits::TransportLimits;
use crate::state::State;

/// What the links of this protocol's tasks are called.
const PROTOCOL: &str = "a2a";

/// A2A for one caller and one agent.
#[derive(Clone)]
pub(crate) struct Service {
    runtime: Runtime,
    caller: Caller,
    /// Who answers.
    agent: Arc<str>,
    /// Whether clients may name contexts of their own.
    own_contexts: bool,
    /// How long a message is waited for, and twice as long as a cancellation is, whose request has a limit of its own of this length.
    wait_max: Duration,
    /// What push notifications may reach.
    push_policy: Arc<Policy>,
    /// What the card is made from; absent where nobody asks for it.
    state: Option<Arc<State>>,
}

impl Service {
    pub(crate) fn new(state: &Arc<State>, caller: &Caller, agent: &str) -> Self {
        let own_contexts = state.a2a.options.client_contexts == ClientContexts::Accept;
        let push_policy = state.a2a.options.push_policy.clone();
        let wait_max = state.limits.request_timeout;
        Self {
            state: Some(state.clone()),
            push_policy,
            wait_max,
            ..Self::on(&state.runtime, caller, agent, own_contexts)
        }
    }

    /// The operations alone, without a card, and with push notifications to public addresses only.
    fn on(runtime: &Runtime, caller: &Caller, agent: &str, own_contexts: bool) -> Self {
        let (runtime, caller) = (runtime.clone(), caller.clone());
        let (push_policy, wait_max) = (Arc::default(), TransportLimits::default().request_timeout);
        Self { runtime, caller, agent: agent.into(), own_contexts, wait_max, push_policy, state: None }
    }

    /// The caller's task with this agent; for anybody else, and with any other agent, it does not exist.
    async fn find(&self, id: &str) -> Result<InboundRow, A2AError> {
        let row =
            self.runtime.inbound_task(&self.caller, PROTOCOL, id).await.map_err(|refusal| refused(&refusal, id))?;
        row.filter(|row| row.is_of(&self.agent)).ok_or_else(|| A2AError::task_not_found(id))
    }

    /// The task as it stands now.
    async fn now(&self, row: &InboundRow) -> Result<Watch, A2AError> {
        let mut watch = Watch::open(self, &row.session_id, row.first_sequence).await?;
        // What is over does not change: the rest of its session may be long.
        let until = if row.status.is_terminal() { row.status_sequence } else { watch.durable() };
        watch.until(until).await?;
        Ok(watch)
    }

    fn outputs(&self) -> Blobs<'_> {
        Blobs(&self.runtime)
    }
}

impl Server for Service {
    fn send_message(&self, sent: Sent) -> impl Future<Output = Result<SendMessageResponse, A2AError>> + Send {
        self.send(sent)
    }

    async fn stream_message(&self, sent: Sent) -> Result<Updates, A2AError> {
        self.send_streaming(sent).await
    }

    async fn get_task(&self, request: GetTaskRequest) -> Result<Task, A2AError> {
        let row = self.find(&request.id).await?;
        Ok(self.now(&row).await?.view().task(request.history_length, true, &self.outputs()).await)
    }

    async fn list_tasks(&self, request: ListTasksRequest) -> Result<ListTasksResponse, A2AError> {
        self.list(request).await
    }

    async fn cancel_task(&self, request: CancelTaskRequest) -> Result<Task, A2AError> {
        let row = self.find(&request.id).await?;
        if row.status.is_terminal() {
            return Err(A2AError::task_not_cancelable(&request.id));
        }
        let command = CancelTask {
            task_id: row.task_id.clone(),
            reason: Some("cancelled by its client".to_owned()),
            propagation: Propagation::Descendants,
            idempotency_key: None,
        };
        if let Err(refusal) = self.runtime.call(&self.caller, command).await {
            return Err(not_cancelable(&refusal, &request.id));
        }
        let mut watch = self.now(&self.find(&request.id).await?).await?;
        // What was running settles first, within the time that cancelled work is given. That may be longer than a request has:
        // whoever waits gets the task as it stands by then, and the cancellation goes on.
        let over = async {
            while !watch.view().is_over() {
                watch.next().await?;
            }
            Ok(())
        };
        tokio::time::timeout(self.wait_max / 2, over).await.unwrap_or(Ok(()))?;
        Ok(watch.view().task(None, true, &self.outputs()).await)
    }

    async fn subscribe(&self, request: SubscribeToTaskRequest, after: Option<u64>) -> Result<Updates, A2AError> {
        self.resubscribe(request, after).await
    }

    async fn create_push_config(
        &self,
        config: TaskPushNotificationConfig,
        task: TaskIs,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        match task {
            TaskIs::There => self.set_config(config).await,
            TaskIs::Expected => self.set_config_ahead(config).await,
        }
    }

    async fn get_push_config(
        &self,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        self.get_config(request).await
    }

    async fn list_push_configs(
        &self,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, A2AError> {
        self.list_configs(request).await
    }

    async fn delete_push_config(&self, request: DeleteTaskPushNotificationConfigRequest) -> Result<(), A2AError> {
        self.delete_config(request).await
    }

    async fn extended_card(&self) -> Result<AgentCard, A2AError> {
        // It names every agent there is: nothing for a credential that may not look at what they do.
        self.caller.require(Scope::TasksRead).map_err(|refusal| refused(&refusal, ""))?;
        let state = self.state.as_ref().ok_or_else(A2AError::extended_card_not_configured)?;
        Ok(super::extended(state, &self.caller, &self.agent))
    }
}

/// Whether a request wants an answer before the work is done.
fn returns_immediately(request: &SendMessageRequest) -> bool {
    request.configuration.as_ref().and_then(|configuration| configuration.return_immediately).unwrap_or(false)
}
