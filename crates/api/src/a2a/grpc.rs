//! `lf.a2a.v1.A2AService`: A2A 1.0 over gRPC, for every agent: its `tenant` says which one. Messages become the official types and
//! are asked for as everything else is.

use std::pin::Pin;
use std::sync::Arc;

use a2a::A2AError;
use a2a_pb::pbconv;
use a2a_pb::proto;
use a2a_pb::proto::a2a_service_server::{A2aService, A2aServiceServer};
use factum_a2a::server::{Sent, Updates};
use factum_a2a::{Dialect, Kind, Name, Operation, Outcome, Version, invalid_field, refused};
use factum_model::Refusal;
use factum_model::peer::Transport::Grpc;
use futures::{Stream, StreamExt};
use http::HeaderMap;
use tonic::{Request, Response, Status};

use super::Host;
use super::answer::grpc_status;
use super::ask::{Ask, activated, version};
use super::status::counted;
use crate::alive::Recheck;
use crate::metrics::Transport;
use crate::state::{Credential, Peer, State, StreamGuard};

/// What the router serves.
pub(super) fn service<H: Host>(host: H, state: &Arc<State>) -> A2aServiceServer<Service<H>> {
    let max = state.limits.body_bytes_max;
    A2aServiceServer::new(Service { host, state: state.clone() }).max_decoding_message_size(max)
}

pub(super) struct Service<H> {
    host: H,
    state: Arc<State>,
}

/// What came of a call, with the headers that it came with.
struct Called {
    outcome: Outcome,
    headers: HeaderMap,
    credential: Credential,
}

impl<H: Host> Service<H> {
    /// Lets a call in, reads it with `read`, and asks.
    async fn call<T>(
        &self,
        request: Request<T>,
        name: Name,
        read: impl FnOnce(T, factum_a2a::Around) -> Result<Operation, A2AError>,
    ) -> Result<Called, Status> {
        let started = self.state.metrics.start();
        let peer = request.extensions().get::<Peer>().map_or(std::net::Ipv4Addr::UNSPECIFIED.into(), |peer| peer.0);
        let headers = request.metadata().clone().into_headers();
        let outcome = self.run(request.into_inner(), name, &headers, peer, read).await;
        let code = outcome.as_ref().err().map(|error| counted(Kind::of(error)));
        self.state.metrics.request(Transport::A2a, "", code, started);
        let credential = Credential::of(&headers, peer);
        match outcome {
            Ok(outcome) => Ok(Called { outcome, headers, credential }),
            Err(error) => Err(self.echo_status(grpc_status(&error), &headers)),
        }
    }

    async fn run<T>(
        &self,
        message: T,
        name: Name,
        headers: &HeaderMap,
        from: std::net::IpAddr,
        read: impl FnOnce(T, factum_a2a::Around) -> Result<Operation, A2AError>,
    ) -> Result<Outcome, A2AError> {
        let caller = self.state.admit(headers, from).await.map_err(|refusal| refused(&refusal))?.over(Grpc);
        // The service is 1.0's and no other version's, so a call that says nothing can only mean that.
        if version(headers, None)?.is_some_and(|said| said != Version::V1_0) {
            let message = "gRPC is spoken in A2A 1.0 only; 0.3 is spoken over JSON-RPC and HTTP+JSON";
            return Err(A2AError::new(a2a::error_code::VERSION_NOT_SUPPORTED, message));
        }
        let agent = self.state.runtime.agents().default_name();
        let (host, state) = (&self.host, &self.state);
        let ask = Ask { host, state, caller: &caller, agent, agent_is_named: false, headers, from };
        ask.offered(name, Dialect::V1_0)?;
        let operation = read(message, ask.around()?)?.checked()?;
        ask.run((name, Dialect::V1_0), operation).await
    }

    /// The answer to a call, which echoes the extensions that are activated.
    fn answer<T>(&self, called: &Called, message: T) -> Response<T> {
        let mut response = Response::new(message);
        if let Some(value) = activated(&self.state, &called.headers).and_then(|value| value.to_str().ok()?.parse().ok())
        {
            response.metadata_mut().insert("a2a-extensions", value);
        }
        response
    }

    fn echo_status(&self, mut status: Status, headers: &HeaderMap) -> Status {
        if let Some(value) = activated(&self.state, headers).and_then(|value| value.to_str().ok()?.parse().ok()) {
            status.metadata_mut().insert("a2a-extensions", value);
        }
        status
    }

    fn stream(&self, called: Called) -> Result<Response<Items>, Status> {
        let Called { outcome, headers, credential } = called;
        let Outcome::Updates(updates) = outcome else { return Err(unexpected()) };
        let items = Following {
            updates,
            state: self.state.clone(),
            recheck: Recheck::new(&self.state, credential.clone()),
            guard: self.state.stream(Transport::Grpc),
            ended: false,
        };
        let called = Called { outcome: Outcome::Deleted, headers, credential };
        Ok(self.answer(&called, items.into_stream()))
    }
}

/// An operation and its outcome belong together; this is what is said should they ever not.
fn unexpected() -> Status {
    grpc_status(&A2AError::internal("the agent gave an answer of another kind"))
}

type Items = Pin<Box<dyn Stream<Item = Result<proto::StreamResponse, Status>> + Send>>;

/// A stream that ends with its task, when the server closes, or when its caller would no longer be let in.
struct Following {
    updates: Updates,
    state: Arc<State>,
    recheck: Recheck,
    guard: StreamGuard,
    ended: bool,
}

impl Following {
    fn into_stream(self) -> Items {
        Box::pin(futures::stream::unfold(self, |mut following| async move {
            let item = following.next().await?;
            Some((item, following))
        }))
    }

    async fn next(&mut self) -> Option<Result<proto::StreamResponse, Status>> {
        if self.ended {
            return None;
        }
        let closing = self.state.runtime.closing();
        // An end that is no error would say that there is nothing more to come.
        let next = async {
            tokio::select! {
                biased;
                () = closing.cancelled() => Some(Err(refused(&closed()))),
                update = self.updates.next() => update,
            }
        };
        let error = match self.recheck.pass(next).await {
            Ok(None) => return None,
            Ok(Some(Ok(update))) => {
                self.guard.sent(1);
                return Some(Ok(pbconv::to_proto_stream_response(&update.response)));
            }
            Ok(Some(Err(error))) => error,
            Err(refusal) => refused(&refusal),
        };
        self.ended = true;
        Some(Err(grpc_status(&error)))
    }
}

/// What a stream ends with when the server does: its caller goes on with the task elsewhere, or later.
fn closed() -> Refusal {
    Refusal::unavailable("the server is shutting down; subscribe to the task again").with("cause", "closing")
}

/// Checks what the conversion would hide: a message that is not there would become an empty one, and so would a part.
fn sent(request: proto::SendMessageRequest, around: factum_a2a::Around) -> Result<Box<Sent>, A2AError> {
    let Some(message) = &request.message else { return Err(invalid_field("message", "is required")) };
    if let Some(at) = message.parts.iter().position(|part| part.content.is_none()) {
        return Err(invalid_field(format!("message.parts[{at}]"), "a part has one of: text, raw, url, data"));
    }
    if proto::Role::try_from(message.role).is_err() {
        return Err(invalid_field("message.role", format!("there is no role {}", message.role)));
    }
    let request = pbconv::from_proto_send_message_request(&request);
    Ok(Box::new(Sent { request, own_task_id: None, idempotency_key: around.idempotency_key }))
}

fn list_tasks(request: &proto::ListTasksRequest) -> Result<Operation, A2AError> {
    if let Some(size) = request.page_size.filter(|size| *size <= 0) {
        return Err(invalid_field("pageSize", format!("must be 1 to {}, not {size}", factum_a2a::PAGE_SIZE_MAX)));
    }
    if proto::TaskState::try_from(request.status).is_err() {
        return Err(invalid_field("status", format!("there is no state {}", request.status)));
    }
    let converted = pbconv::from_proto_list_tasks_request(request);
    if request.status_timestamp_after.is_some() && converted.status_timestamp_after.is_none() {
        return Err(invalid_field("statusTimestampAfter", "must be a time between the years 1 and 9999"));
    }
    Ok(Operation::ListTasks(converted))
}

#[tonic::async_trait]
impl<H: Host> A2aService for Service<H> {
    type SendStreamingMessageStream = Items;
    type SubscribeToTaskStream = Items;

    async fn send_message(
        &self,
        request: Request<proto::SendMessageRequest>,
    ) -> Result<Response<proto::SendMessageResponse>, Status> {
        let read = |message, around| Ok(Operation::SendMessage(sent(message, around)?));
        let called = self.call(request, Name::SendMessage, read).await?;
        let Outcome::Sent(response) = &called.outcome else { return Err(unexpected()) };
        Ok(self.answer(&called, pbconv::to_proto_send_message_response(response)))
    }

    async fn send_streaming_message(
        &self,
        request: Request<proto::SendMessageRequest>,
    ) -> Result<Response<Items>, Status> {
        let read = |message, around| Ok(Operation::StreamMessage(sent(message, around)?));
        let called = self.call(request, Name::StreamMessage, read).await?;
        self.stream(called)
    }

    async fn get_task(&self, request: Request<proto::GetTaskRequest>) -> Result<Response<proto::Task>, Status> {
        let read = |message, _| Ok(Operation::GetTask(pbconv::from_proto_get_task_request(&message)));
        let called = self.call(request, Name::GetTask, read).await?;
        let Outcome::Task(task) = &called.outcome else { return Err(unexpected()) };
        Ok(self.answer(&called, pbconv::to_proto_task(task)))
    }

    async fn list_tasks(
        &self,
        request: Request<proto::ListTasksRequest>,
    ) -> Result<Response<proto::ListTasksResponse>, Status> {
        let called = self.call(request, Name::ListTasks, |message, _| list_tasks(&message)).await?;
        let Outcome::Tasks(tasks) = &called.outcome else { return Err(unexpected()) };
        Ok(self.answer(&called, pbconv::to_proto_list_tasks_response(tasks)))
    }

    async fn cancel_task(&self, request: Request<proto::CancelTaskRequest>) -> Result<Response<proto::Task>, Status> {
        let read = |message, _| Ok(Operation::CancelTask(pbconv::from_proto_cancel_task_request(&message)));
        let called = self.call(request, Name::CancelTask, read).await?;
        let Outcome::Task(task) = &called.outcome else { return Err(unexpected()) };
        Ok(self.answer(&called, pbconv::to_proto_task(task)))
    }

    async fn subscribe_to_task(
        &self,
        request: Request<proto::SubscribeToTaskRequest>,
    ) -> Result<Response<Items>, Status> {
        let read = |message, around: factum_a2a::Around| {
            Ok(Operation::Subscribe(pbconv::from_proto_subscribe_to_task_request(&message), around.after))
        };
        let called = self.call(request, Name::Subscribe, read).await?;
        self.stream(called)
    }

    async fn create_task_push_notification_config(
        &self,
        request: Request<proto::TaskPushNotificationConfig>,
    ) -> Result<Response<proto::TaskPushNotificationConfig>, Status> {
        let read = |message, _| {
            Ok(Operation::CreatePushConfig(pbconv::from_proto_create_task_push_notification_config_request(&message)))
        };
        let called = self.call(request, Name::CreatePushConfig, read).await?;
        let Outcome::PushConfig(config) = &called.outcome else { return Err(unexpected()) };
        Ok(self.answer(&called, pbconv::to_proto_task_push_notification_config(config)))
    }

    async fn get_task_push_notification_config(
        &self,
        request: Request<proto::GetTaskPushNotificationConfigRequest>,
    ) -> Result<Response<proto::TaskPushNotificationConfig>, Status> {
        let read = |message, _| {
            Ok(Operation::GetPushConfig(pbconv::from_proto_get_task_push_notification_config_request(&message)))
        };
        let called = self.call(request, Name::GetPushConfig, read).await?;
        let Outcome::PushConfig(config) = &called.outcome else { return Err(unexpected()) };
        Ok(self.answer(&called, pbconv::to_proto_task_push_notification_config(config)))
    }

    async fn list_task_push_notification_configs(
        &self,
        request: Request<proto::ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Response<proto::ListTaskPushNotificationConfigsResponse>, Status> {
        let read = |message: proto::ListTaskPushNotificationConfigsRequest, _| {
            if message.page_size < 0 {
                return Err(invalid_field("pageSize", "must not be negative"));
            }
            Ok(Operation::ListPushConfigs(pbconv::from_proto_list_task_push_notification_configs_request(&message)))
        };
        let called = self.call(request, Name::ListPushConfigs, read).await?;
        let Outcome::PushConfigs(configs) = &called.outcome else { return Err(unexpected()) };
        Ok(self.answer(&called, pbconv::to_proto_list_task_push_notification_configs_response(configs)))
    }

    async fn get_extended_agent_card(
        &self,
        request: Request<proto::GetExtendedAgentCardRequest>,
    ) -> Result<Response<proto::AgentCard>, Status> {
        let read =
            |message, _| Ok(Operation::ExtendedCard(pbconv::from_proto_get_extended_agent_card_request(&message)));
        let called = self.call(request, Name::ExtendedCard, read).await?;
        let Outcome::Card(card) = &called.outcome else { return Err(unexpected()) };
        Ok(self.answer(&called, pbconv::to_proto_agent_card(card)))
    }

    async fn delete_task_push_notification_config(
        &self,
        request: Request<proto::DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Response<()>, Status> {
        let read = |message, _| {
            Ok(Operation::DeletePushConfig(pbconv::from_proto_delete_task_push_notification_config_request(&message)))
        };
        let called = self.call(request, Name::DeletePushConfig, read).await?;
        Ok(self.answer(&called, ()))
    }
}
