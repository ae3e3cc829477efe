//! What a request says about itself: version, extensions, tenant, idempotency; and what the card says is not there.

use factum_a2a::MESSAGING_URI;

use super::*;

#[tokio::test]
async fn a_version_nobody_speaks_is_refused_on_every_binding() {
    let world = World::open().await;
    let body = json!({ "jsonrpc": "2.0", "id": 5, "method": "GetTask", "params": { "id": "t" } });
    for (path, headers) in [("/a2a", &[("a2a-version", "99.0")][..]), ("/a2a?A2A-Version=99.0", &[])] {
        let answer = world.ask("POST", path, headers, Some(&body)).await;
        let answer = (answer.status, answer.json());
        assert_eq!((answer.0, &answer.1["id"], &answer.1["error"]["code"]), (200, &json!(5), &json!(-32009)), "{path}");
        assert_eq!(answer.1["error"]["data"][0]["reason"], "VERSION_NOT_SUPPORTED");
    }
    for (path, version) in [("/a2a/tasks/t", "99.0"), ("/a2a/tasks/t", "0.3"), ("/a2a/v1/tasks/t", "99.0")] {
        let answer = world.ask("GET", path, &[("a2a-version", version)], None).await;
        assert_eq!(answer.status, 400, "{path} {version}");
        assert_eq!(answer.json()["error"]["details"][0]["reason"], "VERSION_NOT_SUPPORTED", "{path} {version}");
    }
    assert!(world.fake.asked().is_empty());
    for (path, version) in [("/a2a/tasks/t", "1.0"), ("/a2a/tasks/t?A2A-Version=1.0", ""), ("/a2a/v1/tasks/t", "0.3")] {
        assert_eq!(world.ask("GET", path, &[("a2a-version", version)], None).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn a_required_extension_is_required_and_echoed() {
    let uri = "https://example.com/ext/v1";
    let options = A2aOptions { required_extensions: vec![uri.to_owned()], ..A2aOptions::default() };
    let world = World::new(options).await;
    let refused = world.rpc(Some("1.0"), "GetTask", json!({ "id": "t" })).await;
    assert_eq!(refused["error"]["code"], -32008, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains(uri));
    let refused = world.ask("GET", "/a2a/tasks/t", &[], None).await;
    assert_eq!((refused.status, &refused.json()["error"]["status"]), (400, &json!("FAILED_PRECONDITION")));
    assert!(world.fake.asked().is_empty());

    let both = format!("{uri}, {MESSAGING_URI}, https://example.com/other");
    // Under the name that the client knows: 0.3 had another.
    let (new, old) = ("a2a-extensions", "x-a2a-extensions");
    let (activated, get) = (format!("{uri},{MESSAGING_URI}"), json!({ "id": "t" }));
    let get = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": get });
    for (method, path, body) in [("GET", "/a2a/tasks/t", None), ("POST", "/a2a", Some(&get))] {
        for names in [&[new][..], &[old], &[new, old]] {
            let headers: Vec<(&str, &str)> = names.iter().map(|name| (*name, &*both)).collect();
            let answer = world.ask(method, path, &headers, body).await;
            assert_eq!(answer.status, 200);
            for name in [new, old] {
                let expected = names.contains(&name).then_some(&*activated);
                assert_eq!(answer.header(name), expected, "{path} {names:?}");
            }
        }
    }
}

/// Every request of the endpoint, those of an extension too: it may be the one that is required.
#[tokio::test]
async fn channels_take_the_extensions_that_are_required() {
    let options = A2aOptions { required_extensions: vec![MESSAGING_URI.to_owned()], ..A2aOptions::default() };
    let world = World::new(options).await;
    let activated = [("a2a-extensions", MESSAGING_URI)];
    for (method, code) in
        [("channels/list", None), ("channels/stream", Some(-32602)), ("channels/publish", Some(-32602))]
    {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} });
        for body in [&body, &json!([body, body])] {
            let first = |answer: Value| if answer.is_array() { answer[0].clone() } else { answer };
            let refused = first(world.ask("POST", "/a2a", &[], Some(body)).await.json());
            assert_eq!(refused["error"]["code"], -32008, "{method}: {refused}");
            let answer = first(world.ask("POST", "/a2a", &activated, Some(body)).await.json());
            assert_eq!(answer["error"]["code"].as_i64(), code, "{method}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_tenant_is_the_callers_account_or_nobody() {
    let world = World::open().await;
    for tenant in ["dev", ""] {
        let answer = world.rpc(Some("1.0"), "GetTask", json!({ "id": "t", "tenant": tenant })).await;
        assert_eq!(answer["result"]["id"], "t", "{tenant}");
    }
    let mut sent = message("hi");
    sent["tenant"] = json!("acme");
    let refused = world.rpc(Some("1.0"), "SendMessage", sent).await;
    assert_eq!(
        (&refused["error"]["code"], &refused["error"]["data"][0]["reason"]),
        (&json!(-32000), &json!("PERMISSION_DENIED"))
    );
    world.fake.asked();

    assert_eq!(world.ask("GET", "/a2a/dev/tasks/t", &[], None).await.status, 200);
    assert_eq!(world.fake.asked(), [json!({ "operation": "get", "request": { "id": "t", "tenant": "dev" } })]);
    let others = ["/a2a/acme/tasks/t", "/a2a/nobody/tasks/t"];
    let mut answers = Vec::new();
    for path in others {
        let answer = world.ask("GET", path, &[], None).await;
        assert_eq!(answer.status, 403, "{path}");
        answers.push(answer.text);
    }
    assert_eq!(answers[0], answers[1], "whether there is such a tenant is not told");
    let bearer = [("authorization", "Bearer dev:agent://x@acme")];
    assert_eq!(world.ask("GET", others[0], &bearer, None).await.status, 200);
    assert_eq!(world.ask("POST", "/a2a/acme/message:send", &bearer, Some(&message("hi"))).await.status, 200);
    let sent = &world.fake.asked()[1];
    assert_eq!((&sent["account"], &sent["request"]["tenant"]), (&json!("acme"), &json!("acme")));
}

/// A tenant says what a path would, so what leads over gRPC to an agent leads to it everywhere.
#[tokio::test]
async fn a_tenant_leads_to_an_agent() {
    let world = World::open().await;
    let sent = |tenant: &str| {
        let mut sent = message("hi");
        sent["tenant"] = json!(tenant);
        sent
    };
    for (tenant, agent) in
        [("agents/waiting", "waiting"), ("agents/waiting/dev", "waiting"), ("agents/demo", "demo"), ("dev", "demo")]
    {
        let answer = world.rpc(Some("1.0"), "SendMessage", sent(tenant)).await;
        assert_eq!(answer["result"]["task"]["id"], "t", "{tenant}: {answer}");
        assert_eq!(world.fake.asked()[0]["agent"], agent, "{tenant}");
    }
    let encoded = world.ask("POST", "/a2a/agents%2Fwaiting/message:send", &[], Some(&message("hi"))).await;
    assert_eq!((encoded.status, &world.fake.asked()[0]["agent"]), (200, &json!("waiting")));
    for (tenant, reason) in [("agents/nobody", "NOT_FOUND"), ("agents/waiting/acme", "PERMISSION_DENIED")] {
        let answer = world.rpc(Some("1.0"), "SendMessage", sent(tenant)).await;
        assert_eq!(answer["error"]["data"][0]["reason"], reason, "{tenant}: {answer}");
    }
    for (tenant, status) in [("agents/waiting", 200), ("agents/demo", 400)] {
        let answer = world.ask("POST", "/a2a/agents/waiting/message:send", &[], Some(&sent(tenant))).await;
        assert_eq!(answer.status, status, "{tenant}: {}", answer.text);
    }
}

#[tokio::test]
async fn an_idempotency_key_is_handed_on() {
    let world = World::open().await;
    let key = ("idempotency-key", "once");
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("hi") });
    world.ask("POST", "/a2a", &[key], Some(&body)).await;
    world.ask("POST", "/a2a/message:send", &[key], Some(&message("hi"))).await;
    world.ask("POST", "/a2a/message:send", &[], Some(&message("hi"))).await;
    let keys: Vec<_> = world.fake.asked().into_iter().map(|asked| asked["idempotencyKey"].clone()).collect();
    assert_eq!(keys, [json!("once"), json!("once"), Value::Null]);
}

#[tokio::test]
async fn push_notifications_are_not_there_unless_they_are() {
    let world = World::new(A2aOptions::default()).await;
    let mut with_push = message("hi");
    with_push["configuration"] = json!({ "taskPushNotificationConfig": { "url": "https://example.com" } });
    let config = json!({ "taskId": "t", "url": "u" });
    let table = [
        (Some("1.0"), "CreateTaskPushNotificationConfig", config.clone()),
        (Some("1.0"), "GetTaskPushNotificationConfig", json!({ "taskId": "t", "id": "c" })),
        (Some("1.0"), "ListTaskPushNotificationConfigs", json!({ "taskId": "t" })),
        (Some("1.0"), "DeleteTaskPushNotificationConfig", json!({})),
        (Some("1.0"), "SendMessage", with_push),
        (None, "tasks/pushNotificationConfig/set", json!({})),
        (None, "tasks/pushNotification/get", json!({ "id": "t" })),
    ];
    for (version, method, params) in table {
        let answer = world.rpc(version, method, params).await;
        assert_eq!(answer["error"]["code"], -32003, "{method}: {answer}");
    }
    for (method, path) in [("POST", ""), ("GET", ""), ("GET", "/c"), ("DELETE", "/c")] {
        let body = (method == "POST").then_some(&config);
        for prefix in ["/a2a/tasks", "/a2a/v1/tasks"] {
            let answer = world.ask(method, &format!("{prefix}/t/pushNotificationConfigs{path}"), &[], body).await;
            assert_eq!(answer.status, 400, "{method} {path}");
            assert_eq!(answer.json()["error"]["details"][0]["reason"], "PUSH_NOTIFICATION_NOT_SUPPORTED");
        }
    }
    assert!(world.fake.asked().is_empty());
}

/// One key is for one request: in a batch each says its own, or has none.
#[tokio::test]
async fn the_header_of_a_batch_is_no_key_of_its_requests() {
    let world = World::open().await;
    let key = ("idempotency-key", "once");
    let created = world.rpc(None, "channels/create", json!({})).await;
    let id = &created["result"]["channel"]["id"];
    let call = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let publish = |text: &str| call("channels/publish", json!({ "channelId": id, "parts": [{ "text": text }] }));
    let mut own = publish("three");
    own["params"]["idempotencyKey"] = json!("own");
    let batch = json!([publish("one"), publish("two"), own, call("SendMessage", message("hi"))]);
    let answers = world.ask("POST", "/a2a", &[key], Some(&batch)).await.json();
    let event = |at: usize| &answers[at]["result"]["event"];
    assert_eq!((&event(0)["sequence"], event(0).get("idempotencyKey")), (&json!(1), None), "{answers}");
    assert_eq!((&event(1)["sequence"], event(1).get("idempotencyKey")), (&json!(2), None), "{answers}");
    assert_eq!((&event(2)["sequence"], &event(2)["idempotencyKey"]), (&json!(3), &json!("own")), "{answers}");
    assert_eq!(world.fake.asked()[0]["idempotencyKey"], Value::Null);
    let one = world.ask("POST", "/a2a", &[key], Some(&publish("four"))).await.json();
    assert_eq!(one["result"]["event"]["idempotencyKey"], "once");
}
