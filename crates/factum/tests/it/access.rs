//! Who may do what: every command of the registry on every transport, with no scope, the right one and each wrong one; no
//! credential and bad ones; keys that are revoked while they are in use; the rules of `factum dev`.

use factum_api::grpc::proto::SubscribeRequest;
use factum_model::commands::COMMANDS;
use factum_model::registry::Scope;
use factum_testkit::clients::{Grpc, Stdio, WebSocket};
use factum_testkit::{Client, Launch, Reader, Server, eventually, run, within};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::*;

/// `factum serve` with an admin's key, made offline as an operator would. No heartbeat is due while a test runs, so that what
/// ends a stream is what the test did.
pub(crate) async fn serve() -> (TempDir, Server, String) {
    serve_with(|launch| launch).await
}

/// The same, started in a way of one's own.
pub(crate) async fn serve_with(how: impl FnOnce(Launch) -> Launch) -> (TempDir, Server, String) {
    let dir = tempfile::tempdir().unwrap();
    let admin = offline_key(&dir, "default", &["--admin"]).await;
    let config = dir.path().join("factum.toml");
    std::fs::write(&config, "[store]\ndata_dir = \"data\"\n[server]\nheartbeat_ms = 600000\n").unwrap();
    let launch = Launch::serve(BINARY, dir.path().join("data")).arg("--config").arg(config.display().to_string());
    let server = how(launch).start().await;
    (dir, server, admin)
}

pub(crate) async fn offline_key(dir: &TempDir, account: &str, args: &[&str]) -> String {
    let data = dir.path().join("data");
    let place =
        ["key", "create", "--data-dir", data.to_str().unwrap(), "--account", account, "--principal", "user://me"];
    let output = run(BINARY, place.iter().chain(args)).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    output.stdout.trim().to_owned()
}

/// A key with one scope; gives its id and the key.
async fn key_with(admin: &dyn Client, scope: Scope) -> (String, String) {
    let params =
        json!({ "principal": format!("agent://{}", scope.as_str().replace(':', "-")), "scopes": [scope.as_str()] });
    let answer = admin.call("create_api_key", params).await.unwrap();
    (field(&answer, "key_id"), field(&answer, "key"))
}

/// Every transport of a server as one caller.
async fn transports(server: &Server, token: &str) -> Vec<Box<dyn Client>> {
    let token = Some(token);
    vec![
        Box::new(server.http(token)),
        Box::new(server.rpc(token)),
        Box::new(server.ws(token).await),
        Box::new(server.grpc(token)),
    ]
}

#[tokio::test]
async fn every_command_asks_for_its_scope_on_every_transport() {
    let (_dir, server, admin) = serve().await;
    let admin = server.http(Some(&admin));
    for scope in Scope::ALL {
        let (_, key) = key_with(&admin, scope).await;
        for client in transports(&server, &key).await {
            for command in COMMANDS {
                let outcome = client.call(command.name, json!({})).await;
                let what = format!("{} with {scope} over {}: {outcome:?}", command.name, client.name());
                if command.scope == scope {
                    let code = outcome.err().map(|error| field(&error, "code"));
                    let let_in = code.is_none_or(|code| code != "permission_denied" && code != "unauthenticated");
                    assert!(let_in, "{what}");
                } else {
                    assert_eq!(outcome, Err(denied(command.scope)), "{what}");
                }
            }
        }
    }
}

fn denied(scope: Scope) -> Value {
    json!({
        "code": "permission_denied", "message": format!("this credential does not have the scope {scope}"),
        "retryable": false, "details": { "required_scope": scope.as_str() },
    })
}

#[tokio::test]
async fn streams_ask_for_sessions_read() {
    let (_dir, server, admin) = serve().await;
    let http = server.http(Some(&admin));
    let session = submit(&http, "hello").await;
    for scope in Scope::ALL {
        let (_, key) = key_with(&http, scope).await;
        let allowed = scope == Scope::SessionsRead;
        let mine = server.http(Some(&key));
        for path in [format!("/v1/sessions/{session}/events"), "/v1/feed".to_owned()] {
            for accept in ["text/event-stream", "application/json"] {
                let status = mine.get(&path).header("accept", accept).send().await.unwrap().status();
                assert_eq!(status.as_u16(), if allowed { 200 } else { 403 }, "{path} as {accept} with {scope}");
            }
        }
        let subscribed = server.ws(Some(&key)).await.call("subscribe", json!({ "session_id": session })).await;
        assert_eq!(subscribed.as_ref().err(), Some(&denied(Scope::SessionsRead)).filter(|_| !allowed), "{scope}");
        let grpc = server.grpc(Some(&key));
        for session_id in [session.clone(), String::new()] {
            let outcome = grpc.subscribe(SubscribeRequest { session_id, ..Default::default() }).await;
            let error = outcome.err().map(|status| Grpc::error(&status));
            assert_eq!(error, (!allowed).then(|| denied(Scope::SessionsRead)), "{scope}");
        }
    }
}

#[tokio::test]
async fn no_credential_and_a_bad_one_get_the_same_answer_everywhere() {
    let (_dir, server, admin) = serve().await;
    let http = server.http(Some(&admin));
    let session = submit(&http, "hello").await;
    let (key_id, revoked) = key_with(&http, Scope::SessionsRead).await;
    http.call("revoke_api_key", json!({ "key_id": key_id })).await.unwrap();
    let forged = format!("{}x", &admin[..admin.len() - 1]);
    let tokens = [
        None,
        Some("nonsense"),
        Some("fct_nonsense"),
        Some(&forged),
        Some(&revoked),
        Some("dev:agent://local"),
        Some("a.b.c"),
    ];
    let expected = json!({
        "code": "unauthenticated", "message": "a valid credential is needed: Authorization: Bearer …",
        "retryable": false, "details": {},
    });
    for token in tokens {
        let [http, rpc]: [Box<dyn Client>; 2] = [Box::new(server.http(token)), Box::new(server.rpc(token))];
        let grpc = server.grpc(token);
        for command in COMMANDS.iter().map(|command| command.name).chain(["no_such_command"]) {
            for client in [&*http, &*rpc, &grpc] {
                assert_eq!(client.call(command, json!({})).await, Err(expected.clone()), "{command} as {token:?}");
            }
        }
        for path in [
            format!("/v1/sessions/{session}/events"),
            "/v1/sessions/nobody/events".into(),
            "/v1/feed".into(),
            "/rpc".into(),
        ] {
            let response = server.http(token).get(&path).header("accept", "text/event-stream").send().await.unwrap();
            assert_eq!(
                (response.status().as_u16(), response.headers()["www-authenticate"].to_str().unwrap()),
                (401, "Bearer"),
                "{path}"
            );
        }
        assert!(WebSocket::open(server.address(), token).await.is_err(), "{token:?}");
        let refused = grpc.subscribe(SubscribeRequest { session_id: session.clone(), ..Default::default() }).await;
        assert_eq!(Grpc::error(&refused.unwrap_err()), expected);
    }
    let basic = reqwest::Client::new().post(server.url("/v1/list_sessions")).basic_auth("user", Some(&admin));
    assert_eq!(basic.send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn what_needs_no_credential_shows_nothing_of_anybody() {
    let (_dir, server, admin) = serve().await;
    let session = submit(&server.http(Some(&admin)), "a secret word").await;
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json", "/schemas", "/schemas/commands/submit_turn.json"] {
        let response = server.http(None).get(path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let body = response.text().await.unwrap();
        assert!(!body.contains(&session) && !body.contains("a secret word") && !body.contains("user://me"), "{path}");
    }
}

/// A turn that streams all the time, so that a stream is never idle.
async fn busy_session(client: &dyn Client) -> String {
    submit(client, &format!("slow: {}", "on and on ".repeat(200))).await
}

#[tokio::test]
async fn a_revoked_key_ends_every_connection_it_opened() {
    let (_dir, server, admin) = serve().await;
    let admin = server.http(Some(&admin));
    let idle = submit(&admin, "hello").await;
    let busy = busy_session(&admin).await;
    for session in [idle, busy] {
        let (key_id, key) = key_with(&admin, Scope::SessionsRead).await;
        let http = server.http(Some(&key));
        let mut events = Reader::session(&http, &session, None).await;
        let mut feed = Reader::open(&http, "/v1/feed", None).await.unwrap_or_else(|_| panic!("the feed"));
        let ws = server.ws(Some(&key)).await;
        ws.call("subscribe", json!({ "session_id": session })).await.unwrap();
        let grpc = server.grpc(Some(&key));
        let mut streams = Vec::new();
        for session_id in [session.clone(), String::new()] {
            streams.push(grpc.subscribe(SubscribeRequest { session_id, ..Default::default() }).await.unwrap());
        }
        let bridge = Stdio::spawn(BINARY, &["--url", &server.url("")], &[("FACTUM_TOKEN", &key)]);
        bridge.call("list_sessions", json!({})).await.unwrap();

        admin.call("revoke_api_key", json!({ "key_id": key_id })).await.unwrap();
        assert_eq!(http.call("list_sessions", json!({})).await.unwrap_err()["code"], "unauthenticated");
        let over_ws = ws.call("list_sessions", json!({})).await.unwrap_err();
        assert_eq!(over_ws["code"], "transport", "{over_ws}");
        assert_eq!(bridge.call("list_sessions", json!({})).await.unwrap_err()["code"], "transport");
        for reader in [&mut events, &mut feed] {
            within("the end of the events", async { while reader.next().await.is_some() {} }).await;
            let last = reader.seen.last().unwrap();
            assert_eq!((last.name.as_deref(), &last.data["code"]), (Some("error"), &json!("unauthenticated")));
        }
        within("the end of the subscription", async { while ws.next().await.is_some() {} }).await;
        for stream in &mut streams {
            let end = within("the end of gRPC", async {
                loop {
                    match stream.message().await {
                        Ok(Some(_)) => {}
                        Ok(None) => return None,
                        Err(status) => return Some(status.code()),
                    }
                }
            });
            assert_eq!(end.await, Some(tonic::Code::Unauthenticated));
        }
    }
}

#[tokio::test]
async fn an_idle_socket_is_closed_when_its_key_is_revoked_and_told_why() {
    use futures::StreamExt;
    use tokio_tungstenite::tungstenite::Message;
    use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
    use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
    let (_dir, server, admin) = serve().await;
    let admin = server.http(Some(&admin));
    let (key_id, key) = key_with(&admin, Scope::SessionsRead).await;
    let url = format!("ws://{}/rpc", server.address()).parse().unwrap();
    let handshake = ClientRequestBuilder::new(url).with_header("Authorization", format!("Bearer {key}"));
    let (mut socket, _) = tokio_tungstenite::connect_async(handshake).await.unwrap();
    admin.call("revoke_api_key", json!({ "key_id": key_id })).await.unwrap();
    let closed = within("the close", async {
        loop {
            if let Message::Close(frame) = socket.next().await.unwrap().unwrap() {
                return frame.unwrap();
            }
        }
    });
    let closed = closed.await;
    assert_eq!(closed.code, CloseCode::Policy);
    assert!(closed.reason.starts_with("unauthenticated: "), "{}", closed.reason);
}

/// A task's stream over JSON-RPC or HTTP+JSON, once its first bytes are there.
async fn task_stream(request: reqwest::RequestBuilder) -> reqwest::Response {
    let mut response = request.header("a2a-version", "1.0").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    within("the first update", response.chunk()).await.unwrap().unwrap();
    response
}

#[tokio::test]
async fn a_revoked_key_ends_every_stream_of_a_task_it_opened() {
    let (_dir, server, admin) = serve().await;
    let admin = server.http(Some(&admin));
    let scopes: Vec<_> = Scope::ALL.into_iter().filter(|scope| *scope != Scope::Admin).collect();
    let key = admin.call("create_api_key", json!({ "principal": "agent://client", "scopes": scopes })).await.unwrap();
    let (http, a2a) = (server.http(Some(&field(&key, "key"))), server.a2a(Some(&field(&key, "key"))));
    let message = |id: &str, text: &str| json!({ "message": { "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }] } });
    // One task waits for an answer, so that its streams are idle; the others are never done.
    let waiting = a2a.request("SendMessage", &message("ask", "ask: what is your name?")).header("a2a-version", "1.0");
    let waiting: Value = waiting.send().await.unwrap().json().await.unwrap();
    let id = field(&waiting["result"]["task"], "id");
    let busy = format!("slow: {}", "on and on ".repeat(200));
    let post = |path: &str, body: Value| http.request(reqwest::Method::POST, path).body(body.to_string());
    let streams = [
        task_stream(a2a.request("SendStreamingMessage", &message("rpc", &busy))).await,
        task_stream(a2a.request("SubscribeToTask", &json!({ "id": id }))).await,
        task_stream(post("/a2a/message:stream", message("rest", &busy))).await,
        task_stream(post(&format!("/a2a/tasks/{id}:subscribe"), json!({}))).await,
    ];
    admin.call("revoke_api_key", json!({ "key_id": key["key_id"] })).await.unwrap();
    for mut stream in streams {
        within("the end of the stream", async { while stream.chunk().await.unwrap().is_some() {} }).await;
    }
}

#[tokio::test]
async fn dev_lets_this_machine_in_and_nobody_who_speaks_for_another() {
    let (_dir, server) = dev().await;
    let send = async |headers: &[(&str, &str)]| {
        let mut request = reqwest::Client::new().post(server.url("/v1/list_sessions")).body("{}");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap().status().as_u16()
    };
    for (headers, status) in [
        (&[][..], 200),
        (&[("host", "localhost")], 200),
        (&[("host", "evil.example")], 403),
        (&[("host", "evil.example:7420")], 403),
        (&[("host", "127.0.0.1.evil.example")], 403),
        (&[("origin", "http://localhost:3000")], 200),
        (&[("origin", "https://evil.example")], 403),
        (&[("origin", "null")], 403),
        (&[("origin", "https://evil.example"), ("authorization", "Bearer dev:agent://ada")], 403),
        (&[("authorization", "Bearer dev:agent://ada")], 200),
        (&[("authorization", "Bearer dev:agent://ada@other")], 200),
        (&[("authorization", "Bearer dev:ada")], 401),
        (&[("authorization", "Bearer nonsense")], 401),
        (&[("authorization", "")], 401),
        (&[("x-forwarded-for", "1.2.3.4")], 200),
    ] {
        assert_eq!(send(headers).await, status, "{headers:?}");
    }
    let member = server.http(Some("dev:agent://ada"));
    assert_eq!(member.call("list_api_keys", json!({})).await, Err(denied(Scope::Admin)));
    let handshake = tokio_tungstenite::tungstenite::client::ClientRequestBuilder::new(
        format!("ws://{}/rpc", server.address()).parse().unwrap(),
    )
    .with_header("Origin", "https://evil.example");
    assert!(tokio_tungstenite::connect_async(handshake).await.is_err());
}

#[tokio::test]
async fn a_principal_over_its_rate_is_told_when_to_come_back_and_others_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let server =
        launch(&dir).env("FACTUM_LIMITS_REQUESTS_PER_SECOND", 1).env("FACTUM_LIMITS_REQUESTS_BURST", 5).start().await;
    let ada = server.http(Some("dev:agent://ada"));
    let refused = eventually("a refusal", async || ada.call("list_sessions", json!({})).await.err()).await;
    assert_eq!((&refused["code"], &refused["retryable"]), (&json!("rate_limited"), &json!(true)));
    assert!(refused["details"]["retry_after_ms"].as_u64().is_some_and(|ms| (1..=1000).contains(&ms)), "{refused}");
    let limited = eventually("a refusal", async || {
        let response = ada.request(reqwest::Method::POST, "/v1/list_sessions").send().await.unwrap();
        (response.status() == 429).then(|| response.headers()["retry-after"].to_str().unwrap().to_owned())
    });
    assert_eq!(limited.await, "1");
    server.http(Some("dev:agent://bob")).call("list_sessions", json!({})).await.unwrap();
    // The bound is one for all transports. A slow machine may let a request through meanwhile.
    let rpc = server.rpc(Some("dev:agent://ada"));
    let refused = eventually("a refusal", async || rpc.call("list_sessions", json!({})).await.err()).await;
    assert_eq!(refused["code"], "rate_limited");
}
