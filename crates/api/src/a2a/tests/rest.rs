//! HTTP+JSON: paths and methods, queries, bodies and their types, in 1.0 and 0.3.

use super::*;

/// Whose errors they are.
const DOMAIN: &str = "a2a-protocol.org";

#[tokio::test]
async fn every_path_of_1_0() {
    let world = World::guarded(A2aOptions { push_notifications: true, ..A2aOptions::default() }).await;
    let config = json!({ "url": "https://example.com" });
    let get = json!({ "taskId": "t", "id": "c" });
    let sent = json!({
        "operation": "send", "agent": "demo", "account": "dev", "request": message("hi"), "ownTaskId": null, "idempotencyKey": null,
    });
    let stream = {
        let mut stream = sent.clone();
        stream["operation"] = json!("stream");
        stream
    };
    let table = [
        ("POST", "/message:send", Some(message("hi")), sent),
        ("POST", "/message:stream", Some(message("hi")), stream),
        ("GET", "/tasks", None, json!({ "operation": "list", "request": {} })),
        (
            "GET",
            "/tasks?contextId=a%20b&status=TASK_STATE_WORKING&pageSize=5&includeArtifacts=true&historyLength=0",
            None,
            json!({ "operation": "list", "request": { "contextId": "a b", "status": "TASK_STATE_WORKING", "pageSize": 5,
                "includeArtifacts": true, "historyLength": 0 } }),
        ),
        (
            "GET",
            "/tasks/t?historyLength=3",
            None,
            json!({ "operation": "get", "request": { "id": "t", "historyLength": 3 } }),
        ),
        ("POST", "/tasks/t:cancel", None, json!({ "operation": "cancel", "request": { "id": "t" } })),
        (
            "POST",
            "/tasks/t:cancel",
            Some(json!({ "id": "t", "metadata": { "why": 1 } })),
            json!({ "operation": "cancel", "request": { "id": "t", "metadata": { "why": 1 } } }),
        ),
        (
            "GET",
            "/tasks/t:subscribe",
            None,
            json!({ "operation": "subscribe", "request": { "id": "t" }, "after": null }),
        ),
        (
            "POST",
            "/tasks/t:subscribe",
            Some(json!({})),
            json!({ "operation": "subscribe", "request": { "id": "t" }, "after": null }),
        ),
        (
            "POST",
            "/tasks/t/pushNotificationConfigs",
            Some(config),
            json!({ "operation": "createPush", "request": { "taskId": "t", "url": "https://example.com" } }),
        ),
        ("GET", "/tasks/t/pushNotificationConfigs/c", None, json!({ "operation": "getPush", "request": get })),
        (
            "GET",
            "/tasks/t/pushNotificationConfigs?pageSize=2",
            None,
            json!({ "operation": "listPush", "request": { "taskId": "t", "pageSize": 2 } }),
        ),
        ("DELETE", "/tasks/t/pushNotificationConfigs/c", None, json!({ "operation": "deletePush", "request": get })),
        ("GET", "/extendedAgentCard", None, json!({ "operation": "card" })),
    ];
    for (method, path, body, expected) in table {
        for (prefix, agent) in [("/a2a", "demo"), ("/a2a/agents/waiting", "waiting")] {
            let answer = world.ask(method, &format!("{prefix}{path}"), &[("a2a-version", "1.0")], body.as_ref()).await;
            assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text);
            let streams = path.contains("stream") || path.contains("subscribe");
            let media_type = if streams { "text/event-stream" } else { "application/a2a+json" };
            assert_eq!(answer.header("content-type"), Some(media_type), "{method} {path}");
            let mut expected = expected.clone();
            if expected.get("agent").is_some() {
                expected["agent"] = json!(agent);
            }
            assert_eq!(world.fake.asked(), [expected], "{method} {path}");
        }
    }
}

#[tokio::test]
async fn answers_are_the_objects_themselves() {
    let world = World::open().await;
    let sent = world.ask("POST", "/a2a/message:send", &[], Some(&message("hi"))).await.json();
    assert_eq!(sent["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(world.ask("GET", "/a2a/tasks/t", &[], None).await.json()["id"], "t");
    let stream = world.ask("POST", "/a2a/message:stream", &[], Some(&message("hi"))).await;
    let events = stream.events();
    assert_eq!((events[0].0, &events[0].1["task"]["id"]), (Some("1"), &json!("t")));
    assert_eq!(events[3].1["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    let deleted = world.ask("DELETE", "/a2a/tasks/t/pushNotificationConfigs/c", &[], None).await;
    assert_eq!((deleted.status, deleted.text.as_str()), (200, "{}"));
    let resumed = world.ask("GET", "/a2a/tasks/t:subscribe", &[("last-event-id", "3")], None).await;
    assert_eq!(resumed.events().iter().map(|(id, _)| id.unwrap()).collect::<Vec<_>>(), ["1", "4"]);
}

#[tokio::test]
async fn every_path_of_0_3() {
    let world = World::guarded(A2aOptions { push_notifications: true, ..A2aOptions::default() }).await;
    let message = json!({ "request": { "message_id": "m", "role": "ROLE_USER", "content": [{ "text": "hi" }] } });
    let sent = world.ask("POST", "/a2a/v1/message:send", &[], Some(&message)).await;
    assert_eq!((sent.status, sent.header("content-type")), (200, Some("application/json")));
    let task = json!({ "id": "t", "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" } });
    assert_eq!(sent.json(), json!({ "task": task }));
    let stream = world.ask("POST", "/a2a/v1/message:stream", &[], Some(&message)).await;
    assert_eq!(stream.events()[3].1["statusUpdate"]["final"], true);
    for method in ["GET", "POST"] {
        let stream = world.ask(method, "/a2a/v1/tasks/t:subscribe", &[], None).await;
        assert_eq!(stream.events()[0].1["task"]["id"], "t", "{method}");
    }
    let got = world.ask("GET", "/a2a/v1/tasks/t?historyLength=2", &[], None).await.json();
    assert_eq!(got["status"]["state"], "TASK_STATE_WORKING");
    let canceled = world.ask("POST", "/a2a/v1/tasks/t:cancel", &[], None).await.json();
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELLED");
    world.fake.asked();

    let config = json!({ "config": { "pushNotificationConfig": { "url": "https://example.com" } }, "configId": "c" });
    let made = world.ask("POST", "/a2a/v1/tasks/t/pushNotificationConfigs", &[], Some(&config)).await.json();
    assert_eq!(made["name"], "tasks/t/pushNotificationConfigs/c");
    for (method, path, operation) in [
        ("GET", "/t/pushNotificationConfigs/c", "getPush"),
        ("GET", "/t/pushNotificationConfigs", "listPush"),
        ("DELETE", "/t/pushNotificationConfigs/c", "deletePush"),
    ] {
        world.fake.asked();
        assert_eq!(world.ask(method, &format!("/a2a/v1/tasks{path}"), &[], None).await.status, 200, "{path}");
        assert_eq!(world.fake.asked()[0]["operation"], operation);
    }
    let card = world.ask("GET", "/a2a/v1/card", &[], None).await.json();
    assert_eq!(card["protocolVersion"], "0.3.0");
    let page = world.ask("GET", "/a2a/v1/tasks?pageSize=7", &[], None).await.json();
    assert_eq!(page["tasks"][0]["id"], "t", "0.3 lists tasks over HTTP+JSON alone: {page}");
}

#[tokio::test]
async fn other_methods_and_paths_are_refused() {
    let world = World::open().await;
    for (method, path, allowed) in [
        ("GET", "/a2a", "POST"),
        ("PUT", "/a2a", "POST"),
        ("GET", "/a2a/message:send", "POST"),
        ("POST", "/a2a/tasks", "GET"),
        ("DELETE", "/a2a/tasks/t", "GET"),
        ("GET", "/a2a/tasks/t:cancel", "POST"),
        ("PUT", "/a2a/tasks/t:subscribe", "GET, POST"),
        ("PUT", "/a2a/tasks/t/pushNotificationConfigs", "GET, POST"),
        ("POST", "/a2a/extendedAgentCard", "GET"),
        ("GET", "/a2a/v1/message:send", "POST"),
    ] {
        let answer = world.ask(method, path, &[], None).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some(allowed)), "{method} {path}");
        let error = answer.json()["error"].clone();
        assert_eq!((&error["code"], &error["details"][0]["domain"]), (&json!(405), &json!(DOMAIN)), "{method} {path}");
    }
    for (method, path) in
        [("GET", "/a2a/nothing"), ("GET", "/a2a/tasks/t/other"), ("GET", "/a2a/agents"), ("POST", "/a2a/agents/")]
    {
        let answer = world.ask(method, path, &[], None).await;
        let info = answer.json()["error"]["details"][0].clone();
        assert_eq!((answer.status, &info["domain"]), (404, &json!(DOMAIN)), "{method} {path}: {}", answer.text);
    }
    let nobody = world.ask("GET", "/a2a/agents/nobody/tasks/t", &[], None).await;
    assert_eq!(nobody.status, 404);
    assert!(world.fake.asked().is_empty());
}

#[tokio::test]
async fn a_body_that_names_another_than_its_path_is_refused() {
    let world = World::open().await;
    let mut sent = message("hi");
    sent["tenant"] = json!("acme");
    let config = |task_id: &str| json!({ "taskId": task_id, "url": "https://example.com" });
    let configs = "tasks/t/pushNotificationConfigs";
    let old = json!({ "task_id": "u", "config": { "pushNotificationConfig": { "url": "https://example.com" } } });
    for (path, body, field) in [
        ("dev/message:send", sent.clone(), "tenant"),
        ("dev/message:stream", sent.clone(), "tenant"),
        (configs, config("u"), "taskId"),
        ("tasks/t:cancel", json!({ "id": "u" }), "id"),
        ("dev/tasks/t:cancel", json!({ "tenant": "acme" }), "tenant"),
        ("tasks/t:cancel?tenant=dev", json!({ "tenant": "acme" }), "tenant"),
        ("message:send?tenant=dev", sent.clone(), "tenant"),
        ("tasks/t:subscribe", json!({ "id": "u" }), "id"),
        ("dev/tasks/t:subscribe", json!({ "tenant": "acme" }), "tenant"),
        ("v1/tasks/t/pushNotificationConfigs", old, "task_id"),
    ] {
        let answer = world.ask("POST", &format!("/a2a/{path}"), &[], Some(&body)).await;
        let details = answer.json()["error"]["details"].clone();
        assert_eq!((answer.status, &details[1]["fieldViolations"][0]["field"]), (400, &json!(field)), "{path}");
    }
    assert!(world.fake.asked().is_empty());
    sent["tenant"] = json!("dev");
    for (path, body) in [("dev/message:send", sent), (configs, config("t")), (configs, config(""))] {
        let answer = world.ask("POST", &format!("/a2a/{path}"), &[], Some(&body)).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    }
}

/// The fields of a request without a body stand in its query, the tenant among them.
#[tokio::test]
async fn a_tenant_is_read_wherever_it_stands() {
    let world = World::guarded(A2aOptions { push_notifications: true, ..A2aOptions::default() }).await;
    let subscribe = json!({ "tenant": "acme" });
    for (method, path, body) in [
        ("GET", "tasks", None),
        ("GET", "tasks/t", None),
        ("GET", "tasks/t:subscribe", None),
        ("POST", "tasks/t:subscribe", Some(&subscribe)),
        ("POST", "tasks/t:cancel", None),
        ("GET", "tasks/t/pushNotificationConfigs", None),
        ("GET", "tasks/t/pushNotificationConfigs/c", None),
        ("DELETE", "tasks/t/pushNotificationConfigs/c", None),
        ("GET", "extendedAgentCard", None),
        ("POST", "message:send", Some(&message("hi"))),
    ] {
        let query = if body == Some(&subscribe) { "" } else { "?tenant=acme" };
        let other = world.ask(method, &format!("/a2a/{path}{query}"), &[("a2a-version", "1.0")], body).await;
        assert_eq!(other.status, 403, "{method} {path}: {}", other.text);
        let own = world.ask(method, &format!("/a2a/{path}?tenant=dev"), &[("a2a-version", "1.0")], None).await;
        assert!(body.is_some() || own.status == 200, "{method} {path}: {}", own.text);
        let both = world.ask(method, &format!("/a2a/dev/{path}?tenant=acme"), &[("a2a-version", "1.0")], body).await;
        let field = both.json()["error"]["details"][1]["fieldViolations"][0]["field"].clone();
        assert_eq!((both.status, field), (400, json!("tenant")), "{method} {path}: {}", both.text);
    }
}

#[tokio::test]
async fn a_body_is_json_and_says_so() {
    let world = World::open().await;
    let send = async |media_type: Option<&str>, body: &str| {
        let mut request = Request::post("/a2a/message:send");
        if let Some(media_type) = media_type {
            request = request.header("content-type", media_type);
        }
        Answer::of(world.send(request.body(Body::from(body.to_owned())).unwrap()).await).await
    };
    let body = message("hi").to_string();
    for fine in [None, Some("application/json"), Some("application/a2a+json"), Some("Application/JSON; charset=utf-8")]
    {
        assert_eq!(send(fine, &body).await.status, 200, "{fine:?}");
    }
    for other in ["text/plain", "application/x-www-form-urlencoded", "application/xml", ""] {
        let answer = send(Some(other), &body).await;
        assert_eq!(answer.status, 400, "{other}");
        assert_eq!(answer.json()["error"]["details"][0]["reason"], "CONTENT_TYPE_NOT_SUPPORTED", "{other}");
    }
    for broken in ["", "{", "[]", "7", "{\"message\":5}"] {
        let answer = send(Some("application/json"), broken).await;
        assert_eq!((answer.status, &answer.json()["error"]["status"]), (400, &json!("INVALID_ARGUMENT")), "{broken}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(send(None, &deep).await.status, 413);
}

/// The example of 1.0 §6.5.
#[tokio::test]
async fn what_is_wrong_in_a_query_is_named() {
    let world = World::open().await;
    let path = "/a2a/tasks?pageSize=150&historyLength=-5&status=TASK_STATE_RUNNING";
    let answer = world.ask("GET", path, &[("a2a-version", "1.0")], None).await;
    assert_eq!(answer.status, 400);
    let details = answer.json()["error"]["details"].clone();
    let fields: Vec<_> =
        details[1]["fieldViolations"].as_array().unwrap().iter().map(|one| one["field"].clone()).collect();
    assert_eq!(fields, ["status", "pageSize", "historyLength"]);
    assert_eq!(details[1]["@type"], "type.googleapis.com/google.rpc.BadRequest");
}
