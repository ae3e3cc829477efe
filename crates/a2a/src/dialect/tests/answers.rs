//! Answers of each version, streams among them.

use a2a::{
    Artifact, Message, Part, Role, SendMessageResponse, StreamResponse, Task, TaskArtifactUpdateEvent,
    TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use serde_json::{Value, json};

use crate::dialect::*;

fn message() -> Message {
    Message {
        message_id: "m".into(),
        context_id: Some("c".into()),
        task_id: Some("t".into()),
        ..Message::new(Role::Agent, vec![Part::text("hi")])
    }
}

fn artifact() -> Artifact {
    let parts = vec![
        Part::raw(vec![0, 1]).with_filename("f").with_media_type("image/png"),
        Part::url("https://example.com/f"),
        Part::data(json!({ "x": 1 })),
        Part::data(json!([1])),
    ];
    Artifact {
        artifact_id: "a".into(),
        name: Some("n".into()),
        description: None,
        parts,
        metadata: None,
        extensions: None,
    }
}

fn task(state: TaskState) -> Task {
    let timestamp = Some("2026-01-31T12:00:00Z".parse().unwrap());
    Task {
        id: "t".into(),
        context_id: "c".into(),
        status: TaskStatus { state, message: Some(message()), timestamp },
        artifacts: Some(vec![artifact()]),
        history: Some(vec![message()]),
        metadata: Some([("k".to_owned(), json!(1))].into()),
    }
}

fn written(dialect: Dialect, outcome: &Outcome) -> Value {
    let mut out = Vec::new();
    dialect.write(outcome, &mut out);
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn answers_of_1_0() {
    let outcome = Outcome::Sent(SendMessageResponse::Task(task(TaskState::InputRequired)));
    let message =
        json!({ "messageId": "m", "contextId": "c", "taskId": "t", "role": "ROLE_AGENT", "parts": [{ "text": "hi" }] });
    let expected = json!({
        "id": "t",
        "contextId": "c",
        "status": { "state": "TASK_STATE_INPUT_REQUIRED", "message": message, "timestamp": "2026-01-31T12:00:00Z" },
        "artifacts": [{ "artifactId": "a", "name": "n", "parts": [
            { "raw": "AAE=", "filename": "f", "mediaType": "image/png" },
            { "url": "https://example.com/f" },
            { "data": { "x": 1 } },
            { "data": [1] },
        ] }],
        "history": [message],
        "metadata": { "k": 1 },
    });
    assert_eq!(written(Dialect::V1_0, &outcome), json!({ "task": expected }));
    assert_eq!(written(Dialect::V1_0, &Outcome::Task(task(TaskState::InputRequired))), expected);
    assert_eq!(written(Dialect::V1_0, &Outcome::Deleted), json!({}));
    let empty = a2a::ListTasksResponse { tasks: vec![], next_page_token: String::new(), page_size: 50, total_size: 0 };
    let all_four = json!({ "tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0 });
    assert_eq!(written(Dialect::V1_0, &Outcome::Tasks(empty)), all_four);
}

#[test]
fn answers_of_0_3() {
    let message = json!({
        "kind": "message", "messageId": "m", "contextId": "c", "taskId": "t", "role": "agent",
        "parts": [{ "kind": "text", "text": "hi" }],
    });
    let expected = json!({
        "kind": "task",
        "id": "t",
        "contextId": "c",
        "status": { "state": "auth-required", "message": message, "timestamp": "2026-01-31T12:00:00Z" },
        "artifacts": [{ "artifactId": "a", "name": "n", "parts": [
            { "kind": "file", "file": { "bytes": "AAE=", "name": "f", "mimeType": "image/png" } },
            { "kind": "file", "file": { "uri": "https://example.com/f" } },
            { "kind": "data", "data": { "x": 1 } },
            { "kind": "data", "data": { "value": [1] }, "metadata": { "data_part_compat": true } },
        ] }],
        "history": [message],
        "metadata": { "k": 1 },
    });
    for outcome in [
        Outcome::Sent(SendMessageResponse::Task(task(TaskState::AuthRequired))),
        Outcome::Task(task(TaskState::AuthRequired)),
    ] {
        assert_eq!(written(Dialect::V0_3, &outcome), expected);
    }
    let bare = Outcome::Sent(SendMessageResponse::Message(self::message()));
    assert_eq!(written(Dialect::V0_3, &bare), message);
    assert_eq!(written(Dialect::V0_3, &Outcome::Deleted), Value::Null);
}

#[test]
fn answers_of_april_2025() {
    let message = json!({ "role": "agent", "parts": [{ "type": "text", "text": "hi" }] });
    let expected = json!({
        "id": "t",
        "sessionId": "c",
        "status": { "state": "input-required", "message": message, "timestamp": "2026-01-31T12:00:00Z" },
        "artifacts": [{ "name": "n", "index": 0, "parts": [
            { "type": "file", "file": { "bytes": "AAE=", "name": "f", "mimeType": "image/png" } },
            { "type": "file", "file": { "uri": "https://example.com/f" } },
            { "type": "data", "data": { "x": 1 } },
            { "type": "data", "data": { "value": [1] }, "metadata": { "data_part_compat": true } },
        ] }],
        "history": [message],
        "metadata": { "k": 1 },
    });
    assert_eq!(written(Dialect::April2025, &Outcome::Task(task(TaskState::AuthRequired))), expected);
    let bare = Outcome::Sent(SendMessageResponse::Message(self::message()));
    let around = json!({ "id": "t", "sessionId": "c", "status": { "state": "completed", "message": message } });
    assert_eq!(written(Dialect::April2025, &bare), around);
}

#[test]
fn states_in_every_dialect() {
    let table = [
        (TaskState::Unspecified, "unknown", "unknown", "TASK_STATE_UNSPECIFIED"),
        (TaskState::Submitted, "submitted", "submitted", "TASK_STATE_SUBMITTED"),
        (TaskState::Working, "working", "working", "TASK_STATE_WORKING"),
        (TaskState::InputRequired, "input-required", "input-required", "TASK_STATE_INPUT_REQUIRED"),
        (TaskState::AuthRequired, "auth-required", "input-required", "TASK_STATE_AUTH_REQUIRED"),
        (TaskState::Completed, "completed", "completed", "TASK_STATE_COMPLETED"),
        (TaskState::Canceled, "canceled", "canceled", "TASK_STATE_CANCELLED"),
        (TaskState::Failed, "failed", "failed", "TASK_STATE_FAILED"),
        (TaskState::Rejected, "rejected", "failed", "TASK_STATE_REJECTED"),
    ];
    for (state, v0_3, april, http) in table {
        let outcome = Outcome::Task(task(state));
        let state = |dialect| written(dialect, &outcome)["status"]["state"].clone();
        assert_eq!(
            [Dialect::V0_3, Dialect::Either, Dialect::April2025, Dialect::V0_3Http].map(state),
            [json!(v0_3), json!(v0_3), json!(april), json!(http)]
        );
    }
}

/// Where a request does not tell, each version finds exactly its own answer among the fields.
#[test]
fn both_in_one_hold_both() {
    fn holds(both: &Value, one: &Value) -> bool {
        match (both, one) {
            (Value::Object(both), Value::Object(one)) => {
                one.iter().all(|(name, value)| both.get(name).is_some_and(|both| holds(both, value)))
            }
            (Value::Array(both), Value::Array(one)) => {
                both.len() == one.len() && both.iter().zip(one).all(|(both, one)| holds(both, one))
            }
            (both, one) => both == one,
        }
    }
    let task = Outcome::Task(task(TaskState::Working));
    let both = written(Dialect::Either, &task);
    for dialect in [Dialect::V0_3, Dialect::April2025] {
        let one = written(dialect, &task);
        assert!(holds(&both, &one), "{dialect:?}: {both} does not hold {one}");
    }
    for item in items() {
        let written = |dialect| {
            let items = StreamWriter::new(dialect).write(&item);
            items.iter().map(|item| serde_json::from_slice(item).unwrap()).collect::<Vec<Value>>()
        };
        let both = written(Dialect::Either);
        assert!(holds(&both[0], &written(Dialect::V0_3)[0]));
        if !matches!(item, StreamResponse::Task(_)) {
            assert!(holds(&both[0], &written(Dialect::April2025)[0]));
        }
    }
}

fn items() -> [StreamResponse; 3] {
    let status = |state| TaskStatus { state, message: None, timestamp: None };
    [
        StreamResponse::Task(Task { history: None, metadata: None, ..task(TaskState::Working) }),
        StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: "t".into(),
            context_id: "c".into(),
            artifact: Artifact { artifact_id: "b".into(), parts: vec![Part::text("x")], ..artifact() },
            append: Some(false),
            last_chunk: Some(true),
            metadata: None,
        }),
        StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: "t".into(),
            context_id: "c".into(),
            status: status(TaskState::Completed),
            metadata: None,
        }),
    ]
}

#[test]
fn streams_in_every_dialect() {
    let all = |dialect| {
        let mut writer = StreamWriter::new(dialect);
        let items = items().map(|item| writer.write(&item));
        items.into_iter().flatten().map(|item| serde_json::from_slice(&item).unwrap()).collect::<Vec<Value>>()
    };
    let v1_0 = all(Dialect::V1_0);
    assert_eq!(v1_0[0]["task"]["id"], "t");
    assert_eq!(
        v1_0[1..],
        [
            json!({ "artifactUpdate": { "taskId": "t", "contextId": "c", "append": false, "lastChunk": true,
                "artifact": { "artifactId": "b", "name": "n", "parts": [{ "text": "x" }] } } }),
            json!({ "statusUpdate": { "taskId": "t", "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" } } }),
        ]
    );
    let v0_3 = all(Dialect::V0_3);
    assert_eq!(v0_3[0]["kind"], "task");
    assert_eq!(
        v0_3[1..],
        [
            json!({ "kind": "artifact-update", "taskId": "t", "contextId": "c", "append": false, "lastChunk": true,
                "artifact": { "artifactId": "b", "name": "n", "parts": [{ "kind": "text", "text": "x" }] } }),
            json!({ "kind": "status-update", "taskId": "t", "contextId": "c", "status": { "state": "completed" }, "final": true }),
        ]
    );
    let april = all(Dialect::April2025);
    assert_eq!(april[0]["final"], false);
    assert_eq!((&april[1]["id"], &april[1]["artifact"]["index"]), (&json!("t"), &json!(0)));
    assert_eq!(
        april[2..],
        [
            json!({ "id": "t", "artifact": { "name": "n", "index": 1, "append": false, "lastChunk": true,
                "parts": [{ "type": "text", "text": "x" }] } }),
            json!({ "id": "t", "status": { "state": "completed" }, "final": true }),
        ]
    );
    // Readers of April 2025 stop at what is final, so it is the last.
    for (state, order) in [(TaskState::Working, ["status", "artifact"]), (TaskState::Completed, ["artifact", "status"])]
    {
        let items = StreamWriter::new(Dialect::April2025).write(&StreamResponse::Task(task(state)));
        let items: Vec<Value> = items.iter().map(|item| serde_json::from_slice(item).unwrap()).collect();
        assert!(items.iter().zip(order).all(|(item, name)| item.get(name).is_some()), "{items:?}");
    }
    let http = all(Dialect::V0_3Http);
    assert_eq!(
        http[0]["task"]["artifacts"][0]["parts"],
        json!([
            { "file": { "fileWithBytes": "AAE=", "name": "f", "mimeType": "image/png" } },
            { "file": { "fileWithUri": "https://example.com/f" } },
            { "data": { "data": { "x": 1 } } },
            { "data": { "data": { "value": [1] } } },
        ])
    );
    assert_eq!(http[0]["task"]["status"]["message"]["content"], json!([{ "text": "hi" }]));
    assert_eq!(
        http[2],
        json!({ "statusUpdate": { "taskId": "t", "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" }, "final": true } })
    );
}

#[test]
fn push_configurations_in_every_dialect() {
    let config = TaskPushNotificationConfig {
        url: "u".into(),
        id: Some("c".into()),
        task_id: "t".into(),
        token: None,
        authentication: Some(a2a::AuthenticationInfo { scheme: "Bearer".into(), credentials: None }),
        tenant: None,
    };
    let nested = json!({ "id": "c", "url": "u", "authentication": { "schemes": ["Bearer"] } });
    let nameless = json!({ "url": "u", "authentication": { "schemes": ["Bearer"] } });
    let table = [
        (Dialect::V1_0, json!({ "id": "c", "taskId": "t", "url": "u", "authentication": { "scheme": "Bearer" } })),
        (Dialect::V0_3, json!({ "taskId": "t", "pushNotificationConfig": nested })),
        // Seed 004: a task has one configuration, and that has no name.
        (Dialect::April2025, json!({ "id": "t", "pushNotificationConfig": nameless })),
        (Dialect::V0_3Http, json!({ "name": "tasks/t/pushNotificationConfigs/c", "pushNotificationConfig": nested })),
    ];
    for (dialect, expected) in table {
        assert_eq!(written(dialect, &Outcome::PushConfig(config.clone())), expected, "{dialect:?}");
    }
    let list = |next_page_token| {
        Outcome::PushConfigs(a2a::ListTaskPushNotificationConfigsResponse {
            configs: vec![config.clone()],
            next_page_token,
        })
    };
    assert_eq!(written(Dialect::V0_3, &list(None)), json!([{ "taskId": "t", "pushNotificationConfig": nested }]));
    let named = json!([{ "name": "tasks/t/pushNotificationConfigs/c", "pushNotificationConfig": nested }]);
    assert_eq!(written(Dialect::V0_3Http, &list(None)), json!({ "configs": named }));
    let page = json!({ "configs": named, "nextPageToken": "more" });
    assert_eq!(written(Dialect::V0_3Http, &list(Some("more".to_owned()))), page);
}

/// A list without anything in it is one all the same.
#[test]
fn no_configurations_are_an_empty_list() {
    let none = a2a::ListTaskPushNotificationConfigsResponse { configs: Vec::new(), next_page_token: None };
    assert_eq!(written(Dialect::V1_0, &Outcome::PushConfigs(none)), json!({ "configs": [] }));
}
