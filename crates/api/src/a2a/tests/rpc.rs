//! JSON-RPC: every method of every version, batches and notifications.

use super::*;

const TASK_1_0: &str = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}"#;

fn part(of: &str) -> Value {
    json!({ of: "text", "text": "hi" })
}

#[tokio::test]
async fn every_method_of_1_0() {
    let world = World::open().await;
    let task: Value = serde_json::from_str(TASK_1_0).unwrap();
    let config = json!({ "taskId": "t", "id": "c", "url": "https://example.com" });
    let list = json!({ "tasks": [task], "nextPageToken": "", "pageSize": 50, "totalSize": 1 });
    let sent = json!({ "task": { "id": "t", "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" } } });
    let canceled = json!({ "id": "t", "contextId": "c", "status": { "state": "TASK_STATE_CANCELED" } });
    let table = [
        ("SendMessage", message("hi"), sent),
        ("GetTask", json!({ "id": "t" }), task),
        ("ListTasks", json!({}), list),
        ("CancelTask", json!({ "id": "t" }), canceled),
        ("CreateTaskPushNotificationConfig", config.clone(), config.clone()),
        ("GetTaskPushNotificationConfig", json!({ "taskId": "t", "id": "c" }), config.clone()),
        ("ListTaskPushNotificationConfigs", json!({ "taskId": "t" }), json!({ "configs": [config] })),
        ("DeleteTaskPushNotificationConfig", json!({ "taskId": "t", "id": "c" }), json!({})),
    ];
    for (method, params, result) in table {
        for version in [Some("1.0"), None] {
            let answer = world.rpc(version, method, params.clone()).await;
            assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": 1, "result": result }), "{method} {version:?}");
        }
        let refused = world.rpc(Some("0.3"), method, params).await;
        assert_eq!(refused["error"]["code"], -32601, "{method} is not in 0.3: {refused}");
    }
}

#[tokio::test]
async fn every_method_of_0_3() {
    let world = World::open().await;
    let task = |state: &str| json!({ "kind": "task", "id": "t", "contextId": "c", "status": { "state": state } });
    let message =
        json!({ "message": { "kind": "message", "messageId": "m", "role": "user", "parts": [part("kind")] } });
    let nested = json!({ "taskId": "t", "pushNotificationConfig": { "id": "c", "url": "https://example.com" } });
    let table = [
        ("message/send", message, task("completed")),
        ("tasks/get", json!({ "id": "t" }), task("working")),
        ("tasks/cancel", json!({ "id": "t" }), task("canceled")),
        ("tasks/pushNotificationConfig/set", nested.clone(), nested.clone()),
        ("tasks/pushNotificationConfig/get", json!({ "id": "t", "pushNotificationConfigId": "c" }), nested.clone()),
        ("tasks/pushNotificationConfig/get", json!({ "id": "t" }), nested.clone()),
        ("tasks/pushNotificationConfig/list", json!({ "id": "t" }), json!([nested])),
        ("tasks/pushNotificationConfig/delete", json!({ "id": "t", "pushNotificationConfigId": "c" }), Value::Null),
    ];
    for (method, params, result) in table {
        let answer = world.rpc(Some("0.3"), method, params.clone()).await;
        assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": 1, "result": result }), "{method}");
        let refused = world.rpc(Some("1.0"), method, params).await;
        assert_eq!(refused["error"]["code"], -32601, "{method} is not in 1.0: {refused}");
    }
    let none = world.rpc(None, "tasks/pushNotificationConfig/get", json!({ "id": "bare" })).await;
    assert_eq!(none["error"]["code"], -32001, "{none}");
}

#[tokio::test]
async fn every_method_of_april_2025() {
    let world = World::open().await;
    let send = json!({ "id": "mine", "sessionId": "s", "message": { "role": "user", "parts": [part("type")] } });
    let answer = world.rpc(None, "tasks/send", send.clone()).await;
    assert_eq!(answer["result"], json!({ "id": "mine", "sessionId": "c", "status": { "state": "completed" } }));
    let asked = world.fake.asked();
    assert_eq!((&asked[0]["ownTaskId"], &asked[0]["request"]["message"]["contextId"]), (&json!("mine"), &json!("s")));
    assert_eq!(asked[0]["request"]["message"].get("taskId"), None);
    for version in [Some("0.3"), Some("1.0")] {
        let refused = world.rpc(version, "tasks/send", send.clone()).await;
        assert_eq!(refused["error"]["code"], -32601, "{version:?}");
    }
    let nested = json!({ "id": "t", "pushNotificationConfig": { "url": "https://example.com" } });
    world.fake.asked();
    let set = world.rpc(None, "tasks/pushNotification/set", nested.clone()).await;
    assert_eq!((&set["result"], &world.fake.asked()[0]["operation"]), (&nested, &json!("createPushAhead")));
    let get = world.rpc(None, "tasks/pushNotification/get", json!({ "id": "t" })).await;
    assert_eq!(get["result"]["id"], "t");
}

/// `tasks/get` and `tasks/cancel` are in two versions, and a request that says none is answered in both.
#[tokio::test]
async fn what_two_versions_share_is_answered_in_both() {
    let world = World::open().await;
    for (method, state) in [("tasks/get", "working"), ("tasks/cancel", "canceled")] {
        let answer = world.rpc(None, method, json!({ "id": "t" })).await;
        let both =
            json!({ "kind": "task", "id": "t", "contextId": "c", "sessionId": "c", "status": { "state": state } });
        assert_eq!(answer["result"], both);
    }
}

/// Suites and clients join the address of a card, or of the server alone, with `/`.
#[tokio::test]
async fn the_endpoint_is_found_with_a_slash_and_at_the_root() {
    let world = World::open().await;
    let get = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": "t" } });
    for path in ["/a2a", "/a2a/", "/", "/a2a/agents/waiting", "/a2a/agents/waiting/"] {
        let answer = world.ask("POST", path, &[("a2a-version", "1.0")], Some(&get)).await;
        assert_eq!((answer.status, &answer.json()["result"]["id"]), (200, &json!("t")), "{path}: {}", answer.text);
    }
    for (path, status) in [("/a2a/", 405), ("/a2a/agents/waiting/", 405), ("/", 404)] {
        assert_eq!(world.ask("GET", path, &[], None).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn batches_and_notifications() {
    let world = World::open().await;
    let call = |id: Value, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let batch = json!([
        call(json!("a"), "GetTask", json!({ "id": "t" })),
        { "jsonrpc": "2.0", "method": "SendMessage", "params": message("hi") },
        call(json!(2), "SendStreamingMessage", message("hi")),
        call(json!(3), "tasks/nothing", json!({})),
        7,
    ]);
    let answers = world.ask("POST", "/a2a", &[], Some(&batch)).await.json();
    let codes: Vec<_> = answers.as_array().unwrap().iter().map(|one| (&one["id"], &one["error"]["code"])).collect();
    let expected =
        [(json!("a"), Value::Null), (json!(2), json!(-32600)), (json!(3), json!(-32601)), (Value::Null, json!(-32600))];
    assert_eq!(codes, expected.iter().map(|(id, code)| (id, code)).collect::<Vec<_>>());
    let operations: Vec<_> = world.fake.asked().into_iter().map(|asked| asked["operation"].clone()).collect();
    assert_eq!(operations, ["get", "send"], "the notification was carried out, the stream was not");

    let notification = json!({ "jsonrpc": "2.0", "method": "GetTask", "params": { "id": "t" } });
    let answer = world.ask("POST", "/a2a", &[], Some(&notification)).await;
    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let world = World::open().await;
    let table = [
        ("{this is not JSON", -32700),
        ("", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"params":{}}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"DoSomethingUnsupported","params":{}}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}} x"#, -32700),
    ];
    for (body, code) in table {
        let request = Request::post("/a2a").header("a2a-version", "1.0").body(Body::from(body)).unwrap();
        let answer = Answer::of(world.send(request).await).await;
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (200, &json!(code)), "{body}");
    }
    assert!(world.fake.asked().is_empty());
}

#[tokio::test]
async fn every_agent_has_an_endpoint() {
    let world = World::open().await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("hi") });
    for (path, agent) in [("/a2a", "demo"), ("/a2a/agents/demo", "demo"), ("/a2a/agents/waiting", "waiting")] {
        assert_eq!(world.ask("POST", path, &[], Some(&body)).await.status, 200);
        assert_eq!(world.fake.asked()[0]["agent"], agent, "{path}");
    }
    let answer = world.ask("POST", "/a2a/agents/nobody", &[], Some(&body)).await;
    assert_eq!(answer.status, 404, "{}", answer.text);
}

/// JSON-RPC answers no notification, not even with a stream. A message is taken all the same.
#[tokio::test]
async fn a_notification_opens_no_stream() {
    let world = World::open().await;
    for (version, method, params) in [
        ("1.0", "channels/stream", json!({ "peer": "agent://other" })),
        ("1.0", "SendStreamingMessage", message("hi")),
        ("1.0", "SubscribeToTask", json!({ "id": "t" })),
        ("0.3", "tasks/resubscribe", json!({ "id": "t" })),
    ] {
        let body = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        let answer = world.ask("POST", "/a2a", &[("a2a-version", version)], Some(&body)).await;
        assert_eq!((answer.status, answer.text.as_str()), (204, ""), "{method}");
    }
}

/// As with every method: params that are null are none, and the request is counted.
#[tokio::test]
async fn a_stream_of_a_channel_is_asked_for_like_anything_else() {
    let world = World::open().await;
    let asks = [json!({}), Value::Null];
    for params in &asks {
        let answer = world.rpc(None, "channels/stream", params.clone()).await;
        let error = &answer["error"];
        assert_eq!(error["code"], -32602, "{answer}");
        assert!(error["message"].as_str().unwrap().contains("channelId"), "{answer}");
    }
    let created = world.rpc(None, "channels/create", json!({})).await;
    let params = json!({ "channelId": created["result"]["channel"]["id"] });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "channels/stream", "params": params }).to_string();
    let opened = world.send(Request::post("/a2a").body(Body::from(body)).unwrap()).await;
    assert_eq!(opened.headers()["content-type"], "text/event-stream");
    let metrics = world.state.metrics.render();
    // It is no command, and goes with what is none.
    let count = |code: &str, count: usize| {
        let labels = format!(r#"transport="a2a",command="other",code="{code}""#);
        metrics.contains(&format!("factum_requests_total{{{labels}}} {count}\n"))
    };
    assert!(count("invalid_params", asks.len()) && count("ok", 1), "{metrics}");
}
