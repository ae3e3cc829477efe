//! The table of errors (1.0 §5.4), on every binding and in every version.

use factum_a2a::Kind;
use factum_model::ErrorCode;

use super::grpc::Grpc;
use super::*;

/// Code, reason, HTTP's status, gRPC's.
const TABLE: [(i32, &str, u16, &str); 14] = [
    (-32001, "TASK_NOT_FOUND", 404, "NOT_FOUND"),
    (-32002, "TASK_NOT_CANCELABLE", 400, "FAILED_PRECONDITION"),
    (-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", 400, "FAILED_PRECONDITION"),
    (-32004, "UNSUPPORTED_OPERATION", 400, "FAILED_PRECONDITION"),
    (-32005, "CONTENT_TYPE_NOT_SUPPORTED", 400, "INVALID_ARGUMENT"),
    (-32006, "INVALID_AGENT_RESPONSE", 500, "INTERNAL"),
    (-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", 400, "FAILED_PRECONDITION"),
    (-32008, "EXTENSION_SUPPORT_REQUIRED", 400, "FAILED_PRECONDITION"),
    (-32009, "VERSION_NOT_SUPPORTED", 400, "FAILED_PRECONDITION"),
    (-32700, "PARSE_ERROR", 400, "INVALID_ARGUMENT"),
    (-32600, "INVALID_REQUEST", 400, "INVALID_ARGUMENT"),
    (-32601, "METHOD_NOT_FOUND", 404, "UNIMPLEMENTED"),
    (-32602, "INVALID_PARAMS", 400, "INVALID_ARGUMENT"),
    (-32603, "INTERNAL_ERROR", 500, "INTERNAL"),
];

/// Refusals of ours that A2A has no number for.
const OURS: [(ErrorCode, &str, u16, &str); 7] = [
    (ErrorCode::PermissionDenied, "PERMISSION_DENIED", 403, "PERMISSION_DENIED"),
    (ErrorCode::Unauthenticated, "UNAUTHENTICATED", 401, "UNAUTHENTICATED"),
    (ErrorCode::Conflict, "CONFLICT", 409, "ABORTED"),
    (ErrorCode::PreconditionFailed, "PRECONDITION_FAILED", 412, "FAILED_PRECONDITION"),
    (ErrorCode::LimitExceeded, "LIMIT_EXCEEDED", 413, "RESOURCE_EXHAUSTED"),
    (ErrorCode::RateLimited, "RATE_LIMITED", 429, "RESOURCE_EXHAUSTED"),
    (ErrorCode::Unavailable, "UNAVAILABLE", 503, "UNAVAILABLE"),
];

#[tokio::test]
async fn every_error_on_every_binding() {
    let world = World::open().await;
    let mut grpc = Grpc::start(&world).await;
    let ours =
        OURS.map(|(code, reason, http, status)| (format!("refused:{}", code.as_str()), -32000, reason, http, status));
    let table = TABLE.map(|(code, reason, http, status)| (format!("error:{code}"), code, reason, http, status));
    for (id, code, reason, http, status) in table.into_iter().chain(ours) {
        let info = |value: &Value| {
            assert_eq!(value["@type"], "type.googleapis.com/google.rpc.ErrorInfo", "{id}");
            assert_eq!((&value["reason"], &value["domain"]), (&json!(reason), &json!("a2a-protocol.org")), "{id}");
        };
        for (version, method) in [("1.0", "GetTask"), ("0.3", "tasks/get")] {
            let answer = world.rpc(Some(version), method, json!({ "id": id })).await;
            let error = &answer["error"];
            assert_eq!((&error["code"], &error["message"]), (&json!(code), &json!("as wished")), "{version} {id}");
            info(&error["data"][0]);
        }
        let path = id.replace(':', "%3A");
        let answer = world.ask("GET", &format!("/a2a/tasks/{path}"), &[("a2a-version", "1.0")], None).await;
        assert_eq!((answer.status, answer.header("content-type")), (http, Some("application/a2a+json")), "{id}");
        let body = answer.json();
        let error = &body["error"];
        assert_eq!(
            (&error["code"], &error["status"], &error["message"]),
            (&json!(http), &json!(status), &json!("as wished"))
        );
        info(&error["details"][0]);
        assert_eq!((&body["status"], &body["detail"]), (&json!(http), &json!("as wished")), "a problem, too: {body}");
        assert!(body["title"].is_string() && body["type"].as_str().unwrap().starts_with("https://"), "{body}");

        let older = world.ask("GET", &format!("/a2a/v1/tasks/{path}"), &[], None).await;
        assert_eq!(older.status, http, "{id}");
        let older = older.json();
        assert_eq!((&older["code"], &older["message"]), (&json!(code), &json!("as wished")), "{older}");
        info(&older["data"][0]);

        let told = grpc.error(&id).await;
        assert_eq!(
            (told.status.as_str(), told.reason.as_str(), told.domain.as_str()),
            (status, reason, "a2a-protocol.org")
        );
        assert_eq!(told.message, "as wished");
    }
}

#[test]
fn the_table_is_whole() {
    let kinds = TABLE.map(|(code, ..)| code);
    assert_eq!(kinds, Kind::PROTOCOL.map(Kind::code));
    let left = ErrorCode::ALL.len() - OURS.len();
    assert_eq!(left, 3, "not found, invalid params and internal are A2A's own");
}

/// 0.3's Python client knows errors by their name at the top, its JavaScript client by their number.
#[tokio::test]
async fn errors_of_0_3_over_http_have_a_name() {
    let world = World::open().await;
    let answer = world.ask("GET", "/a2a/v1/tasks/error%3A-32001", &[], None).await.json();
    assert_eq!((&answer["type"], &answer["code"]), (&json!("TaskNotFoundError"), &json!(-32001)));
}

#[tokio::test]
async fn whoever_is_not_let_in_is_told_how() {
    let world = World::open().await;
    let bad = [("authorization", "Bearer nonsense")];
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": "t" } });
    let answer = world.ask("POST", "/a2a", &bad, Some(&body)).await;
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(
        (&answer.json()["id"], &answer.json()["error"]["data"][0]["reason"]),
        (&json!(1), &json!("UNAUTHENTICATED"))
    );
    for path in ["/a2a/tasks/t", "/a2a/v1/tasks/t", "/a2a/extendedAgentCard", "/a2a/agents/nobody/tasks/t"] {
        let answer = world.ask("GET", path, &bad, None).await;
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")), "{path}");
        assert_eq!(answer.json()["error"]["status"], "UNAUTHENTICATED", "{path}");
    }
    let told = Grpc::start(&world).await.error_with("t", "authorization", "Bearer nonsense").await;
    assert_eq!((told.status.as_str(), told.reason.as_str()), ("UNAUTHENTICATED", "UNAUTHENTICATED"));
    assert!(world.fake.asked().is_empty());
    let limited = world.ask("GET", "/a2a/tasks/refused%3Arate_limited", &[], None).await;
    assert_eq!((limited.status, limited.header("retry-after")), (429, Some("3")));
}

/// Also what is no request at all, or for nobody: every error of A2A says which it is and whose.
#[tokio::test]
async fn what_cannot_be_asked_is_an_error_of_a2a_too() {
    let world = World::open().await;
    let info = |detail: &Value, reason: &str, what: &str| {
        assert_eq!((&detail["reason"], &detail["domain"]), (&json!(reason), &json!("a2a-protocol.org")), "{what}");
    };
    let get = json!({ "jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": { "id": "t" } });
    let table = [
        ("{bad".to_owned(), "PARSE_ERROR", Value::Null),
        ("[]".to_owned(), "INVALID_REQUEST", Value::Null),
        (r#"{"jsonrpc":"1.0","id":7,"method":"GetTask"}"#.to_owned(), "INVALID_REQUEST", json!(7)),
        (r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#.to_owned(), "INVALID_REQUEST", Value::Null),
        (json!(vec![&get; 101]).to_string(), "LIMIT_EXCEEDED", Value::Null),
        (json!({ "jsonrpc": "2.0", "id": 7, "method": "channels/fly" }).to_string(), "METHOD_NOT_FOUND", json!(7)),
    ];
    for (body, reason, id) in table {
        let request = Request::post("/a2a").body(Body::from(body.clone())).unwrap();
        let answer = Answer::of(world.send(request).await).await.json();
        info(&answer["error"]["data"][0], reason, &body);
        assert_eq!(answer["id"], id, "{body}");
    }
    let nobody = world.ask("POST", "/a2a/agents/nobody", &[], Some(&get)).await;
    assert_eq!((nobody.status, &nobody.json()["id"]), (404, &json!(7)));
    info(&nobody.json()["error"]["data"][0], "NOT_FOUND", "an agent that is not there");
    for (method, path, status) in [
        ("GET", "/a2a/nope", 404),
        ("GET", "/a2a/agents/nobody/tasks/t", 404),
        ("GET", "/a2a/agents/nobody/.well-known/agent-card.json", 404),
    ] {
        let answer = world.ask(method, path, &[], None).await;
        assert_eq!((answer.status, answer.header("content-type")), (status, Some("application/a2a+json")), "{path}");
        info(&answer.json()["error"]["details"][0], "NOT_FOUND", path);
    }
    let malformed = Request::post("/a2a/message:send").body(Body::from("{bad")).unwrap();
    let answer = Answer::of(world.send(malformed).await).await;
    assert_eq!(answer.status, 400);
    info(&answer.json()["error"]["details"][0], "PARSE_ERROR", "a body that is not JSON");
    assert_eq!(answer.json()["error"]["details"].as_array().unwrap().len(), 1, "no field is named: {}", answer.text);
}
