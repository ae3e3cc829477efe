//! Whether something arrived: what was never sent did not, and what may have is looked for in the words of the peer.

use super::*;

#[tokio::test]
async fn a_message_that_may_have_arrived_is_looked_for_as_the_peer_allows() {
    let messaging = json!([{ "uri": factum_a2a::MESSAGING_URI }]);
    let (fake, keeps_keys) = start(|_, _| Says::Error(-32601), messaging).await;
    assert_eq!(keeps_keys.keeps_keys("north").await, Ok(true));
    assert!(fake.asked.lock().is_empty(), "its card says enough");

    let (_, lists) = start(
        |_, params| {
            let found = json!({ "id": "r1", "contextId": "c1", "status": { "state": "TASK_STATE_WORKING" },
                "history": [{ "messageId": "msg_1", "role": "ROLE_USER", "parts": [] }] });
            let first = params["pageToken"].is_null();
            let tasks = if first { json!([task("TASK_STATE_WORKING")]) } else { json!([found]) };
            let next = if first { "more" } else { "" };
            Says::Result(json!({ "tasks": tasks, "nextPageToken": next, "pageSize": 1, "totalSize": 2 }))
        },
        json!([]),
    )
    .await;
    let Ok(Found::Task(view)) = lists.find("north", &errand()).await else { panic!("not found") };
    assert!(!view.whole, "lists leave out what tasks made: the task itself is looked at before it is over");

    for code in [-32601, -32004] {
        let script: Script = if code == -32601 { |_, _| Says::Error(-32601) } else { |_, _| Says::Error(-32004) };
        let (_, peers) = start(script, json!([])).await;
        assert!(matches!(peers.find("north", &errand()).await, Ok(Found::Unknown { .. })), "{code}");
        assert_eq!(peers.keeps_keys("north").await, Ok(false));
    }
}

/// In April 2025 a task is called as the message it began with, so it can be asked for.
#[tokio::test]
async fn a_task_of_april_2025_is_found_by_its_message() {
    fn script(method: &str, params: &Value) -> Says {
        match (method, params["id"].as_str()) {
            ("tasks/get", Some("msg_1")) => Says::Result(json!({ "id": "msg_1", "status": { "state": "working" } })),
            _ => Says::Error(-32001),
        }
    }
    let (fake, peers) = start_april(script).await;
    let Ok(Found::Task(view)) = peers.find("north", &errand()).await else { panic!("not found") };
    assert_eq!((view.remote.task_id.as_str(), view.recovery, view.whole), ("msg_1", PeerRecovery::Running, true));
    let other = Errand { message_id: "msg_2".to_owned(), ..errand() };
    assert!(matches!(peers.find("north", &other).await, Ok(Found::Absent { .. })));
    let asked: Vec<String> = fake.asked.lock().iter().map(|(method, _)| method.clone()).collect();
    assert_eq!(asked, ["tasks/get", "tasks/get"]);
}

/// The card is known, and nobody listens any more: nothing was sent, and nothing is in doubt.
#[tokio::test]
async fn what_finds_nobody_listening_was_not_sent() {
    let (fake, peers) = start(|_, _| Says::Error(-32601), json!([])).await;
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    *fake.address.lock() = Some(closed.local_addr().unwrap());
    drop(closed);
    let answer = Answer { message_id: "act_1".into(), decision: "allow".into(), text: "up".into(), action_id: None };
    for known in [false, true] {
        assert_eq!(peers.keeps_keys("north").await, Ok(false), "its card is there: {known}");
        let given = peers.give("north", &errand()).await;
        assert!(matches!(given, Err(Trouble::Network { may_have_arrived: false, .. })), "{given:?}");
        peers.keeps_keys("north").await.unwrap();
        let answered = peers.answer("north", &remote(), &answer).await;
        assert!(matches!(answered, Err(Trouble::Network { may_have_arrived: false, .. })), "{answered:?}");
    }
}

fn page(tasks: Value, next: &str) -> Says {
    Says::Result(json!({ "tasks": tasks, "nextPageToken": next, "pageSize": 1, "totalSize": 1 }))
}

/// A list that shows what its tasks were told, or none at all, tells that something is not there. Another one tells nothing.
#[tokio::test]
async fn a_list_tells_what_is_not_there_by_showing_what_is() {
    let (_, empty) = start(|_, _| page(json!([]), ""), json!([])).await;
    assert!(matches!(empty.find("north", &errand()).await, Ok(Found::Absent { .. })));
    let (_, bare) = start(|_, _| page(json!([task("TASK_STATE_WORKING")]), ""), json!([])).await;
    assert!(matches!(bare.find("north", &errand()).await, Ok(Found::Unknown { .. })));
    let (fake, endless) = start(|_, _| page(json!([]), "more"), json!([])).await;
    assert!(matches!(endless.find("north", &errand()).await, Ok(Found::Unknown { .. })));
    assert!(fake.asked.lock().len() <= 32, "it is not searched for ever");
}

/// A conversation that is cut off in front does not show what began it, and one of a clock that is behind is not among the newest.
#[tokio::test]
async fn a_list_tells_nothing_of_what_it_does_not_show() {
    let long: Script = |_, _| {
        let said: Vec<Value> =
            (0..100).map(|at| json!({ "messageId": format!("m-{at}"), "role": "ROLE_USER", "parts": [] })).collect();
        let mut task = task("TASK_STATE_WORKING");
        task["history"] = json!(said);
        page(json!([task]), "")
    };
    let (_, peers) = start(long, json!([])).await;
    assert!(matches!(peers.find("north", &errand()).await, Ok(Found::Unknown { .. })));
    let behind: Script = |_, params| {
        let mut task = task("TASK_STATE_WORKING");
        task["history"] = json!([{ "messageId": errand().message_id, "role": "ROLE_USER", "parts": [] }]);
        let is_new = params.get("statusTimestampAfter").is_none_or(Value::is_null);
        page(if is_new { json!([task]) } else { json!([]) }, "")
    };
    let (_, peers) = start(behind, json!([])).await;
    assert!(matches!(peers.find("north", &errand()).await, Ok(Found::Task(_))));
}

/// While a peer is put up anew, whoever stands in front of it answers in its place.
#[tokio::test]
async fn one_bad_answer_does_not_say_that_there_is_no_list() {
    let scripts: [Script; 6] = [
        |_, _| Says::Else(404, "not found".to_owned()),
        |_, _| Says::Else(400, "bad request".to_owned()),
        |_, _| Says::Else(503, "later".to_owned()),
        |_, _| Says::Else(200, "<html>".to_owned()),
        |_, _| Says::Error(-32602),
        |_, _| Says::Error(-32001),
    ];
    for (at, script) in scripts.into_iter().enumerate() {
        let (_, peers) = start(script, json!([])).await;
        let found = peers.find("north", &errand()).await;
        assert!(matches!(&found, Err(trouble) if !matches!(trouble, Trouble::Missing { .. })), "{at}: {found:?}");
    }
}

#[tokio::test]
async fn a_page_that_is_too_large_is_asked_for_in_pieces() {
    let (fake, peers) = start(
        |_, params| match params["pageSize"].as_u64() {
            Some(1) => {
                let history = json!([{ "messageId": "msg_1", "role": "ROLE_USER", "parts": [] }]);
                page(json!([{ "id": "r1", "contextId": "c1", "status": { "state": "TASK_STATE_WORKING" }, "history": history }]), "")
            }
            _ => Says::Else(200, " ".repeat((16 << 20) + 1)),
        },
        json!([]),
    )
    .await;
    assert!(matches!(peers.find("north", &errand()).await, Ok(Found::Task(_))));
    let sizes: Vec<Value> = fake.asked.lock().iter().map(|(_, params)| params["pageSize"].clone()).collect();
    assert_eq!(sizes, [100, 10, 1]);
}
