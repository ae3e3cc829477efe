//! gRPC over a real connection, with the official client.

use a2a_pb::proto;
use a2a_pb::proto::a2a_service_client::A2aServiceClient;
use tokio::net::TcpListener;
use tonic::transport::Channel;
use tonic::{Request as Call, Status};
use tonic_types::StatusExt;

use super::*;
use crate::a2a::status::grpc_name;

/// A client of a server on loopback.
pub(super) struct Grpc {
    pub(super) client: A2aServiceClient<Channel>,
    pub(super) url: String,
    server: tokio::task::JoinHandle<()>,
}

impl Drop for Grpc {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// An error as the client sees it.
pub(super) struct Told {
    pub(super) status: String,
    pub(super) message: String,
    pub(super) reason: String,
    pub(super) domain: String,
}

impl Grpc {
    pub(super) async fn start(world: &World) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = world.router.clone().layer(axum::Extension(Peer(LOOPBACK)));
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let client = A2aServiceClient::connect(url.clone()).await.unwrap();
        Self { client, url, server }
    }

    pub(super) async fn error(&mut self, id: &str) -> Told {
        self.error_with(id, "a2a-version", "1.0").await
    }

    pub(super) async fn error_with(&mut self, id: &str, name: &'static str, value: &str) -> Told {
        let mut call = Call::new(proto::GetTaskRequest { id: id.to_owned(), ..Default::default() });
        call.metadata_mut().insert(name, value.parse().unwrap());
        told(&self.client.get_task(call).await.unwrap_err())
    }
}

fn told(status: &Status) -> Told {
    let details = status.get_error_details();
    let info = details.error_info().cloned().unwrap_or_else(|| panic!("no ErrorInfo in {status:?}"));
    let name = grpc_name(status.code()).to_owned();
    Told { status: name, message: status.message().to_owned(), reason: info.reason, domain: info.domain }
}

pub(super) fn send(text: &str) -> proto::SendMessageRequest {
    let part = proto::Part { content: Some(proto::part::Content::Text(text.to_owned())), ..Default::default() };
    let message = proto::Message {
        message_id: "m".to_owned(),
        role: proto::Role::User.into(),
        parts: vec![part],
        ..Default::default()
    };
    proto::SendMessageRequest { message: Some(message), ..Default::default() }
}

pub(super) fn subscribe(id: &str) -> proto::SubscribeToTaskRequest {
    proto::SubscribeToTaskRequest { id: id.to_owned(), ..Default::default() }
}

/// What the card of an agent says about gRPC leads to that agent and to no other.
#[tokio::test]
async fn every_agent_is_reached_as_its_card_says() {
    let world = World::guarded(A2aOptions::default()).await;
    let mut grpc = Grpc::start(&world).await;
    for agent in ["demo", "waiting"] {
        let path = format!("/a2a/agents/{agent}/.well-known/agent-card.json");
        let card = world.ask("GET", &path, &[("a2a-version", "1.0")], None).await.json();
        let interfaces = card["supportedInterfaces"].as_array().unwrap();
        let interface = interfaces.iter().find(|interface| interface["protocolBinding"] == "GRPC").unwrap();
        let tenant = interface["tenant"].as_str().unwrap_or_default().to_owned();
        grpc.client.send_message(proto::SendMessageRequest { tenant, ..send("hi") }).await.unwrap();
        assert_eq!(world.fake.asked()[0]["agent"], agent);
    }
    let tenant = "agents/waiting".to_owned();
    let card = grpc.client.get_extended_agent_card(proto::GetExtendedAgentCardRequest { tenant }).await.unwrap();
    let card = card.into_inner();
    let tenants: Vec<&str> = card.supported_interfaces.iter().map(|interface| interface.tenant.as_str()).collect();
    assert_eq!((card.name.as_str(), tenants), ("waiting", vec!["dev", "dev", "dev", "dev", "agents/waiting/dev"]));
    let tenant = "agents/nobody".to_owned();
    let nobody = grpc.client.send_message(proto::SendMessageRequest { tenant, ..send("hi") }).await.unwrap_err();
    let nobody = told(&nobody);
    assert_eq!((nobody.status.as_str(), nobody.reason.as_str()), ("NOT_FOUND", "NOT_FOUND"));
}

#[tokio::test]
async fn the_extended_card_is_signed() {
    let world = World::guarded(A2aOptions { card_key: Some(super::cards::key()), ..A2aOptions::default() }).await;
    let keys = world.ask("GET", "/.well-known/jwks.json", &[], None).await.text;
    let mut grpc = Grpc::start(&world).await;
    let card = grpc.client.get_extended_agent_card(proto::GetExtendedAgentCardRequest::default()).await.unwrap();
    let card = a2a_pb::pbconv::from_proto_agent_card(&card.into_inner());
    factum_a2a::verify_card(&json!(card).to_string(), &keys).unwrap();
}

#[tokio::test]
async fn every_method() {
    let world = World::guarded(A2aOptions { push_notifications: true, ..A2aOptions::default() }).await;
    let mut grpc = Grpc::start(&world).await;
    let client = &mut grpc.client;
    let (task_id, id) = ("t".to_owned(), "c".to_owned());

    let sent = client.send_message(send("hi")).await.unwrap().into_inner();
    let Some(proto::send_message_response::Payload::Task(task)) = sent.payload else { panic!("{sent:?}") };
    assert_eq!((task.id.as_str(), task.status.unwrap().state()), ("t", proto::TaskState::Completed));

    let mut items = client.send_streaming_message(send("hi")).await.unwrap().into_inner();
    let mut count = 0;
    while let Some(item) = items.message().await.unwrap() {
        assert!(item.payload.is_some());
        count += 1;
    }
    assert_eq!(count, 4);

    let get = proto::GetTaskRequest { id: "t".to_owned(), history_length: Some(2), ..Default::default() };
    assert_eq!(client.get_task(get).await.unwrap().into_inner().id, "t");
    let list = client.list_tasks(proto::ListTasksRequest::default()).await.unwrap().into_inner();
    assert_eq!((list.tasks.len(), list.page_size, list.total_size), (1, 50, 1));
    let cancel = proto::CancelTaskRequest { id: "t".to_owned(), ..Default::default() };
    assert_eq!(
        client.cancel_task(cancel).await.unwrap().into_inner().status.unwrap().state(),
        proto::TaskState::Canceled
    );
    let mut call = Call::new(subscribe("t"));
    call.metadata_mut().insert("last-event-id", "3".parse().unwrap());
    let mut items = client.subscribe_to_task(call).await.unwrap().into_inner();
    assert!(items.message().await.unwrap().is_some() && items.message().await.unwrap().is_some());
    assert!(items.message().await.unwrap().is_none());

    let config =
        proto::TaskPushNotificationConfig { task_id: "t".to_owned(), url: "u".to_owned(), ..Default::default() };
    assert_eq!(client.create_task_push_notification_config(config).await.unwrap().into_inner().url, "u");
    let get =
        proto::GetTaskPushNotificationConfigRequest { task_id: task_id.clone(), id: id.clone(), ..Default::default() };
    assert_eq!(client.get_task_push_notification_config(get).await.unwrap().into_inner().id, "c");
    let list = proto::ListTaskPushNotificationConfigsRequest { task_id: task_id.clone(), ..Default::default() };
    assert_eq!(client.list_task_push_notification_configs(list).await.unwrap().into_inner().configs.len(), 1);
    let delete = proto::DeleteTaskPushNotificationConfigRequest { task_id, id, ..Default::default() };
    client.delete_task_push_notification_config(delete).await.unwrap();
    let card =
        client.get_extended_agent_card(proto::GetExtendedAgentCardRequest::default()).await.unwrap().into_inner();
    assert_eq!((card.name.as_str(), card.skills.len()), ("demo", 2));

    let operations: Vec<_> = world.fake.asked().into_iter().map(|asked| asked["operation"].clone()).collect();
    let expected = [
        "send",
        "stream",
        "get",
        "list",
        "cancel",
        "subscribe",
        "createPush",
        "getPush",
        "listPush",
        "deletePush",
        "card",
    ];
    assert_eq!(operations, expected);
}

#[tokio::test]
async fn metadata_says_what_headers_say() {
    let world =
        World::new(A2aOptions { required_extensions: vec!["https://e.example/1".to_owned()], ..A2aOptions::default() })
            .await;
    let mut grpc = Grpc::start(&world).await;
    let refused = grpc.error("t").await;
    assert_eq!(
        (refused.status.as_str(), refused.reason.as_str()),
        ("FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED")
    );
    let mut call = Call::new(send("hi"));
    for (name, value) in
        [("a2a-version", "1.0"), ("a2a-extensions", "https://e.example/1"), ("idempotency-key", "once")]
    {
        call.metadata_mut().insert(name, value.parse().unwrap());
    }
    let answer = grpc.client.send_message(call).await.unwrap();
    assert_eq!(answer.metadata().get("a2a-extensions").unwrap(), "https://e.example/1");
    assert_eq!(world.fake.asked()[0]["idempotencyKey"], "once");
    for version in ["0.3", "9.9"] {
        let refused = grpc.error_with("t", "a2a-version", version).await;
        assert_eq!(
            (refused.status.as_str(), refused.reason.as_str()),
            ("FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED")
        );
    }
}

#[tokio::test]
async fn what_the_conversion_would_hide_is_refused() {
    let world = World::open().await;
    let mut grpc = Grpc::start(&world).await;
    let client = &mut grpc.client;
    let mut no_content = send("hi");
    no_content.message.as_mut().unwrap().parts[0].content = None;
    let mut no_role = send("hi");
    no_role.message.as_mut().unwrap().role = 7;
    let mut no_parts = send("hi");
    no_parts.message.as_mut().unwrap().parts.clear();
    let mut agent = send("hi");
    agent.message.as_mut().unwrap().role = proto::Role::Agent.into();
    let table = [
        (proto::SendMessageRequest::default(), "message"),
        (no_content, "message.parts[0]"),
        (no_role, "message.role"),
        (no_parts, "message.parts"),
        (agent, "message.role"),
    ];
    for (request, field) in table {
        let status = client.send_message(request).await.unwrap_err();
        assert_eq!(status.code(), tonic::Code::InvalidArgument, "{field}: {status:?}");
        let details = status.get_error_details();
        assert_eq!(details.bad_request().unwrap().field_violations[0].field, field);
        assert_eq!(details.error_info().unwrap().reason, "INVALID_PARAMS");
    }
    for request in [
        proto::ListTasksRequest { page_size: Some(0), ..Default::default() },
        proto::ListTasksRequest { page_size: Some(101), ..Default::default() },
        proto::ListTasksRequest { status: 99, ..Default::default() },
        proto::ListTasksRequest { history_length: Some(-1), ..Default::default() },
    ] {
        let status = client.list_tasks(request).await.unwrap_err();
        assert_eq!(status.code(), tonic::Code::InvalidArgument, "{status:?}");
    }
    assert!(world.fake.asked().is_empty());
}

#[tokio::test]
async fn a_method_that_is_not_there_is_told_like_every_error() {
    let world = World::open().await;
    let grpc = Grpc::start(&world).await;
    let channel = Channel::from_shared(grpc.url.clone()).unwrap().connect().await.unwrap();
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.unwrap();
    let codec = tonic_prost::ProstCodec::<proto::GetTaskRequest, proto::Task>::default();
    let path = http::uri::PathAndQuery::from_static("/lf.a2a.v1.A2AService/Nope");
    let status = client.unary(Call::new(proto::GetTaskRequest::default()), path, codec).await.unwrap_err();
    let told = told(&status);
    assert_eq!((told.status.as_str(), told.reason.as_str()), ("UNIMPLEMENTED", "METHOD_NOT_FOUND"));
}

#[tokio::test]
async fn a_stream_that_breaks_says_why() {
    let world = World::open().await;
    let mut grpc = Grpc::start(&world).await;
    let mut items = grpc.client.send_streaming_message(send("breaks")).await.unwrap().into_inner();
    assert!(items.message().await.unwrap().is_some() && items.message().await.unwrap().is_some());
    assert_eq!(told(&items.message().await.unwrap_err()).reason, "INTERNAL_ERROR");

    let subscribe = proto::SubscribeToTaskRequest { id: "hangs".to_owned(), ..Default::default() };
    let mut items = grpc.client.subscribe_to_task(subscribe).await.unwrap().into_inner();
    for _ in 0..4 {
        assert!(items.message().await.unwrap().is_some());
    }
    world.state.runtime.begin_close();
    let end = told(&items.message().await.unwrap_err());
    assert_eq!((end.status.as_str(), end.reason.as_str()), ("UNAVAILABLE", "UNAVAILABLE"), "the task goes on");
    assert!(items.message().await.unwrap().is_none());
}
