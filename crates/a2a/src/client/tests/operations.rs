//! Every operation in every version and binding, and what the peer sees of it.

use a2a::{
    ListTasksRequest, Message, Part, Role, SendMessageConfiguration, SendMessageRequest, SendMessageResponse,
    StreamResponse, TaskState,
};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::super::{Failure, PeerUpdates};
use super::fake::{Asked, CARD, Fake, card, events, json_of, not_found, rpc};

pub(super) fn hello() -> SendMessageRequest {
    let mut message = Message::new(Role::User, vec![Part::text("hello")]);
    message.message_id = "m1".to_owned();
    let configuration = SendMessageConfiguration {
        accepted_output_modes: None,
        task_push_notification_config: None,
        history_length: None,
        return_immediately: Some(true),
    };
    SendMessageRequest { message, configuration: Some(configuration), metadata: None, tenant: None }
}

pub(super) fn list_of(context_id: &str) -> ListTasksRequest {
    ListTasksRequest {
        context_id: Some(context_id.to_owned()),
        status: None,
        page_size: None,
        page_token: None,
        history_length: None,
        status_timestamp_after: None,
        include_artifacts: None,
        tenant: None,
    }
}

fn new_task(state: &str) -> Value {
    json!({ "id": "t 1", "contextId": "c1", "status": { "state": state } })
}

fn old_task(state: &str) -> Value {
    json!({ "kind": "task", "id": "t 1", "contextId": "c1", "status": { "state": state } })
}

fn new_stream() -> [Value; 2] {
    let done = json!({ "taskId": "t 1", "contextId": "c1", "status": { "state": "TASK_STATE_COMPLETED" } });
    [json!({ "task": new_task("TASK_STATE_WORKING") }), json!({ "statusUpdate": done })]
}

fn old_stream() -> [Value; 2] {
    let done = json!({ "kind": "status-update", "taskId": "t 1", "contextId": "c1", "final": true,
        "status": { "state": "completed" } });
    [old_task("working"), done]
}

fn wrapped(items: [Value; 2]) -> Response {
    events(&items.map(|item| json!({ "jsonrpc": "2.0", "id": 1, "result": item })))
}

fn page() -> Value {
    json!({ "tasks": [new_task("TASK_STATE_WORKING")], "nextPageToken": "", "pageSize": 50, "totalSize": 1 })
}

fn rpc_1_0(asked: &Asked, address: std::net::SocketAddr) -> Response {
    match (asked.path.as_str(), asked.body["method"].as_str().unwrap_or_default()) {
        (CARD, _) => card(address, "/rpc", "JSONRPC", "1.0"),
        ("/rpc", "SendMessage") => rpc(asked, json!({ "task": new_task("TASK_STATE_WORKING") })),
        ("/rpc", "SendStreamingMessage" | "SubscribeToTask") => wrapped(new_stream()),
        ("/rpc", "GetTask") => rpc(asked, new_task("TASK_STATE_WORKING")),
        ("/rpc", "ListTasks") => rpc(asked, page()),
        ("/rpc", "CancelTask") => rpc(asked, new_task("TASK_STATE_CANCELED")),
        _ => not_found(),
    }
}

fn rpc_0_3(asked: &Asked, address: std::net::SocketAddr) -> Response {
    match (asked.path.as_str(), asked.body["method"].as_str().unwrap_or_default()) {
        (CARD, _) => card(address, "/rpc", "JSONRPC", "0.3.0"),
        ("/rpc", "message/send") => rpc(asked, old_task("working")),
        ("/rpc", "message/stream" | "tasks/resubscribe") => wrapped(old_stream()),
        ("/rpc", "tasks/get") => rpc(asked, old_task("working")),
        ("/rpc", "tasks/cancel") => rpc(asked, old_task("canceled")),
        _ => not_found(),
    }
}

fn april_task(state: &str) -> Value {
    json!({ "id": "t 1", "sessionId": "c1", "status": { "state": state } })
}

fn april_stream() -> [Value; 2] {
    ["working", "completed"]
        .map(|state| json!({ "id": "t 1", "status": { "state": state }, "final": state != "working" }))
}

fn rpc_april(asked: &Asked, address: std::net::SocketAddr) -> Response {
    match (asked.path.as_str(), asked.body["method"].as_str().unwrap_or_default()) {
        ("/.well-known/agent.json", _) => json_of(json!({ "name": "old", "url": format!("http://{address}/rpc"),
            "version": "1", "capabilities": { "streaming": true }, "authentication": { "schemes": ["bearer"] } })),
        ("/rpc", "tasks/send" | "tasks/get") => rpc(asked, april_task("working")),
        ("/rpc", "tasks/sendSubscribe" | "tasks/resubscribe") => wrapped(april_stream()),
        ("/rpc", "tasks/cancel") => rpc(asked, april_task("canceled")),
        _ => not_found(),
    }
}

fn rest_1_0(asked: &Asked, address: std::net::SocketAddr) -> Response {
    match (asked.method.as_str(), asked.path.as_str()) {
        (_, CARD) => card(address, "/a2a/", "HTTP+JSON", "1.0"),
        ("POST", "/a2a/message:send") => json_of(json!({ "task": new_task("TASK_STATE_WORKING") })),
        ("POST", "/a2a/message:stream" | "/a2a/tasks/t%201:subscribe") => events(&new_stream()),
        ("GET", "/a2a/tasks/t%201?historyLength=3") => json_of(new_task("TASK_STATE_WORKING")),
        ("GET", "/a2a/tasks?contextId=c1") => json_of(page()),
        ("POST", "/a2a/tasks/t%201:cancel") => json_of(new_task("TASK_STATE_CANCELED")),
        _ => not_found(),
    }
}

/// As the protocol buffers of 0.3 have it.
fn rest_0_3(asked: &Asked, address: std::net::SocketAddr) -> Response {
    let parts = &asked.body["message"]["content"];
    match (asked.method.as_str(), asked.path.as_str()) {
        (_, CARD) => card(address, "/a2a", "HTTP+JSON", "0.3"),
        ("POST", "/a2a/v1/message:send" | "/a2a/v1/message:stream") if *parts != json!([{ "text": "hello" }]) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "cannot be parsed").into_response()
        }
        ("POST", "/a2a/v1/message:send") => json_of(json!({ "task": new_task("TASK_STATE_WORKING") })),
        ("POST", "/a2a/v1/message:stream") | ("GET", "/a2a/v1/tasks/t%201:subscribe") => events(&new_stream()),
        (_, "/a2a/v1/tasks/t%201:subscribe") => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        ("GET", "/a2a/v1/tasks/t%201?historyLength=3") => json_of(new_task("TASK_STATE_WORKING")),
        ("POST", "/a2a/v1/tasks/t%201:cancel") => json_of(new_task("TASK_STATE_CANCELLED")),
        _ => not_found(),
    }
}

/// In the words of JSON-RPC, as JavaScript's server had it for a while.
fn plain_0_3(asked: &Asked, address: std::net::SocketAddr) -> Response {
    match (asked.method.as_str(), asked.path.as_str()) {
        (_, CARD) => card(address, "/a2a", "HTTP+JSON", "0.3"),
        ("POST", "/a2a/v1/message:send" | "/a2a/v1/message:stream") if !asked.body["message"]["parts"].is_array() => {
            let refusal = json!({ "code": -32602, "message": "message.parts must be an array" });
            (StatusCode::BAD_REQUEST, refusal.to_string()).into_response()
        }
        ("POST", "/a2a/v1/message:send") => json_of(old_task("working")),
        ("POST", "/a2a/v1/message:stream" | "/a2a/v1/tasks/t%201:subscribe") => events(&old_stream()),
        ("GET", "/a2a/v1/tasks/t%201?historyLength=3") => json_of(old_task("working")),
        ("POST", "/a2a/v1/tasks/t%201:cancel") => json_of(old_task("canceled")),
        _ => not_found(),
    }
}

pub(super) async fn states(mut updates: PeerUpdates) -> Vec<(Option<String>, TaskState)> {
    let mut seen = Vec::new();
    while let Some(update) = updates.next().await.unwrap() {
        let state = match update.response {
            StreamResponse::Task(task) => task.status.state,
            StreamResponse::StatusUpdate(update) => update.status.state,
            other => panic!("{other:?}"),
        };
        seen.push((update.event_id, state));
    }
    seen
}

#[tokio::test]
async fn every_operation_works_in_every_version_and_binding() {
    let ways: [(&str, super::fake::Answering); 6] = [
        ("rpc 1.0", rpc_1_0),
        ("rpc 0.3", rpc_0_3),
        ("rest 1.0", rest_1_0),
        ("rest 0.3", rest_0_3),
        ("plain rest 0.3", plain_0_3),
        ("rpc of april", rpc_april),
    ];
    for (way, answering) in ways {
        let fake = Fake::start(answering).await;
        let peer = fake.with_bearer("secret").await.unwrap();
        let (april, old) = (way == "rpc of april", !way.ends_with("1.0"));
        assert_eq!(peer.tasks_are_named_by_messages(), april, "{way}");

        let SendMessageResponse::Task(task) = peer.send(hello(), Some("key-1")).await.unwrap() else { panic!("{way}") };
        assert_eq!((task.id.as_str(), &task.status.state), ("t 1", &TaskState::Working), "{way}");
        let asked = fake.last();
        assert_eq!(
            (asked.header("Idempotency-Key"), asked.header("Authorization")),
            ("key-1", "Bearer secret"),
            "{way}"
        );
        let version = if april { "" } else { &way[way.len() - 3..] };
        assert_eq!(asked.header("A2A-Version"), version, "{way}");
        let params = if way.starts_with("rpc") { &asked.body["params"] } else { &asked.body };
        let role = if old && way != "rest 0.3" { "user" } else { "ROLE_USER" };
        assert_eq!(params["message"]["role"], role, "{way}");
        assert_eq!(if april { &params["id"] } else { &params["message"]["messageId"] }, "m1", "{way}");

        let expected = [(Some("1".to_owned()), TaskState::Working), (Some("2".to_owned()), TaskState::Completed)];
        assert_eq!(states(peer.stream(hello(), None).await.unwrap()).await, expected, "{way}");
        assert_eq!(states(peer.subscribe("t 1", Some("7")).await.unwrap()).await, expected, "{way}");
        assert_eq!(fake.last().header("Last-Event-ID"), "7", "{way}");
        assert_eq!(peer.get("t 1", Some(3)).await.unwrap().status.state, TaskState::Working, "{way}");
        assert_eq!(peer.cancel("t 1").await.unwrap().status.state, TaskState::Canceled, "{way}");

        let native = peer.native_status(&TaskState::Working, None);
        assert_eq!(native, if old { "working" } else { "TASK_STATE_WORKING" }, "{way}");
        let before = fake.asked().len();
        let listed = peer.list(list_of("c1")).await;
        if old {
            assert!(matches!(listed, Err(Failure::Refused { .. })), "{way}: {listed:?}");
            assert_eq!(fake.asked().len(), before, "{way}: what it does not have is not asked for");
        } else {
            assert_eq!(listed.unwrap().tasks.len(), 1, "{way}");
        }
    }
}

/// Some servers take subscriptions by POST and some by GET. Which one it is is found out once.
#[tokio::test]
async fn a_subscription_is_asked_for_by_the_method_that_the_peer_takes() {
    fn by_get(asked: &Asked, address: std::net::SocketAddr) -> Response {
        match (asked.method.as_str(), asked.path.as_str()) {
            (_, CARD) => card(address, "/a2a", "HTTP+JSON", "1.0"),
            ("GET", "/a2a/tasks/t%201:subscribe") => events(&new_stream()),
            _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        }
    }
    let fake = Fake::start(by_get).await;
    let peer = fake.discover().await.unwrap();
    for peer in [peer.clone(), peer] {
        assert_eq!(states(peer.subscribe("t 1", Some("7")).await.unwrap()).await.len(), 2);
    }
    let asked = fake.asked();
    let methods: Vec<&str> = asked.iter().skip(1).map(|asked| asked.method.as_str()).collect();
    assert_eq!(methods, ["POST", "GET", "GET"]);
    assert!(asked.iter().skip(1).all(|asked| asked.header("Last-Event-ID") == "7"));
}

#[tokio::test]
async fn a_peer_that_takes_no_subscription_is_asked_twice_and_no_more() {
    let fake = Fake::start(|asked, address| match asked.path.as_str() {
        CARD => card(address, "/a2a", "HTTP+JSON", "1.0"),
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    })
    .await;
    let failure = fake.discover().await.unwrap().subscribe("t 1", None).await.err();
    assert!(matches!(failure, Some(Failure::Malformed { .. })), "{failure:?}");
    assert_eq!(fake.asked().len(), 3);
}

#[tokio::test]
async fn a_peer_that_does_not_stream_after_all_gives_what_there_is() {
    let fake = Fake::start(|asked, address| match asked.path.as_str() {
        CARD => card(address, "/rpc", "JSONRPC", "1.0"),
        _ => rpc(asked, json!({ "task": new_task("TASK_STATE_COMPLETED") })),
    })
    .await;
    let updates = fake.discover().await.unwrap().stream(hello(), None).await.unwrap();
    assert_eq!(states(updates).await, [(None, TaskState::Completed)]);
}

#[tokio::test]
async fn a_tenant_is_named_as_each_binding_names_it() {
    fn answering(asked: &Asked, address: std::net::SocketAddr) -> Response {
        let binding = if asked.path.starts_with("/rest") { "HTTP+JSON" } else { "JSONRPC" };
        match asked.path.as_str() {
            "/rest/.well-known/agent-card.json" | CARD => json_of(json!({
                "name": "fake", "capabilities": {},
                "supportedInterfaces": [{ "url": format!("http://{address}/x"), "protocolBinding": binding,
                    "protocolVersion": "1.0", "tenant": "a/b" }],
            })),
            "/x" => rpc(asked, new_task("TASK_STATE_WORKING")),
            "/x/a%2Fb/tasks/t" => json_of(new_task("TASK_STATE_WORKING")),
            _ => not_found(),
        }
    }
    let fake = Fake::start(answering).await;
    fake.discover().await.unwrap().get("t", None).await.unwrap();
    assert_eq!(fake.last().body["params"]["tenant"], "a/b");
    let options = super::super::PeerOptions { url: format!("http://{}/rest", fake.address), ..fake.options() };
    let peer = super::super::discover(&super::fake::client(), options).await.unwrap();
    peer.get("t", None).await.unwrap();
}

/// However it is escaped, an address takes it for this place or the one above.
#[tokio::test]
async fn an_id_that_is_a_step_of_a_path_is_not_sent() {
    let fake = Fake::start(|asked, address| match asked.path.as_str() {
        CARD => card(address, "/rest", "HTTP+JSON", "1.0"),
        _ => json_of(new_task("TASK_STATE_WORKING")),
    })
    .await;
    let peer = fake.discover().await.unwrap();
    for id in [".", ".."] {
        let failure = peer.get(id, None).await.unwrap_err();
        assert!(matches!(failure, Failure::Malformed { may_have_arrived: false, .. }), "{failure}");
    }
    assert_eq!(fake.asked().len(), 1, "its card was read");
    peer.get("...", None).await.unwrap();
}

/// Where a stream goes on is said in a header.
#[tokio::test]
async fn an_event_id_that_no_header_can_hold_is_none() {
    let fake = Fake::start(|asked, address| match asked.path.as_str() {
        CARD => card(address, "/rpc", "JSONRPC", "1.0"),
        _ => {
            let task = json!({ "jsonrpc": "2.0", "id": 1, "result": { "task": new_task("TASK_STATE_WORKING") } });
            let text = ["\u{7f}", "a\u{1}b", "7 b"].map(|id| format!("id: {id}\ndata: {task}\n\n")).concat();
            ([("content-type", "text/event-stream")], text).into_response()
        }
    })
    .await;
    let mut updates = fake.discover().await.unwrap().subscribe("t 1", None).await.unwrap();
    let mut ids = Vec::new();
    while let Some(update) = updates.next().await.unwrap() {
        ids.push(update.event_id);
    }
    assert_eq!(ids, [None, None, Some("7 b".to_owned())]);
}
