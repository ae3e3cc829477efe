//! A peer that speaks gRPC by a real server of tonic, and remembers what it was asked. What it answers goes by the id of the
//! task, or by the text of the message.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use a2a_pb::proto;
use a2a_pb::proto::a2a_service_server::{A2aService, A2aServiceServer};
use axum::routing::get;
use futures::{Stream, StreamExt, stream};
use http::HeaderMap;
use parking_lot::Mutex;
use serde_json::json;
use tonic::{Code, Request, Response, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::super::super::{Credential, PeerOptions};
use super::super::fake::CARD;

/// A peer that offers nothing but gRPC.
pub(super) struct Fake {
    pub(super) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// What it was asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) call: &'static str,
    pub(super) headers: HeaderMap,
    pub(super) tenant: String,
    pub(super) history_length: Option<i32>,
    pub(super) message: Option<proto::Message>,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Fake {
    pub(super) async fn start() -> Self {
        Self::with_url(|address| address.to_string()).await
    }

    /// One whose card names this address.
    pub(super) async fn with_url(url: impl Fn(SocketAddr) -> String) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let card = json!({
            "name": "fake", "capabilities": { "streaming": true },
            "supportedInterfaces": [
                { "url": url(address), "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": "acme" }
            ],
        });
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let service = A2aServiceServer::new(Service { asked: asked.clone() });
        let router = tonic::service::Routes::new(service).into_axum_router();
        let router = router.route(CARD, get(|| async move { card.to_string() }));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, asked }
    }

    pub(super) fn options(&self) -> PeerOptions {
        let credential = Credential::Bearer("secret".to_owned().into());
        PeerOptions { url: format!("http://{}", self.address), credential, ..PeerOptions::default() }
    }

    pub(super) fn last(&self) -> Asked {
        self.asked.lock().last().unwrap().clone()
    }
}

struct Service {
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Service {
    fn note<T>(&self, call: &'static str, request: &Request<T>, tenant: &str) {
        let headers = request.metadata().clone().into_headers();
        self.asked.lock().push(Asked { call, headers, tenant: tenant.to_owned(), ..Asked::default() });
    }

    fn note_message(&self, call: &'static str, request: &Request<proto::SendMessageRequest>) -> String {
        self.note(call, request, &request.get_ref().tenant);
        let message = request.get_ref().message.clone().unwrap();
        let text = match message.parts.first().and_then(|part| part.content.clone()) {
            Some(proto::part::Content::Text(text)) => text,
            _ => String::new(),
        };
        if let Some(asked) = self.asked.lock().last_mut() {
            asked.message = Some(message);
        }
        text
    }
}

pub(super) fn task(id: &str, state: proto::TaskState) -> proto::Task {
    let status = proto::TaskStatus { state: state.into(), ..Default::default() };
    proto::Task { id: id.to_owned(), context_id: "c1".to_owned(), status: Some(status), ..Default::default() }
}

fn status_update(state: proto::TaskState) -> proto::StreamResponse {
    let status = proto::TaskStatus { state: state.into(), ..Default::default() };
    let update = proto::TaskStatusUpdateEvent {
        task_id: "t 1".to_owned(),
        context_id: "c1".to_owned(),
        status: Some(status),
        ..Default::default()
    };
    proto::StreamResponse { payload: Some(proto::stream_response::Payload::StatusUpdate(update)) }
}

fn snapshot() -> proto::StreamResponse {
    let task = task("t 1", proto::TaskState::Working);
    proto::StreamResponse { payload: Some(proto::stream_response::Payload::Task(task)) }
}

/// A task that is larger than the bounds of the tests.
fn large() -> proto::Task {
    let text = proto::part::Content::Text("x".repeat(10_000));
    let part = proto::Part { content: Some(text), ..Default::default() };
    let artifact = proto::Artifact { artifact_id: "a".to_owned(), parts: vec![part], ..Default::default() };
    proto::Task { artifacts: vec![artifact], ..task("t 1", proto::TaskState::Working) }
}

fn with_reason(code: Code, reason: &str) -> Status {
    let details = ErrorDetails::with_error_info(reason, "a2a-protocol.org", HashMap::new());
    Status::with_error_details(code, "no", details)
}

/// The task or the error that an id stands for.
async fn answer(id: &str) -> Result<proto::Task, Status> {
    match id {
        "gone" => Err(with_reason(Code::NotFound, "TASK_NOT_FOUND")),
        "over" => Err(with_reason(Code::FailedPrecondition, "UNSUPPORTED_OPERATION")),
        "broken" => Err(with_reason(Code::Internal, "INTERNAL_ERROR")),
        "closing" => Err(with_reason(Code::Unavailable, "UNAVAILABLE")),
        "often" => Err(with_reason(Code::ResourceExhausted, "RATE_LIMITED")),
        "unknown" => Err(with_reason(Code::Unauthenticated, "UNAUTHENTICATED")),
        "conflict" => Err(with_reason(Code::Aborted, "CONFLICT")),
        "never" => std::future::pending().await,
        "large" => Ok(large()),
        "no id" => Ok(task("", proto::TaskState::Working)),
        "no status" => Ok(proto::Task { status: None, ..task("t", proto::TaskState::Working) }),
        "no state" => {
            let status = proto::TaskStatus { state: 99, ..Default::default() };
            Ok(proto::Task { status: Some(status), ..task("t", proto::TaskState::Working) })
        }
        id => match id.strip_prefix("code ").and_then(|code| code.parse::<i32>().ok()) {
            Some(code) => Err(Status::new(Code::from(code), "plainly")),
            None => Ok(task(id, proto::TaskState::Working)),
        },
    }
}

type Items = Pin<Box<dyn Stream<Item = Result<proto::StreamResponse, Status>> + Send>>;

/// The stream that an id or a text stands for.
fn items(of: &str) -> Items {
    let first = stream::once(async { Ok(snapshot()) });
    match of {
        "silent" => Box::pin(first.chain(stream::pending())),
        "breaks" => Box::pin(stream::iter([Ok(snapshot()), Err(with_reason(Code::NotFound, "TASK_NOT_FOUND"))])),
        "large" => {
            let payload = proto::stream_response::Payload::Task(large());
            Box::pin(stream::iter([Ok(snapshot()), Ok(proto::StreamResponse { payload: Some(payload) })]))
        }
        "empty" => Box::pin(stream::iter([Ok(proto::StreamResponse { payload: None })])),
        _ => Box::pin(stream::iter([Ok(snapshot()), Ok(status_update(proto::TaskState::Completed))])),
    }
}

#[tonic::async_trait]
impl A2aService for Service {
    type SendStreamingMessageStream = Items;
    type SubscribeToTaskStream = Items;

    async fn send_message(
        &self,
        request: Request<proto::SendMessageRequest>,
    ) -> Result<Response<proto::SendMessageResponse>, Status> {
        let text = self.note_message("send", &request);
        let payload = proto::send_message_response::Payload::Task(task("t 1", proto::TaskState::Working));
        Ok(Response::new(proto::SendMessageResponse { payload: (text != "nothing").then_some(payload) }))
    }

    async fn send_streaming_message(
        &self,
        request: Request<proto::SendMessageRequest>,
    ) -> Result<Response<Items>, Status> {
        Ok(Response::new(items(&self.note_message("stream", &request))))
    }

    async fn get_task(&self, request: Request<proto::GetTaskRequest>) -> Result<Response<proto::Task>, Status> {
        self.note("get", &request, &request.get_ref().tenant);
        if let Some(asked) = self.asked.lock().last_mut() {
            asked.history_length = request.get_ref().history_length;
        }
        answer(&request.get_ref().id).await.map(Response::new)
    }

    async fn list_tasks(
        &self,
        request: Request<proto::ListTasksRequest>,
    ) -> Result<Response<proto::ListTasksResponse>, Status> {
        self.note("list", &request, &request.get_ref().tenant);
        let tasks = vec![task(&request.get_ref().context_id, proto::TaskState::Working)];
        Ok(Response::new(proto::ListTasksResponse { tasks, page_size: 50, total_size: 1, ..Default::default() }))
    }

    async fn cancel_task(&self, request: Request<proto::CancelTaskRequest>) -> Result<Response<proto::Task>, Status> {
        self.note("cancel", &request, &request.get_ref().tenant);
        answer(&request.get_ref().id).await?;
        Ok(Response::new(task(&request.get_ref().id, proto::TaskState::Canceled)))
    }

    async fn subscribe_to_task(
        &self,
        request: Request<proto::SubscribeToTaskRequest>,
    ) -> Result<Response<Items>, Status> {
        self.note("subscribe", &request, &request.get_ref().tenant);
        answer(&request.get_ref().id).await?;
        Ok(Response::new(items(&request.get_ref().id)))
    }

    async fn create_task_push_notification_config(
        &self,
        _: Request<proto::TaskPushNotificationConfig>,
    ) -> Result<Response<proto::TaskPushNotificationConfig>, Status> {
        Err(Status::unimplemented("not asked for"))
    }

    async fn get_task_push_notification_config(
        &self,
        _: Request<proto::GetTaskPushNotificationConfigRequest>,
    ) -> Result<Response<proto::TaskPushNotificationConfig>, Status> {
        Err(Status::unimplemented("not asked for"))
    }

    async fn list_task_push_notification_configs(
        &self,
        _: Request<proto::ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Response<proto::ListTaskPushNotificationConfigsResponse>, Status> {
        Err(Status::unimplemented("not asked for"))
    }

    async fn get_extended_agent_card(
        &self,
        _: Request<proto::GetExtendedAgentCardRequest>,
    ) -> Result<Response<proto::AgentCard>, Status> {
        Err(Status::unimplemented("not asked for"))
    }

    async fn delete_task_push_notification_config(
        &self,
        _: Request<proto::DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Response<()>, Status> {
        Err(Status::unimplemented("not asked for"))
    }
}
