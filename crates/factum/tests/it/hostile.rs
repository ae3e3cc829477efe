//! Nonsense of every kind, over every transport: each gets the error that is documented for it, and the server goes on
//! answering everybody else.

use std::time::Duration;

use factum_api::grpc::proto::SubscribeRequest;
use factum_testkit::clients::{Grpc, Stdio, read_answer};
use factum_testkit::{Client, Launch, Server, within};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tonic::client::GrpcService;

use crate::support::*;

/// A server with small limits, so that passing them is quick.
fn small(dir: &TempDir) -> Launch {
    launch(dir)
        .env("FACTUM_LIMITS_BODY_BYTES_MAX", 20_000)
        .env("FACTUM_LIMITS_WS_MESSAGE_BYTES_MAX", 20_000)
        .env("FACTUM_LIMITS_JSON_DEPTH_MAX", 32)
        .env("FACTUM_LIMITS_BATCH_MAX", 10)
        .env("FACTUM_LIMITS_HEADER_TIMEOUT_MS", 300)
        .env("FACTUM_LIMITS_REQUEST_TIMEOUT_MS", 500)
        .env("FACTUM_LIMITS_STREAMS_MAX", 4)
}

async fn start() -> (TempDir, Server) {
    let dir = tempfile::tempdir().unwrap();
    let server = small(&dir).start().await;
    (dir, server)
}

/// What stands behind this key is read as JSON by the parser, below every limit on depth; escapes hide it from nobody.
const RESERVED: &str = r#"{"jsonrpc":"2.0","id":1,"method":"create_session","params":{"metadata":{"a":{"\u0024serde_json::private::RawValue":"[[1]]"}}}}"#;

/// Others are answered as ever: a whole turn runs.
async fn still_well(server: &Server) {
    let session = submit(&server.http(Some("dev:agent://bystander")), "still there?").await;
    wait_for(&server.http(Some("dev:agent://bystander")), &session, "turn.completed", 1).await;
    let health = server.http(None).get("/healthz").send().await.unwrap();
    assert_eq!(health.text().await.unwrap(), "ok\n");
}

#[tokio::test]
async fn json_rpc_nonsense_gets_the_documented_error() {
    let (_dir, server) = start().await;
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"list_sessions\",\"params\":{{\"a\":{}1{}}}}}",
        "[".repeat(40),
        "]".repeat(40)
    );
    let batch = |count: usize| {
        serde_json::to_string(&vec![json!({ "jsonrpc": "2.0", "id": 1, "method": "list_sessions" }); count]).unwrap()
    };
    let table: Vec<(&str, Vec<u8>, i64, &str)> = vec![
        ("nothing", b"".to_vec(), -32700, "invalid_params"),
        ("not JSON", b"nonsense".to_vec(), -32700, "invalid_params"),
        ("half of it", b"{\"jsonrpc\":\"2.0\",\"id\":1,".to_vec(), -32700, "invalid_params"),
        ("two values", b"{} {}".to_vec(), -32700, "invalid_params"),
        ("not UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}".to_vec(), -32700, "invalid_params"),
        ("a text", b"\"hello\"".to_vec(), -32600, "invalid_params"),
        ("a number", b"7".to_vec(), -32600, "invalid_params"),
        ("null", b"null".to_vec(), -32600, "invalid_params"),
        ("an empty object", b"{}".to_vec(), -32600, "invalid_params"),
        ("no version", br#"{"id":1,"method":"list_sessions"}"#.to_vec(), -32600, "invalid_params"),
        ("another version", br#"{"jsonrpc":"1.0","id":1,"method":"list_sessions"}"#.to_vec(), -32600, "invalid_params"),
        ("a method that is a number", br#"{"jsonrpc":"2.0","id":1,"method":1}"#.to_vec(), -32600, "invalid_params"),
        (
            "an id that is an object",
            br#"{"jsonrpc":"2.0","id":{},"method":"list_sessions"}"#.to_vec(),
            -32600,
            "invalid_params",
        ),
        (
            "an id that is a list",
            br#"{"jsonrpc":"2.0","id":[1],"method":"list_sessions"}"#.to_vec(),
            -32600,
            "invalid_params",
        ),
        (
            "an id that is true",
            br#"{"jsonrpc":"2.0","id":true,"method":"list_sessions"}"#.to_vec(),
            -32600,
            "invalid_params",
        ),
        (
            "params that are a list",
            br#"{"jsonrpc":"2.0","id":1,"method":"list_sessions","params":[1]}"#.to_vec(),
            -32602,
            "invalid_params",
        ),
        (
            "params that are a text",
            br#"{"jsonrpc":"2.0","id":1,"method":"list_sessions","params":"x"}"#.to_vec(),
            -32602,
            "invalid_params",
        ),
        (
            "params of wrong types",
            br#"{"jsonrpc":"2.0","id":1,"method":"list_sessions","params":{"limit":"many"}}"#.to_vec(),
            -32602,
            "invalid_params",
        ),
        ("a method nobody has", br#"{"jsonrpc":"2.0","id":1,"method":"fly"}"#.to_vec(), -32601, "not_found"),
        (
            "a method with a path",
            br#"{"jsonrpc":"2.0","id":1,"method":"../list_sessions"}"#.to_vec(),
            -32601,
            "not_found",
        ),
        ("a key that the parser takes for its own", RESERVED.as_bytes().to_vec(), -32602, "invalid_params"),
        ("an empty batch", b"[]".to_vec(), -32600, "invalid_params"),
        ("too large a batch", batch(11).into_bytes(), -32000, "limit_exceeded"),
        ("too deep", deep.into_bytes(), -32000, "limit_exceeded"),
        ("only brackets", "[".repeat(10_000).into_bytes(), -32700, "invalid_params"),
    ];
    let rpc = server.rpc(None);
    let (mut ws, _) = tokio_tungstenite::connect_async(format!("ws://{}/rpc", server.address())).await.unwrap();
    for (what, body, number, code) in table {
        let (_, text) = rpc.raw(body.clone()).await;
        let answer: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{what}: {error}: {text}"));
        let check = |answer: &Value, over: &str| {
            assert_eq!(answer["error"]["code"], number, "{what} over {over}: {answer}");
            assert_eq!(read_answer(answer).unwrap_err()["code"], code, "{what} over {over}");
        };
        check(&answer, "HTTP");
        // The id comes back wherever there is one that can be read.
        let id = serde_json::from_slice::<Value>(&body).ok().and_then(|body| body.get("id").cloned());
        let id = id.filter(|id| id.is_string() || id.is_number()).unwrap_or_default();
        assert_eq!(answer["id"], id, "{what}");
        // The same as a message, which need not be text: what counts is what is in it.
        ws.send(Message::binary(body)).await.unwrap();
        let message = within(what, ws.next()).await.unwrap().unwrap();
        check(&serde_json::from_str(message.to_text().unwrap()).unwrap(), "WebSocket");
    }
    still_well(&server).await;
}

#[tokio::test]
async fn batches_and_notifications_answer_what_is_owed() {
    let (_dir, server) = start().await;
    let rpc = server.rpc(None);
    let one = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"list_sessions"}}"#);
    let notification = r#"{"jsonrpc":"2.0","method":"create_session","params":{"session_id":"told"}}"#;
    assert_eq!(rpc.raw(notification).await, (204, String::new()));
    rpc.call("get_session", json!({ "session_id": "told" })).await.unwrap();
    assert_eq!(rpc.raw(format!("[{notification},{notification}]")).await, (204, String::new()));
    assert_eq!(
        rpc.raw(r#"{"jsonrpc":"2.0","method":"fly"}"#).await,
        (204, String::new()),
        "not even a bad one is answered"
    );
    // A list of a request's values is no request, not even one that asks for no answer.
    let list = r#"["2.0","create_session",{"session_id":"untold"}]"#;
    let (_, text) = rpc.raw(format!("[{list}]")).await;
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()[0]["error"]["code"], -32600, "{text}");
    rpc.call("get_session", json!({ "session_id": "untold" })).await.unwrap_err();
    let (status, text) = rpc.raw(format!("[{},1,{notification},{},{{}}]", one("\"a\""), one("null"))).await;
    let answers: Value = serde_json::from_str(&text).unwrap();
    let ids: Vec<&Value> = answers.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
    assert_eq!((status, ids), (200, vec![&json!("a"), &Value::Null, &Value::Null, &Value::Null]));
    assert!(answers[0].get("result").is_some() && answers[2].get("result").is_some(), "{answers}");
    for id in ["1.5", "-1", "\"\\u0000\"", "123456789012345678901234567890"] {
        let (_, text) = rpc.raw(one(id)).await;
        assert!(text.ends_with(&format!("\"id\":{id}}}")), "an id comes back as it was: {text}");
    }
}

#[tokio::test]
async fn bodies_over_the_limit_are_refused_however_they_come() {
    let (_dir, server) = start().await;
    let large = "x".repeat(25_000);
    // Who was refused in the middle of a body gets no second request on the same connection.
    let http = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
    for path in ["/rpc", "/v1/submit_turn"] {
        let chunks = futures::stream::iter(
            large.as_bytes().chunks(1_000).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect::<Vec<_>>(),
        );
        for body in [reqwest::Body::from(large.clone()), reqwest::Body::wrap_stream(chunks)] {
            let response = http.post(server.url(path)).body(body).send().await.unwrap();
            assert_eq!(response.status(), 413, "{path}");
            let body: Value = response.json().await.unwrap();
            let error = body.pointer("/error/data").unwrap_or(&body);
            assert_eq!(
                (&error["code"], &error["details"]["limit"]["name"]),
                (&json!("limit_exceeded"), &json!("body_bytes")),
                "{body}"
            );
        }
    }
    // What was asked is told from the beginning, so that its sender knows which request it was, in the words it expects.
    for (path, method, code) in [
        ("/rpc", "submit_turn", json!("limit_exceeded")),
        ("/a2a", "SendMessage", Value::Null),
        ("/a2a", "channels/publish", json!("LimitExceededError")),
    ] {
        let request = json!({ "id": "mine", "jsonrpc": "2.0", "method": method, "params": { "text": large } });
        let response = http.post(server.url(path)).body(request.to_string()).send().await.unwrap();
        assert_eq!(response.status(), 413, "{method}");
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["id"], "mine", "{body}");
        let said = if path == "/rpc" { &body["error"]["data"]["code"] } else { &body["error"]["data"]["error"] };
        assert_eq!(*said, code, "{body}");
    }
    // A length that is only claimed is refused before anything of it is read.
    let answer = raw(&server, b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    let grpc = server.grpc(None);
    let refused = grpc.raw("submit_turn", &large).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::ResourceExhausted, "{refused}");
    assert_eq!(Grpc::error(&refused)["details"]["limit"]["name"], "body_bytes", "{refused}");
    still_well(&server).await;
}

/// A client that sends everything before it reads anything, as simple ones do, still gets to read why it is refused.
#[tokio::test]
async fn a_client_that_only_reads_once_it_has_sent_everything_hears_why() {
    let (_dir, server) = dev().await;
    let length = 40 << 20;
    for (path, credential, status) in [
        ("/v1/create_session", "", "413"),
        ("/rpc", "", "413"),
        ("/a2a", "", "413"),
        ("/a2a/message:send", "", "413"),
        ("/v1/channels/stream", "", "413"),
        ("/v1/create_session", "Authorization: Bearer nonsense\r\n", "401"),
        ("/a2a/message:send", "Authorization: Bearer nonsense\r\n", "401"),
    ] {
        let mut socket = TcpStream::connect(server.address()).await.unwrap();
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{credential}Content-Length: {length}\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..length / piece.len() {
            within(path, socket.write_all(&piece)).await.unwrap_or_else(|error| panic!("{path}: {error}"));
        }
        let mut answer = [0; 12];
        within(path, socket.read_exact(&mut answer)).await.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(answer, *format!("HTTP/1.1 {status}").as_bytes(), "{path}");
    }
}

#[tokio::test]
async fn a_websocket_message_that_cannot_be_taken_closes_with_the_reason() {
    let (_dir, server) = start().await;
    let large = |bytes: usize| Message::text("x".repeat(bytes));
    let broken = Frame::message(&b"\"\xff\""[..], OpCode::Data(Data::Text), true);
    for (what, message, code, reason) in [
        ("a little too large", large(25_000), CloseCode::Size, "ws_message_bytes_max"),
        ("much too large", large(500_000), CloseCode::Size, "ws_message_bytes_max"),
        ("no UTF-8", Message::Frame(broken), CloseCode::Invalid, "UTF-8"),
    ] {
        let (mut ws, _) = tokio_tungstenite::connect_async(format!("ws://{}/rpc", server.address())).await.unwrap();
        // What is much too large is cut off in the middle.
        drop(ws.send(message).await);
        let closed = within(what, ws.next()).await.unwrap_or_else(|| panic!("{what}: closed without a word"));
        let Ok(Message::Close(Some(frame))) = closed else { panic!("{what}: {closed:?}") };
        assert_eq!(frame.code, code, "{what}");
        assert!(frame.reason.contains(reason), "{what}: {}", frame.reason);
    }
    still_well(&server).await;
}

#[tokio::test]
async fn plain_http_nonsense_gets_a_problem() {
    let (_dir, server) = start().await;
    let deep = format!("{{\"input\":{}{}}}", "[".repeat(40), "]".repeat(40));
    let reserved = format!(r#"{{"metadata":{{"a":{{"{}":"[]"}}}}}}"#, "$serde_json::private::RawValue");
    let table: [(&str, &str, &[u8], u16, &str); 21] = [
        ("POST", "/v1/submit_turn", b"", 400, "invalid_params"),
        ("POST", "/v1/submit_turn", b"{", 400, "invalid_params"),
        ("POST", "/v1/submit_turn", b"[]", 400, "invalid_params"),
        ("POST", "/v1/list_sessions", b"[5]", 400, "invalid_params"),
        ("POST", "/v1/list_sessions", b" \n[]", 400, "invalid_params"),
        ("POST", "/v1/create_session", reserved.as_bytes(), 400, "invalid_params"),
        ("POST", "/v1/submit_turn", b"\xff\xfe", 400, "invalid_params"),
        ("POST", "/v1/submit_turn", b"{\"input\":\"x\"}", 400, "invalid_params"),
        ("POST", "/v1/submit_turn", deep.as_bytes(), 413, "limit_exceeded"),
        ("POST", "/v1/get_session", b"{\"session_id\":\"nobody\"}", 404, "not_found"),
        ("POST", "/v1/fly", b"{}", 404, "not_found"),
        ("POST", "/v1/submit_turn/more", b"{}", 404, "not_found"),
        ("GET", "/v1/submit_turn", b"", 405, "invalid_params"),
        ("DELETE", "/rpc", b"", 405, "invalid_params"),
        ("GET", "/rpc", b"", 400, "invalid_params"),
        ("GET", "/../etc/passwd", b"", 404, "not_found"),
        ("GET", "/v1/sessions/%ff/events", b"", 400, "invalid_params"),
        ("GET", "/v1/channels/%ff/events", b"", 400, "invalid_params"),
        ("GET", "/v1/remote_channels/%ff/events", b"", 400, "invalid_params"),
        ("GET", "/schemas/%ff", b"", 400, "invalid_params"),
        ("POST", "/v1/%ff", b"{}", 400, "invalid_params"),
    ];
    let http = reqwest::Client::new();
    for (method, path, body, status, code) in table {
        let request = http.request(method.parse().unwrap(), server.url(path)).body(body.to_vec());
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{method} {path} {:?}", String::from_utf8_lossy(body));
        assert_eq!(response.headers()["content-type"], "application/problem+json", "{method} {path}");
        let problem: Value = response.json().await.unwrap();
        assert_eq!(
            (&problem["code"], &problem["status"]),
            (&json!(code), &json!(status)),
            "{method} {path}: {problem}"
        );
    }
    still_well(&server).await;
}

/// Sends bytes and reads until the server ends the connection.
async fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    // A server that has heard enough may end the connection before everything is sent.
    drop(socket.write_all(bytes).await);
    let mut answer = Vec::new();
    drop(within("the end of the connection", socket.read_to_end(&mut answer)).await);
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn bytes_that_are_no_http_end_the_connection() {
    let (_dir, server) = start().await;
    let host = "Host: localhost\r\n";
    let many: String = (0..200).map(|number| format!("x{number}: y\r\n")).collect();
    let smuggled = format!("GET /healthz HTTP/1.1\r\n{host}\r\n");
    let table = [
        ("garbage", "\0\u{1}\u{2}garbage\r\n\r\n".to_owned(), "400"),
        ("no version", "GET /healthz\r\n\r\n".into(), "400"),
        ("a version to come", format!("GET /healthz HTTP/9.9\r\n{host}\r\n"), "400"),
        (
            "two lengths",
            format!("POST /rpc HTTP/1.1\r\n{host}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef"),
            "400",
        ),
        ("a length that is none", format!("POST /rpc HTTP/1.1\r\n{host}Content-Length: +5\r\n\r\nabcde"), "400"),
        (
            "an encoding nobody knows",
            format!("POST /rpc HTTP/1.1\r\n{host}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
            "400",
        ),
        (
            "chunked that is not last",
            format!("POST /rpc HTTP/1.1\r\n{host}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
            "400",
        ),
        (
            "a negative chunk",
            format!(
                "POST /rpc HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n-1\r\n\r\n{smuggled}"
            ),
            "400",
        ),
        ("a space in a name", "GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n".into(), "400"),
        ("a folded header", format!("GET /healthz HTTP/1.1\r\n{host}x: a\r\n b\r\n\r\n"), "400"),
        ("a bare return", format!("GET /healthz HTTP/1.1\r\n{host}x: a\rb\r\n\r\n"), "400"),
        ("too many headers", format!("GET /healthz HTTP/1.1\r\n{host}{many}\r\n"), "431"),
        ("too long a header", format!("GET /healthz HTTP/1.1\r\n{host}x: {}\r\n\r\n", "y".repeat(1_000_000)), "431"),
    ];
    for (what, bytes, status) in table {
        let answer = raw(&server, bytes.as_bytes()).await;
        let answered = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        // A server that was sent too much may also just hang up.
        assert!(answered == Some(status) || (answer.is_empty() && status == "431"), "{what}: {answer:?}");
        assert_eq!(
            answer.matches("HTTP/1.1 ").count(),
            usize::from(!answer.is_empty()),
            "{what}: one answer at most: {answer:?}"
        );
    }
    // A length beside an encoding: the encoding counts, and nothing behind it is taken for another request.
    let both = format!(
        "POST /rpc HTTP/1.1\r\n{host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"
    );
    let answer = raw(&server, both.as_bytes()).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    raw(&server, [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(), &[0xff; 200]].concat().as_slice()).await;
    still_well(&server).await;
}

#[tokio::test]
async fn slow_senders_are_given_up_on() {
    let (_dir, server) = start().await;
    let head = raw(&server, b"GET /healthz HTTP/1.1\r\nHost: local").await;
    assert!(head.is_empty() || head.starts_with("HTTP/1.1 408"), "a head that never ends: {head:?}");
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    socket
        .write_all(
            b"POST /v1/list_sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 100\r\n\r\n{",
        )
        .await
        .unwrap();
    let mut answer = String::new();
    within("the answer to half a body", socket.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("request_timeout"), "{answer}");
    still_well(&server).await;
}

#[tokio::test]
async fn clients_that_go_away_leave_nothing_behind() {
    let (_dir, server) = start().await;
    for _ in 0..20 {
        let mut socket = TcpStream::connect(server.address()).await.unwrap();
        socket.write_all(b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"json").await.unwrap();
        drop(socket);
        let session = submit(&server.http(None), "slow: x").await;
        let path = format!("/v1/sessions/{session}/events");
        drop(factum_testkit::Reader::open(&server.http(None), &path, None).await);
        let (mut ws, _) = tokio_tungstenite::connect_async(format!("ws://{}/rpc", server.address())).await.unwrap();
        let subscribe =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": { "session_id": session } });
        ws.send(Message::text(subscribe.to_string())).await.unwrap();
        drop(ws);
    }
    // A client that has said everything and closed its side still gets its answer.
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    socket
        .write_all(b"POST /v1/list_sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
        .await
        .unwrap();
    socket.shutdown().await.unwrap();
    let mut answer = String::new();
    within("the answer", socket.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    still_well(&server).await;
    let gone = async || {
        let metrics = server.http(None).get("/metrics").send().await.unwrap().text().await.unwrap();
        let open = metrics
            .lines()
            .filter(|line| line.starts_with("factum_streams_open") || line.starts_with("factum_api_streams"));
        open.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
            .all(|count| count == 0.0)
            .then_some(())
    };
    factum_testkit::eventually("streams that are closed", gone).await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let (_dir, server) = start().await;
    let request = |id: usize| {
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "list_sessions" }).to_string();
        let close = if id == 9 { "Connection: close\r\n" } else { "" };
        format!("POST /rpc HTTP/1.1\r\nHost: localhost\r\n{close}Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let answers = raw(&server, (0..10).map(request).collect::<String>().as_bytes()).await;
    let ids: Vec<usize> =
        answers.match_indices("\"id\":").map(|(at, _)| answers[at + 5..at + 6].parse().unwrap()).collect();
    assert_eq!(ids, (0..10).collect::<Vec<_>>());
}

#[tokio::test]
async fn websocket_nonsense_costs_at_most_the_connection() {
    let (_dir, server) = start().await;
    let session = submit(&server.http(None), "hello").await;
    let ws = server.ws(None).await;
    for (params, code) in [
        (json!({}), "invalid_params"),
        (json!({ "session_id": "nobody" }), "not_found"),
        (json!({ "session_id": 7 }), "invalid_params"),
        (json!({ "session_id": session, "after": -1 }), "invalid_params"),
        (json!({ "session_id": session, "casing": "kebab" }), "invalid_params"),
    ] {
        assert_eq!(ws.call("subscribe", params.clone()).await.unwrap_err()["code"], code, "{params}");
    }
    let params = json!({ "session_id": session, "after": 1 });
    for _ in 0..4 {
        ws.call("subscribe", params.clone()).await.unwrap();
    }
    let refused = ws.call("subscribe", params).await.unwrap_err();
    assert_eq!((&refused["code"], &refused["details"]["limit"]["name"]), (&json!("limit_exceeded"), &json!("streams")));
    let (mut socket, _) = tokio_tungstenite::connect_async(format!("ws://{}/rpc", server.address())).await.unwrap();
    let requests = json!({ "jsonrpc": "2.0", "id": 1, "method": "list_sessions" }).to_string();
    socket.send(Message::text(requests)).await.unwrap();
    socket.close(None).await.unwrap();
    let mut raw_frame = TcpStream::connect(server.address()).await.unwrap();
    let upgrade = "GET /rpc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    raw_frame.write_all(upgrade.as_bytes()).await.unwrap();
    // A frame that no client may send: not masked, and with bits that nobody has given a meaning.
    raw_frame.write_all(&[0xf1, 0x05, b'h', b'e', b'l', b'l', b'o']).await.unwrap();
    let mut rest = Vec::new();
    drop(within("the end of the socket", raw_frame.read_to_end(&mut rest)).await);
    still_well(&server).await;
}

#[tokio::test]
async fn grpc_nonsense_gets_a_status() {
    let (_dir, server) = start().await;
    let grpc = server.grpc(None);
    for (method, params, code) in [
        ("fly", "{}", "not_found"),
        ("", "", "not_found"),
        ("submit_turn", "", "invalid_params"),
        ("submit_turn", "nonsense", "invalid_params"),
        ("submit_turn", "[]", "invalid_params"),
        ("list_sessions", "[5]", "invalid_params"),
        ("create_session", r#"{"metadata":{"a":{"$serde_json::private::RawValue":"[]"}}}"#, "invalid_params"),
        ("get_session", "{\"session_id\":\"nobody\"}", "not_found"),
        ("submit_turn", &format!("{{\"input\":{}", "[".repeat(100)), "limit_exceeded"),
    ] {
        let status = grpc.raw(method, params).await.unwrap_err();
        assert_eq!(Grpc::error(&status)["code"], code, "{method} {params}");
    }
    for request in [
        SubscribeRequest { session_id: "nobody".into(), ..Default::default() },
        SubscribeRequest { session_id: "no id".into(), ..Default::default() },
        SubscribeRequest { cursor: "forged".into(), ..Default::default() },
        SubscribeRequest { casing: "kebab".into(), ..Default::default() },
    ] {
        let status = grpc.subscribe(request.clone()).await.unwrap_err();
        assert!(matches!(status.code(), tonic::Code::NotFound | tonic::Code::InvalidArgument), "{request:?}: {status}");
    }
    let mut channel = Grpc::channel(server.address());
    const INVALID_ARGUMENT: &str = "3";
    const RESOURCE_EXHAUSTED: &str = "8";
    const UNIMPLEMENTED: &str = "12";
    for (path, body, expected) in [
        ("factum.v1.Runtime/Call", &b"garbage"[..], INVALID_ARGUMENT),
        ("factum.v1.Runtime/Call", b"\0\xff\xff\xff\xffx", RESOURCE_EXHAUSTED),
        ("factum.v1.Runtime/Call", b"\0\0\0\0\x02\xff\xff", INVALID_ARGUMENT),
        ("factum.v1.Runtime/Fly", b"\0\0\0\0\0", UNIMPLEMENTED),
        ("lf.a2a.v1.A2AService/GetTask", b"\0\xff\xff\xff\xffx", RESOURCE_EXHAUSTED),
        ("lf.a2a.v1.A2AService/GetTask", b"\0\0\0\0\x02\xff\xff", INVALID_ARGUMENT),
    ] {
        std::future::poll_fn(|context| channel.poll_ready(context)).await.unwrap();
        let request = tonic::codegen::http::Request::post(server.url(&format!("/{path}")));
        let sent = tonic::body::Body::new(http_body_util::Full::new(tonic::codegen::Bytes::from_static(body)));
        let request = request.header("content-type", "application/grpc").body(sent).unwrap();
        let response = within("an answer", channel.call(request)).await.unwrap();
        let status = response.headers().get("grpc-status").map(|status| status.to_str().unwrap().to_owned());
        assert_eq!(status.as_deref(), Some(expected), "{path} {body:?}");
    }
    still_well(&server).await;
}

#[tokio::test]
async fn lines_that_cannot_be_read_are_answered_and_the_next_one_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let stdio = Stdio::spawn(
        BINARY,
        &["--data-dir", data.to_str().unwrap()],
        &[("FACTUM_LIMITS_WS_MESSAGE_BYTES_MAX", "20000")],
    );
    for (line, number) in
        [("nonsense", -32700), ("{\"id\":1}", -32600), ("[]", -32600), ("7", -32600), (&*"x".repeat(50_000), -32000)]
    {
        stdio.send(line);
        let answer = stdio.next().await.unwrap_or_else(|| panic!("no answer to {}", &line[..line.len().min(20)]));
        assert_eq!(answer["error"]["code"], number, "{answer}");
        assert!(number != -32000 || answer["error"]["data"]["code"] == "limit_exceeded", "{answer}");
        stdio.call("list_sessions", json!({})).await.unwrap();
    }
    stdio.send("");
    stdio.send("   ");
    stdio.call("list_sessions", json!({})).await.unwrap();
    assert_eq!(stdio.end().await, Some(0));
}

#[tokio::test]
async fn a_full_house_waits_at_the_door() {
    let dir = tempfile::tempdir().unwrap();
    let server = small(&dir).env("FACTUM_LIMITS_CONNECTIONS_MAX", 2).start().await;
    let [first, _second] = [server.ws(None).await, server.ws(None).await];
    let mut third = TcpStream::connect(server.address()).await.unwrap();
    third.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    let early = tokio::time::timeout(Duration::from_millis(200), third.read_to_string(&mut answer)).await;
    assert!(early.is_err(), "answered although the house is full: {answer}");
    drop(first);
    within("the answer", third.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
