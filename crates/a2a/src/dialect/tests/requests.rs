//! Requests of each version, and the fields that are named where they are wrong.

use a2a::A2AError;
use serde_json::{Value, json};

use crate::dialect::*;
use crate::error::details;

/// An operation as JSON: what it is, and its request in the words of 1.0.
fn told(operation: &Operation) -> Value {
    let sent = |name: &str, sent: &crate::server::Sent| {
        let mut told = json!({ name: sent.request });
        if let Some(id) = &sent.own_task_id {
            told["ownTaskId"] = json!(id);
        }
        if let Some(key) = &sent.idempotency_key {
            told["idempotencyKey"] = json!(key);
        }
        told
    };
    match operation {
        Operation::SendMessage(of) => sent("send", of),
        Operation::StreamMessage(of) => sent("stream", of),
        Operation::GetTask(request) => json!({ "get": request }),
        Operation::ListTasks(request) => json!({ "list": request }),
        Operation::CancelTask(request) => json!({ "cancel": request }),
        Operation::Subscribe(request, after) => json!({ "subscribe": request, "after": after }),
        Operation::CreatePushConfig(config) => json!({ "createPush": config }),
        Operation::CreatePushConfigAhead(config) => json!({ "createPushAhead": config }),
        Operation::GetPushConfig(request) => json!({ "getPush": request }),
        Operation::AnyPushConfig(request) => json!({ "anyPush": request }),
        Operation::ListPushConfigs(request) => json!({ "listPush": request }),
        Operation::DeletePushConfig(request) => json!({ "deletePush": request }),
        Operation::ExtendedCard(request) => json!({ "card": request }),
    }
}

fn read(dialect: Dialect, name: Name, params: &Value) -> Result<Value, A2AError> {
    let around = Around { idempotency_key: None, after: Some(7) };
    dialect.read(name, Some(&params.to_string()), around).map(|operation| told(&operation))
}

#[track_caller]
fn check(dialect: Dialect, name: Name, params: Value, expected: Value) {
    assert_eq!(read(dialect, name, &params).unwrap(), expected, "{dialect:?} {name:?} {params}");
}

/// The fields that are said to be wrong.
#[track_caller]
fn wrong(dialect: Dialect, name: Name, params: Value) -> Vec<String> {
    let error = read(dialect, name, &params).expect_err(&params.to_string());
    assert_eq!(error.code, -32602, "{error:?}");
    let violations = details(&error).into_iter().filter_map(|detail| detail["fieldViolations"].as_array().cloned());
    violations.flatten().map(|one| one["field"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn requests_of_1_0() {
    let message = json!({
        "messageId": "m", "role": "ROLE_USER", "contextId": "c", "taskId": "t", "extensions": ["e"], "referenceTaskIds": ["r"],
        "metadata": { "k": [1] },
        "parts": [
            { "text": "hi" },
            { "raw": "AAE=", "filename": "f", "mediaType": "image/png" },
            { "url": "https://example.com/f", "metadata": { "a": 1 } },
            { "data": [1, { "x": null }] },
        ],
    });
    let configuration = json!({
        "acceptedOutputModes": ["text/plain"], "historyLength": 0, "returnImmediately": true,
        "taskPushNotificationConfig": { "url": "https://example.com", "token": "s", "authentication": { "scheme": "Bearer" } },
    });
    let request =
        json!({ "message": message, "configuration": configuration, "metadata": { "m": true }, "tenant": "acme" });
    check(Dialect::V1_0, Name::SendMessage, request.clone(), json!({ "send": request }));
    check(Dialect::V1_0, Name::StreamMessage, request.clone(), json!({ "stream": request }));

    let with_unknown = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "" }], "new": 1 }, "newer": {} });
    let without = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "" }] } });
    check(Dialect::V1_0, Name::SendMessage, with_unknown, json!({ "send": without }));

    let same = [
        (Name::GetTask, "get", json!({ "id": "t", "historyLength": 2, "tenant": "acme" })),
        (Name::CancelTask, "cancel", json!({ "id": "t", "metadata": { "why": "x" } })),
        (Name::CreatePushConfig, "createPush", json!({ "taskId": "t", "url": "https://example.com", "id": "c" })),
        (Name::GetPushConfig, "getPush", json!({ "taskId": "t", "id": "c" })),
        (Name::ListPushConfigs, "listPush", json!({ "taskId": "t", "pageSize": 5, "pageToken": "p" })),
        (Name::DeletePushConfig, "deletePush", json!({ "taskId": "t", "id": "c" })),
        (Name::ExtendedCard, "card", json!({ "tenant": "acme" })),
        (
            Name::ListTasks,
            "list",
            json!({
                "contextId": "c", "status": "TASK_STATE_WORKING", "pageSize": 100, "pageToken": "p", "historyLength": 0,
                "statusTimestampAfter": "2026-01-31T12:00:00Z", "includeArtifacts": true,
            }),
        ),
    ];
    for (name, word, params) in same {
        check(Dialect::V1_0, name, params.clone(), json!({ word: params }));
    }
    check(Dialect::V1_0, Name::Subscribe, json!({ "id": "t" }), json!({ "subscribe": { "id": "t" }, "after": 7 }));
    let empty = json!({ "contextId": "", "pageToken": "", "status": "TASK_STATE_UNSPECIFIED" });
    check(Dialect::V1_0, Name::ListTasks, empty, json!({ "list": {} }));
    // Over gRPC, too, a size of 0 is one that is not said.
    let all = json!({ "taskId": "t", "pageSize": 0 });
    check(Dialect::V1_0, Name::ListPushConfigs, all, json!({ "listPush": { "taskId": "t" } }));
    for params in [None, Some("null"), Some("{}")] {
        let operation = Dialect::V1_0.read(Name::ListTasks, params, Around::default()).unwrap();
        assert_eq!(told(&operation), json!({ "list": {} }));
    }
}

/// The conformance suite sends such messages.
#[test]
fn a_message_without_an_id_gets_one() {
    let id = |message: Value| {
        let params = json!({ "message": message }).to_string();
        let read = Dialect::V1_0.read(Name::SendMessage, Some(&params), Around::default()).expect("a message");
        told(&read)["send"]["message"]["messageId"].as_str().expect("an id").to_owned()
    };
    let part = json!([{ "text": "x" }]);
    let absent = id(json!({ "role": "ROLE_USER", "parts": part }));
    let empty = id(json!({ "messageId": "", "role": "ROLE_USER", "parts": part }));
    assert!(!absent.is_empty() && !empty.is_empty() && absent != empty);
    assert_eq!(id(json!({ "messageId": "m", "role": "ROLE_USER", "parts": part })), "m");
}

#[test]
fn ids_beside_a_message_are_the_messages() {
    let part = json!([{ "text": "x" }]);
    let ids = |params: Value| {
        let read =
            Dialect::V1_0.read(Name::SendMessage, Some(&params.to_string()), Around::default()).expect("a message");
        let message = &told(&read)["send"]["message"];
        (message["taskId"].clone(), message["contextId"].clone())
    };
    let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": part });
    assert_eq!(ids(json!({ "taskId": "t", "contextId": "c", "message": message })), (json!("t"), json!("c")));
    assert_eq!(ids(json!({ "message": message })), (Value::Null, Value::Null));
    let named = json!({ "messageId": "m", "role": "ROLE_USER", "parts": part, "taskId": "own" });
    assert_eq!(ids(json!({ "taskId": "t", "contextId": "c", "message": named })), (json!("own"), json!("c")));
    let texts = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "a \"taskId\": \"t\"" }] });
    assert_eq!(ids(json!({ "message": texts })), (Value::Null, Value::Null), "words are no members");
}

#[test]
fn a_wrapped_push_configuration_is_unwrapped() {
    let wrapped = json!({ "taskId": "t", "pushNotificationConfig": { "url": "https://a.example/", "token": "k" } });
    let plain = json!({ "taskId": "t", "url": "https://a.example/", "token": "k" });
    let read = |params: &Value| {
        told(&Dialect::V1_0.read(Name::CreatePushConfig, Some(&params.to_string()), Around::default()).expect("params"))
    };
    assert_eq!(read(&wrapped), read(&plain));
}

#[test]
fn what_is_wrong_is_named() {
    let part = json!([{ "text": "x" }]);
    let table = [
        (json!({}), vec!["message"]),
        (json!({ "message": { "role": "ROLE_USER" } }), vec!["message.parts"]),
        (json!({ "message": { "messageId": "m", "parts": part } }), vec!["message.role"]),
        (json!({ "message": { "messageId": "m", "role": "ROLE_USER" } }), vec!["message.parts"]),
        (json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [] } }), vec!["message.parts"]),
        (json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{}] } }), vec!["message.parts[0]"]),
        (
            json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "raw": "?" }] } }),
            vec!["message.parts[0]"],
        ),
        (
            json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "x" }, { "text": "x", "data": {} }] } }),
            vec!["message.parts[1]"],
        ),
        (
            json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "url": "https://a.example", "raw": "AA==" }] } }),
            vec!["message.parts[0]"],
        ),
        (json!({ "message": { "messageId": "m", "role": "ROLE_AGENT", "parts": part } }), vec!["message.role"]),
        (json!({ "message": { "messageId": "m", "role": "user", "parts": part } }), vec!["message.role"]),
        (json!({ "message": { "messageId": "m", "role": "ROLE_UNSPECIFIED", "parts": part } }), vec!["message.role"]),
        (json!({ "message": { "messageId": "", "role": "", "parts": [] } }), vec!["message.parts", "message.role"]),
        (
            json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": part }, "configuration": { "historyLength": -1 } }),
            vec!["configuration.historyLength"],
        ),
        (
            json!({
                "message": { "messageId": "m", "role": "ROLE_USER", "parts": part },
                "configuration": { "taskPushNotificationConfig": { "url": "", "authentication": { "scheme": "" } } },
            }),
            vec![
                "configuration.taskPushNotificationConfig.url",
                "configuration.taskPushNotificationConfig.authentication.scheme",
            ],
        ),
    ];
    for (params, fields) in table {
        assert_eq!(wrong(Dialect::V1_0, Name::SendMessage, params.clone()), fields, "{params}");
    }
    let others = [
        (Name::GetTask, json!({}), vec!["id"]),
        (Name::GetTask, json!({ "id": "" }), vec!["id"]),
        (Name::GetTask, json!({ "id": 5 }), vec!["id"]),
        (Name::GetTask, json!({ "id": "t", "historyLength": -5 }), vec!["historyLength"]),
        (Name::ListTasks, json!({ "pageSize": 0 }), vec!["pageSize"]),
        (Name::ListTasks, json!({ "pageSize": 101, "historyLength": -1 }), vec!["pageSize", "historyLength"]),
        (Name::ListTasks, json!({ "status": "TASK_STATE_RUNNING" }), vec!["status"]),
        (Name::ListTasks, json!({ "statusTimestampAfter": "yesterday" }), vec!["statusTimestampAfter"]),
        (Name::CreatePushConfig, json!({ "url": "u" }), vec!["taskId"]),
        (Name::CreatePushConfig, json!({ "taskId": "t" }), vec!["url"]),
        (Name::DeletePushConfig, json!({ "taskId": "t" }), vec!["id"]),
    ];
    for (name, params, fields) in others {
        assert_eq!(wrong(Dialect::V1_0, name, params.clone()), fields, "{params}");
    }
    for params in [json!([]), json!("text"), json!(7)] {
        assert_eq!(wrong(Dialect::V1_0, Name::GetTask, params), Vec::<String>::new());
    }
}

#[test]
fn requests_of_0_3() {
    let message = json!({
        "kind": "message", "messageId": "m", "role": "user", "contextId": "c", "taskId": "t", "metadata": { "k": 1 },
        "parts": [
            { "kind": "text", "text": "hi", "metadata": { "a": 1 } },
            { "kind": "file", "file": { "bytes": "AAE=", "name": "f", "mimeType": "image/png" } },
            { "kind": "file", "file": { "uri": "https://example.com/f" } },
            { "kind": "data", "data": { "data": 1 } },
            { "kind": "data", "data": { "value": [1] }, "metadata": { "data_part_compat": true } },
        ],
    });
    let configuration = json!({
        "acceptedOutputModes": ["text/plain"], "historyLength": 3, "blocking": false,
        "pushNotificationConfig": { "id": "p", "url": "https://example.com", "token": "s",
            "authentication": { "schemes": ["Basic", "Bearer"], "credentials": "x" } },
    });
    let understood = json!({
        "message": {
            "messageId": "m", "role": "ROLE_USER", "contextId": "c", "taskId": "t", "metadata": { "k": 1 },
            "parts": [
                { "text": "hi", "metadata": { "a": 1 } },
                { "raw": "AAE=", "filename": "f", "mediaType": "image/png" },
                { "url": "https://example.com/f" },
                { "data": { "data": 1 } },
                { "data": [1] },
            ],
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 3, "returnImmediately": true,
            "taskPushNotificationConfig": { "id": "p", "url": "https://example.com", "token": "s",
                "authentication": { "scheme": "Basic", "credentials": "x" } },
        },
        "metadata": { "m": true },
    });
    let request = json!({ "message": message, "configuration": configuration, "metadata": { "m": true } });
    check(Dialect::V0_3, Name::SendMessage, request.clone(), json!({ "send": understood }));
    check(Dialect::V0_3, Name::StreamMessage, request, json!({ "stream": understood }));

    let plain = json!({ "role": "user", "messageId": "m", "parts": [{ "kind": "text", "text": "x" }] });
    let waits = |said: Value| {
        let params = json!({ "message": plain, "configuration": { "blocking": said } });
        read(Dialect::V0_3, Name::SendMessage, &params).unwrap()["send"]["configuration"]["returnImmediately"].clone()
    };
    assert_eq!([waits(json!(true)), waits(json!(false)), waits(Value::Null)], [json!(false), json!(true), Value::Null]);

    let table = [
        (
            Name::GetTask,
            json!({ "id": "t", "historyLength": 2, "metadata": {} }),
            json!({ "get": { "id": "t", "historyLength": 2 } }),
        ),
        (
            Name::CancelTask,
            json!({ "id": "t", "metadata": { "why": 1 } }),
            json!({ "cancel": { "id": "t", "metadata": { "why": 1 } } }),
        ),
        (Name::Subscribe, json!({ "id": "t" }), json!({ "subscribe": { "id": "t" }, "after": 7 })),
        (
            Name::CreatePushConfig,
            json!({ "taskId": "t", "pushNotificationConfig": { "url": "u" } }),
            json!({ "createPush": { "taskId": "t", "id": "t", "url": "u" } }),
        ),
        (Name::GetPushConfig, json!({ "id": "t" }), json!({ "anyPush": { "taskId": "t" } })),
        (
            Name::GetPushConfig,
            json!({ "id": "t", "pushNotificationConfigId": "c" }),
            json!({ "getPush": { "taskId": "t", "id": "c" } }),
        ),
        (Name::ListPushConfigs, json!({ "id": "t" }), json!({ "listPush": { "taskId": "t" } })),
        (
            Name::DeletePushConfig,
            json!({ "id": "t", "pushNotificationConfigId": "c" }),
            json!({ "deletePush": { "taskId": "t", "id": "c" } }),
        ),
        (Name::ExtendedCard, json!({}), json!({ "card": {} })),
    ];
    for (name, params, expected) in table {
        check(Dialect::V0_3, name, params, expected);
    }
}

#[test]
fn what_is_wrong_in_0_3_is_named() {
    let with = |parts: Value| json!({ "message": { "messageId": "m", "role": "user", "parts": parts } });
    let table = [
        (json!({}), "message"),
        (json!({ "message": { "role": "user", "parts": [{ "kind": "text", "text": "x" }] } }), "message.messageId"),
        (
            json!({ "message": { "messageId": "m", "role": "system", "parts": [{ "kind": "text", "text": "x" }] } }),
            "message.role",
        ),
        (
            json!({ "message": { "messageId": "m", "role": "agent", "parts": [{ "kind": "text", "text": "x" }] } }),
            "message.role",
        ),
        (with(json!([])), "message.parts"),
        (with(json!([{ "kind": "text" }])), "message.parts[0].text"),
        (with(json!([{ "kind": "text", "text": "x" }, { "kind": "video" }])), "message.parts[1]"),
        (with(json!([{}])), "message.parts[0]"),
        (with(json!([{ "kind": "file", "file": {} }])), "message.parts[0].file"),
        (with(json!([{ "kind": "file", "file": { "bytes": "?" } }])), "message.parts[0].file.bytes"),
        (with(json!([{ "kind": "file", "file": { "bytes": "AA==", "uri": "u" } }])), "message.parts[0].file"),
    ];
    for (params, field) in table {
        assert_eq!(wrong(Dialect::V0_3, Name::SendMessage, params.clone()), [field], "{params}");
    }
    assert_eq!(wrong(Dialect::V0_3, Name::DeletePushConfig, json!({ "id": "t" })), ["pushNotificationConfigId"]);
}

/// What the official clients of 0.3 send over HTTP+JSON: the protobuf definition, one with underscores and one without.
#[test]
fn requests_of_0_3_over_http() {
    let underscores = json!({
        "request": {
            "message_id": "m", "context_id": "c", "role": "ROLE_USER",
            "content": [
                { "text": "hi" },
                { "file": { "file_with_bytes": "AAE=", "mime_type": "image/png", "name": "f" } },
                { "data": { "data": { "x": 1 } } },
            ],
        },
        "configuration": { "accepted_output_modes": ["text/plain"], "history_length": 2, "blocking": true },
        "metadata": {},
    });
    let camel = json!({
        "message": {
            "messageId": "m", "contextId": "c", "role": "ROLE_USER",
            "content": [
                { "text": "hi" },
                { "file": { "fileWithBytes": "AAE=", "mimeType": "image/png", "name": "f" } },
                { "data": { "data": { "x": 1 } } },
            ],
        },
        "configuration": { "acceptedOutputModes": ["text/plain"], "historyLength": 2, "blocking": true },
        "metadata": {},
    });
    let understood = json!({
        "message": {
            "messageId": "m", "contextId": "c", "role": "ROLE_USER",
            "parts": [
                { "text": "hi" },
                { "raw": "AAE=", "filename": "f", "mediaType": "image/png" },
                { "data": { "x": 1 } },
            ],
        },
        "configuration": { "acceptedOutputModes": ["text/plain"], "historyLength": 2, "returnImmediately": false },
        "metadata": {},
    });
    for request in [underscores, camel] {
        check(Dialect::V0_3Http, Name::SendMessage, request, json!({ "send": understood }));
    }
    let push = json!({ "url": "u", "id": "c", "authentication": { "schemes": ["Bearer"] } });
    let expected =
        json!({ "createPush": { "taskId": "t", "url": "u", "id": "c", "authentication": { "scheme": "Bearer" } } });
    for body in [
        json!({ "parent": "tasks/t", "config_id": "c", "config": { "name": "n", "push_notification_config": push } }),
        json!({ "name": "n", "pushNotificationConfig": push }),
    ] {
        let params = push_params_0_3("t", body.as_object().unwrap().clone());
        check(Dialect::V0_3Http, Name::CreatePushConfig, serde_json::from_str(&params).unwrap(), expected.clone());
    }
}

#[test]
fn requests_of_april_2025() {
    let params = json!({
        "id": "mine", "sessionId": "s", "historyLength": 2, "metadata": { "m": 1 }, "acceptedOutputModes": ["text"],
        "pushNotification": { "url": "u", "authentication": { "schemes": ["bearer"] } },
        "message": { "role": "user", "parts": [
            { "type": "text", "text": "hi" },
            { "type": "file", "file": { "uri": "https://example.com/f", "mimeType": "image/png" } },
            { "type": "data", "data": { "x": 1 } },
        ] },
    });
    for (name, word) in [(Name::SendMessage, "send"), (Name::StreamMessage, "stream")] {
        let mut told = read(Dialect::April2025, name, &params).unwrap();
        let id = told[word]["message"]["messageId"].take();
        assert!(id.as_str().is_some_and(|id| !id.is_empty()), "one is made: {told}");
        let expected = json!({
            word: {
                "message": {
                    "messageId": null, "role": "ROLE_USER", "contextId": "s",
                    "parts": [
                        { "text": "hi" },
                        { "url": "https://example.com/f", "mediaType": "image/png" },
                        { "data": { "x": 1 } },
                    ],
                },
                "configuration": {
                    "acceptedOutputModes": ["text"], "historyLength": 2,
                    "taskPushNotificationConfig": { "id": "mine", "url": "u", "authentication": { "scheme": "bearer" } },
                },
                "metadata": { "m": 1 },
            },
            "ownTaskId": "mine",
        });
        assert_eq!(told, expected);
    }
    let set = json!({ "id": "t", "pushNotificationConfig": { "url": "u" } });
    check(
        Dialect::April2025,
        Name::CreatePushConfig,
        set,
        json!({ "createPushAhead": { "taskId": "t", "id": "t", "url": "u" } }),
    );
    check(Dialect::April2025, Name::GetPushConfig, json!({ "id": "t" }), json!({ "anyPush": { "taskId": "t" } }));
    assert_eq!(
        wrong(Dialect::April2025, Name::SendMessage, json!({ "message": { "role": "user", "parts": [] } })),
        ["id"]
    );
    let empty = json!({ "id": "", "message": { "role": "user", "parts": [] } });
    assert_eq!(wrong(Dialect::April2025, Name::SendMessage, empty), ["id"]);
}

#[test]
fn params_in_a_query() {
    let pairs = |query: &[(&str, &str)]| {
        query.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect::<Vec<_>>()
    };
    let whole = pairs(&[
        ("contextId", "c"),
        ("status", "TASK_STATE_WORKING"),
        ("pageSize", "50"),
        ("pageToken", "p"),
        ("historyLength", "10"),
        ("statusTimestampAfter", "2026-01-31T12:00:00Z"),
        ("includeArtifacts", "true"),
        ("A2A-Version", "1.0"),
    ]);
    let expected = json!({ "list": {
        "contextId": "c", "status": "TASK_STATE_WORKING", "pageSize": 50, "pageToken": "p", "historyLength": 10,
        "statusTimestampAfter": "2026-01-31T12:00:00Z", "includeArtifacts": true, "tenant": "acme",
    } });
    assert_eq!(told(&list_tasks(Some("acme".into()), &whole).unwrap()), expected);
    let empty = pairs(&[("status", ""), ("pageSize", "")]);
    assert_eq!(told(&list_tasks(None, &empty).unwrap()), json!({ "list": {} }));
    let spelled = pairs(&[("status", "TASK_STATE_CANCELLED")]);
    assert_eq!(told(&list_tasks(None, &spelled).unwrap()), json!({ "list": { "status": "TASK_STATE_CANCELED" } }));
    let history = pairs(&[("historyLength", "0")]);
    assert_eq!(
        told(&get_task("t".into(), None, &history).unwrap()),
        json!({ "get": { "id": "t", "historyLength": 0 } })
    );

    // The example of 1.0 §6.5, with everything else that can be wrong.
    let bad = pairs(&[
        ("pageSize", "150"),
        ("historyLength", "-5"),
        ("status", "TASK_STATE_RUNNING"),
        ("statusTimestampAfter", "yesterday"),
        ("includeArtifacts", "yes"),
    ]);
    let error = list_tasks(None, &bad).unwrap_err();
    let violations = details(&error)[1]["fieldViolations"].as_array().unwrap().clone();
    let mut fields: Vec<_> = violations.iter().map(|one| one["field"].as_str().unwrap()).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["historyLength", "includeArtifacts", "pageSize", "status", "statusTimestampAfter"]);
    for wrong in ["x", "1.5", "99999999999"] {
        assert!(get_task("t".into(), None, &pairs(&[("historyLength", wrong)])).is_err(), "{wrong}");
    }
}

/// ProtoJSON takes both alphabets, with padding and without.
#[test]
fn bytes_are_read_in_every_alphabet() {
    for bytes in ["+/8=", "+/8", "-_8=", "-_8"] {
        let read_as = |dialect, part: Value, role: &str| {
            let params = json!({ "message": { "messageId": "m", "role": role, "parts": [part] } });
            read(dialect, Name::SendMessage, &params).unwrap()["send"]["message"]["parts"][0]["raw"].clone()
        };
        assert_eq!(read_as(Dialect::V1_0, json!({ "raw": bytes }), "ROLE_USER"), "+/8=", "{bytes}");
        let file = json!({ "kind": "file", "file": { "bytes": bytes } });
        assert_eq!(read_as(Dialect::V0_3, file, "user"), "+/8=", "{bytes}");
    }
    let nameless = json!({ "message": { "role": "ROLE_USER", "parts": [{ "text": "a" }, { "raw": "-_8" }] } });
    let sent = read(Dialect::V1_0, Name::SendMessage, &nameless).unwrap()["send"]["message"].clone();
    assert_eq!(sent["parts"][1]["raw"], "+/8=", "beside what else is taken");
}

/// A client looks for the field that it wrote.
#[test]
fn fields_are_named_as_their_client_wrote_them() {
    let push = json!({ "url": "" });
    let message = json!({ "messageId": "m", "role": "user", "parts": [{ "kind": "text", "text": "hi" }] });
    let v0_3 = json!({ "message": message, "configuration": { "pushNotificationConfig": push } });
    for dialect in [Dialect::V0_3, Dialect::V0_3Http] {
        let fields = wrong(dialect, Name::SendMessage, v0_3.clone());
        assert_eq!(fields, ["configuration.pushNotificationConfig.url"], "{dialect:?}");
    }
    let april = json!({ "id": "t", "message": message, "pushNotification": push });
    assert_eq!(wrong(Dialect::April2025, Name::SendMessage, april), ["pushNotification.url"]);
    let refused = crate::invalid_field("configuration.taskPushNotificationConfig.url", "names no host");
    assert_eq!(Dialect::V0_3.named(refused).message, "configuration.pushNotificationConfig.url: names no host");
}
