//! A list selects and orders by the status that it shows.

use std::collections::BTreeMap;

use factum_model::Fact;
use factum_model::commands::{CreateTask, GetChannelSummary, ListRemoteChannels};

use super::*;

/// The tasks of a list of those in a state, and of how many there are.
async fn of(service: &Service, state: TaskState) -> (Vec<Task>, i32) {
    let found = service.list_tasks(ListTasksRequest { status: Some(state), ..list() }).await.expect("a list");
    (found.tasks, found.total_size)
}

/// Its turn has ended and a task below is open: it waits for its owner here, and is at work for its client.
#[tokio::test]
async fn a_task_that_waits_for_one_below_is_listed_as_it_is_shown() {
    let world = World::new().await;
    let (alice, own) = (world.service("agent://alice"), Caller::new("agent://alice", "acme", Scopes::admin()));
    let begun = task(&alice, sent(says("ask: which colour?"))).await;
    let row = world.runtime.inbound_task(&own, PROTOCOL, &begun.id).await.expect("rows").expect("a row");
    let create = json!({ "parent_task_id": row.task_id, "objective": "check" });
    let create: CreateTask = serde_json::from_value(create).expect("params");
    world.runtime.call(&own, create).await.expect("a task");
    task(&alice, at_once(about(&begun, "blue"))).await;
    let mut facts = world.runtime.facts(&own, &row.session_id, 0).await.expect("facts");
    let mut waited = 0;
    while waited < 2 {
        let next = facts.next().await.expect("facts");
        waited += next.iter().filter(|event| matches!(event.fact, Fact::TaskWaiting(_))).count();
    }
    let get_local = GetTask { task_id: row.task_id.clone(), as_of: None };
    let local = world.runtime.call(&own, get_local).await.expect("a task");
    assert_eq!(local.status, TaskStatus::WaitingInput, "its owner has the word");

    let now = alice.get_task(get(&begun)).await.expect("a task");
    assert_eq!(now.status.state, TaskState::Working);
    let (tasks, total) = of(&alice, TaskState::Working).await;
    assert_eq!((tasks.iter().map(|task| &task.status).collect::<Vec<_>>(), total), (vec![&now.status], 1));
    assert_eq!(of(&alice, TaskState::InputRequired).await, (Vec::new(), 0));
    let after = ListTasksRequest { status_timestamp_after: now.status.timestamp, ..list() };
    assert_eq!(alice.list_tasks(after).await.expect("a list").total_size, 1, "since when it is shown so");
    let all: ListRemoteChannels = serde_json::from_value(json!({})).expect("params");
    let channel_id = world.runtime.call(&own, all).await.expect("channels").channels[0].channel_id.clone();
    let summary = world.runtime.call(&own, GetChannelSummary { channel_id }).await.expect("a summary").summary;
    let link = serde_json::to_value(&summary.peer_tasks[0]).expect("JSON");
    assert_eq!((&link["native_status"], &link["recovery"]), (&json!("TASK_STATE_WORKING"), &json!("running")));
}

/// What an agent says of its work moves the time that is shown, and the list with it.
#[tokio::test]
async fn a_task_is_found_by_the_time_that_is_shown() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let mut stream = alice.stream_message(sent(says("slow: count"))).await.expect("a stream");
    let said = loop {
        let update = stream.next().await.expect("an update").expect("an update").response;
        if let StreamResponse::StatusUpdate(update) = update
            && update.status.message.is_some()
        {
            break update;
        }
    };
    let later = task(&alice, sent(says("ask: which colour?"))).await;
    let after = ListTasksRequest { status_timestamp_after: said.status.timestamp, ..list() };
    let found = alice.list_tasks(after).await.expect("a list").tasks;
    assert!(found.is_sorted_by(|one, next| one.status.timestamp >= next.status.timestamp), "{found:?}");
    // Both may be of one millisecond, in which neither comes first.
    let found: BTreeMap<&str, &_> = found.iter().map(|task| (task.id.as_str(), &task.status)).collect();
    assert_eq!(found, [(later.id.as_str(), &later.status), (said.task_id.as_str(), &said.status)].into());
}

/// A task may go on between the moment that it is selected and the moment that it is read.
#[tokio::test]
async fn a_task_that_went_on_is_listed_as_it_was_selected() {
    let world = World::new().await;
    let (alice, own) = (world.service("agent://alice"), caller("agent://alice"));
    let asked = task(&alice, sent(says("ask: which colour?"))).await;
    let row = world.runtime.inbound_task(&own, PROTOCOL, &asked.id).await.expect("rows").expect("a row");
    let done = task(&alice, sent(about(&asked, "blue"))).await;
    assert_eq!(done.status.state, TaskState::Completed);
    let listed = alice.as_listed(&row, None, false).await.expect("a task");
    assert_eq!((listed.status, listed.history), (asked.status, asked.history));
}

/// Whoever asks for artifacts is told that there are none.
#[tokio::test]
async fn a_list_has_the_artifacts_that_were_asked_for() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    task(&alice, sent(says("ask: which colour?"))).await;
    for (include_artifacts, expected) in [(None, None), (Some(false), None), (Some(true), Some(Vec::new()))] {
        let found = alice.list_tasks(ListTasksRequest { include_artifacts, ..list() }).await.expect("a list").tasks;
        assert_eq!(found[0].artifacts, expected, "{include_artifacts:?}");
    }
}

/// A page is an answer like any other, and what does not fit into one is on the next.
#[tokio::test]
async fn a_page_ends_where_it_is_large() {
    let world = World::with_script(super::large::SCRIPT).await;
    let alice = world.service("agent://alice");
    let long = "x".repeat(900_000);
    let mut sent_ids = Vec::new();
    for _ in 0..7 {
        sent_ids.insert(0, task(&alice, sent(says(&long))).await.id);
    }
    let (mut ids, mut pages, mut page_token) = (Vec::new(), Vec::new(), None);
    loop {
        let page = alice.list_tasks(ListTasksRequest { page_token, ..list() }).await.expect("a page");
        assert_eq!((page.page_size, page.total_size), (50, 7));
        assert!(serde_json::to_string(&page).expect("JSON").len() < 6 << 20);
        pages.push(page.tasks.len());
        ids.extend(page.tasks.into_iter().map(|task| task.id));
        if page.next_page_token.is_empty() {
            break;
        }
        page_token = Some(page.next_page_token);
    }
    assert_eq!(ids, sent_ids);
    assert_eq!(pages, [3, 3, 1]);
    let short = alice.list_tasks(ListTasksRequest { history_length: Some(0), ..list() }).await.expect("a page");
    assert_eq!((short.tasks.len(), short.next_page_token.as_str()), (7, ""), "what is asked for counts");
}
