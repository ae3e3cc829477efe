//! The operations on a real runtime with the demo agent: what a client gets, what it finds again after a restart, and what
//! it must not see.

mod ahead;
mod asked;
mod bound;
mod cancel;
mod channel;
mod large;
mod listed;
mod push;
mod rejected;

use std::sync::Arc;
use std::time::Duration;

use a2a::{
    A2AError, AuthenticationInfo, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest,
    Message, Part, Role, SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig, TaskState, error_code,
};
use factum_a2a::server::{Sent, Server, TaskIs, Update};
use factum_agent::Script;
use factum_model::Fact;
use factum_model::commands::{GetTask, ReadEvents};
use factum_model::id::TaskId;
use factum_model::registry::{Scope, Scopes};
use factum_model::task::TaskStatus;
use factum_runtime::{Agents, Caller, Options, Runtime, Secret};
use factum_store::{Blobs, MemoryStore};
use futures::StreamExt;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{PROTOCOL, Service};

struct World {
    store: Arc<MemoryStore>,
    dir: TempDir,
    runtime: Runtime,
}

impl World {
    async fn new() -> Self {
        let (store, dir) = (Arc::new(MemoryStore::new()), tempfile::tempdir().expect("a folder"));
        let runtime = start(&store, &dir).await;
        Self { store, dir, runtime }
    }

    /// With one agent, which follows a script.
    async fn with_script(script: &str) -> Self {
        let (store, dir) = (Arc::new(MemoryStore::new()), tempfile::tempdir().expect("a folder"));
        let script = Script::parse("test.toml", script).expect("a script");
        let runtime = start_with(&store, &dir, Agents::from_scripts(vec![script]).expect("an agent")).await;
        Self { store, dir, runtime }
    }

    /// As after a crash: the same facts, and nothing else of before.
    async fn restart(&mut self) {
        self.runtime.begin_close();
        self.runtime = start(&self.store, &self.dir).await;
    }

    fn service(&self, principal: &str) -> Service {
        Service::on(&self.runtime, &caller(principal), "demo", true)
    }
}

async fn start(store: &Arc<MemoryStore>, dir: &TempDir) -> Runtime {
    start_with(store, dir, Agents::demo()).await
}

async fn start_with(store: &Arc<MemoryStore>, dir: &TempDir, agents: Agents) -> Runtime {
    let blobs = Blobs::open(dir.path().join("blobs")).expect("a folder for blobs");
    let options = Options::new(agents, Secret::new([7; 32]));
    Runtime::start(store.clone(), blobs, options).await.expect("a runtime")
}

fn caller(principal: &str) -> Caller {
    Caller::new(principal, "acme", Scopes::member())
}

fn says(text: &str) -> Message {
    Message::new(Role::User, vec![Part::text(text)])
}

fn about(task: &Task, text: &str) -> Message {
    Message { task_id: Some(task.id.clone()), ..says(text) }
}

fn sent(message: Message) -> Sent {
    let request = SendMessageRequest { message, configuration: None, metadata: None, tenant: None };
    Sent { request, own_task_id: None, idempotency_key: None }
}

fn at_once(message: Message) -> Sent {
    let mut sent = sent(message);
    sent.request.configuration = Some(SendMessageConfiguration {
        accepted_output_modes: None,
        task_push_notification_config: None,
        history_length: None,
        return_immediately: Some(true),
    });
    sent
}

async fn task(service: &Service, sent: Sent) -> Task {
    match service.send_message(sent).await.expect("an answer") {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("a message: {message:?}"),
    }
}

fn code<T: std::fmt::Debug>(outcome: Result<T, A2AError>) -> i32 {
    outcome.expect_err("an error").code
}

fn get(task: &Task) -> GetTaskRequest {
    GetTaskRequest { id: task.id.clone(), history_length: None, tenant: None }
}

fn list() -> ListTasksRequest {
    serde_json::from_value(json!({})).expect("a request")
}

fn artifact_texts(task: &Task) -> Vec<String> {
    let artifacts = task.artifacts.iter().flatten();
    artifacts.flat_map(|artifact| &artifact.parts).filter_map(|part| part.as_text().map(str::to_owned)).collect()
}

fn words(message: Option<&Message>) -> &str {
    message.and_then(Message::text).unwrap_or_default()
}

#[tokio::test]
async fn an_answer_is_an_artifact_of_a_completed_task() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let task = task(&alice, sent(says("hello there"))).await;
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(artifact_texts(&task), ["hello there"]);
    let history = task.history.clone().expect("a history");
    assert_eq!(history.len(), 1, "what was asked; the answer is no message");
    assert_eq!((words(history.first()), history[0].task_id.as_deref()), ("hello there", Some(task.id.as_str())));
    assert_eq!(alice.get_task(get(&task)).await.expect("a task"), task);
}

/// Seed 000: neither id replaces the other, and each leads to the other.
#[tokio::test]
async fn the_ids_of_both_sides_are_linked_and_differ() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let task = task(&alice, sent(says("hello"))).await;
    let row = world.runtime.inbound_task(&caller("agent://alice"), PROTOCOL, &task.id).await.expect("a row");
    let row = row.expect("a row");
    assert_ne!(row.task_id.as_str(), task.id);
    assert_ne!(row.session_id.as_str(), task.context_id);
    let local =
        world.runtime.call(&caller("agent://alice"), GetTask { task_id: row.task_id.clone(), as_of: None }).await;
    let local = local.expect("a task of ours");
    assert_eq!((local.status, local.requested_by.as_str()), (TaskStatus::Completed, "agent://alice"));
    let read = ReadEvents { session_id: row.session_id, after: None, before: None, limit: None };
    let events = world.runtime.call(&caller("agent://alice"), read).await.expect("events").events;
    let linked: Value = events
        .iter()
        .map(|event| serde_json::from_str::<Value>(event.get()).expect("an event"))
        .find(|event| event["type"] == "channel.peer_task.linked")
        .expect("the link");
    assert_eq!(linked["task_id"], row.task_id.as_str());
    let payload = &linked["payload"];
    assert_eq!((&payload["remote_task_id"], &payload["remote_context_id"]), (&json!(task.id), &json!(task.context_id)));
    assert!(linked["channel_id"].as_str().is_some_and(|id| id.starts_with("chan_a2a_")));
}

#[tokio::test]
async fn a_question_interrupts_and_the_answer_goes_on() {
    let mut world = World::new().await;
    let alice = world.service("agent://alice");
    let asked = task(&alice, sent(says("ask: which colour?"))).await;
    assert_eq!(asked.status.state, TaskState::InputRequired);
    assert_eq!(words(asked.status.message.as_ref()), "which colour?");
    let local = |world: &World, id: TaskId| {
        let runtime = world.runtime.clone();
        async move {
            runtime.call(&caller("agent://alice"), GetTask { task_id: id, as_of: None }).await.expect("a task").status
        }
    };
    let row = world.runtime.inbound_task(&caller("agent://alice"), PROTOCOL, &asked.id).await.expect("rows");
    let row = row.expect("a row");
    assert_eq!(row.status, TaskStatus::WaitingInput);
    assert_eq!(local(&world, row.task_id.clone()).await, TaskStatus::WaitingInput, "ours waits with it");
    world.restart().await;
    let alice = world.service("agent://alice");
    assert_eq!(alice.get_task(get(&asked)).await.expect("a task"), asked, "the same after a restart");
    let done = task(&alice, sent(about(&asked, "blue"))).await;
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!((&done.id, &done.context_id), (&asked.id, &asked.context_id));
    assert!(artifact_texts(&done).concat().contains("blue"), "{done:?}");
    let said: Vec<(Role, &str)> =
        done.history.iter().flatten().map(|message| (message.role.clone(), words(Some(message)))).collect();
    assert_eq!(said, [(Role::User, "ask: which colour?"), (Role::Agent, "which colour?"), (Role::User, "blue")]);
}

/// A permission is decided by a clear word and leaves the facts of the bridge; a sentence decides nothing.
#[tokio::test]
async fn a_permission_needs_a_decision() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let asked = task(&alice, sent(says("approve: delete everything"))).await;
    assert_eq!(asked.status.state, TaskState::AuthRequired);
    let sentence = alice.send_message(sent(about(&asked, "well, I think you may"))).await;
    assert_eq!(code(sentence), error_code::INVALID_PARAMS);
    let again = alice.get_task(get(&asked)).await.expect("a task");
    assert_eq!(again.status.state, TaskState::AuthRequired, "still open");
    let mut decision = about(&asked, "");
    decision.parts = vec![Part::data(json!({ "decision": "deny" }))];
    let done = task(&alice, sent(decision)).await;
    assert_eq!(done.status.state, TaskState::Completed, "the agent reports that it was denied");
    let row = world.runtime.inbound_task(&caller("agent://alice"), PROTOCOL, &asked.id).await.expect("rows");
    let read = ReadEvents { session_id: row.expect("a row").session_id, after: None, before: None, limit: None };
    let events = world.runtime.call(&caller("agent://alice"), read).await.expect("events").events;
    let events: Vec<Value> = events.iter().map(|event| serde_json::from_str(event.get()).expect("JSON")).collect();
    let of = |name: &str| events.iter().filter(|event| event["type"] == name).cloned().collect::<Vec<_>>();
    let (forwarded, returned) = (of("channel.permission_forwarded"), of("channel.permission_returned"));
    assert_eq!((forwarded.len(), returned.len()), (1, 1));
    let returned = &returned[0]["payload"];
    assert_eq!(returned["decision"], "deny");
    assert_eq!((&returned["decided_by"], &returned["decided_on"]), (&json!("agent://alice"), &json!("remote")));
    assert_eq!((&returned["source"], &returned["channel_scoped"]), (&json!("response"), &json!(false)));
    assert!(returned["requesting_peer"].as_str().is_some_and(|peer| peer.starts_with("agent:")));
}

#[tokio::test]
async fn a_stream_is_the_task_and_then_every_change() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let stream = alice.stream_message(sent(says("one two three"))).await.expect("a stream");
    let updates: Vec<Update> = stream.map(|update| update.expect("an update")).collect().await;
    let StreamResponse::Task(first) = &updates[0].response else { panic!("not a task: {updates:?}") };
    let mut text = String::new();
    for update in &updates {
        if let StreamResponse::ArtifactUpdate(update) = &update.response {
            if update.append != Some(true) {
                text.clear();
            }
            text.extend(update.artifact.parts.iter().filter_map(Part::as_text));
        }
    }
    assert_eq!(text, "one two three");
    let Some(StreamResponse::StatusUpdate(last)) = updates.last().map(|update| &update.response) else {
        panic!("no status at the end: {updates:?}")
    };
    assert_eq!((&last.status.state, &last.task_id), (&TaskState::Completed, &first.id));
    let positions: Vec<u64> = updates.iter().map(|update| update.position.expect("a position")).collect();
    assert!(positions.is_sorted(), "{positions:?}");
}

/// Whoever was cut off gets exactly what it had not seen, from any place, also behind a restart and behind the end.
#[tokio::test]
async fn a_stream_goes_on_where_it_was_cut_off() {
    let mut world = World::new().await;
    let alice = world.service("agent://alice");
    let stream = alice.stream_message(sent(says("one two three four"))).await.expect("a stream");
    let whole: Vec<Update> = stream.map(|update| update.expect("an update")).collect().await;
    let StreamResponse::Task(task) = &whole[0].response else { panic!("not a task") };
    world.restart().await;
    let alice = world.service("agent://alice");
    for (at, seen) in whole.iter().enumerate().take(whole.len() - 1) {
        let request = SubscribeToTaskRequest { id: task.id.clone(), tenant: None };
        let stream = alice.subscribe(request, seen.position).await.expect("a stream");
        let rest: Vec<Update> = stream.map(|update| update.expect("an update")).collect().await;
        assert!(matches!(rest[0].response, StreamResponse::Task(_)), "the task comes first");
        assert_eq!(rest[1..], whole[at + 1..], "behind {at}");
    }
    let request = SubscribeToTaskRequest { id: task.id.clone(), tenant: None };
    let behind = alice.subscribe(request.clone(), whole.last().and_then(|last| last.position)).await.map(drop);
    assert_eq!(code(behind), error_code::UNSUPPORTED_OPERATION);
    assert_eq!(code(alice.subscribe(request, None).await.map(drop)), error_code::UNSUPPORTED_OPERATION);
}

#[tokio::test]
async fn cancelling_reaches_the_work_and_is_the_end() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let working = task(&alice, at_once(says("slow: count"))).await;
    assert!(matches!(working.status.state, TaskState::Submitted | TaskState::Working));
    let request = CancelTaskRequest { id: working.id.clone(), metadata: None, tenant: None };
    let cancelled = alice.cancel_task(request.clone()).await.expect("a task");
    assert_eq!(cancelled.status.state, TaskState::Canceled);
    assert_eq!(code(alice.cancel_task(request).await), error_code::TASK_NOT_CANCELABLE);
    let more = alice.send_message(sent(about(&working, "more"))).await;
    assert_eq!(code(more), error_code::UNSUPPORTED_OPERATION);
}

#[tokio::test]
async fn a_failure_is_told() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let failed = task(&alice, sent(says("fail: disk is full"))).await;
    assert_eq!(failed.status.state, TaskState::Failed);
    assert!(words(failed.status.message.as_ref()).contains("disk is full"), "{failed:?}");
    assert_eq!(artifact_texts(&failed), ["This will not end well. "], "what a stream has shown is not taken back");
}

#[tokio::test]
async fn artifacts_of_the_agent_are_artifacts() {
    let world = World::new().await;
    let task = task(&world.service("agent://alice"), sent(says("artifact: a report"))).await;
    assert!(artifact_texts(&task).iter().any(|text| text == "a report"), "{task:?}");
}

/// The same context is the same session; a task of another context is refused, and so is one that is not known.
#[tokio::test]
async fn contexts_hold_tasks_together() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let first = task(&alice, sent(says("one"))).await;
    let mut message = says("two");
    message.context_id = Some(first.context_id.clone());
    let second = task(&alice, sent(message)).await;
    assert_eq!(second.context_id, first.context_id);
    assert_ne!(second.id, first.id);
    let row = async |id: &str| {
        let row = world.runtime.inbound_task(&caller("agent://alice"), PROTOCOL, id).await.expect("rows");
        row.expect("a row").session_id
    };
    assert_eq!(row(&first.id).await, row(&second.id).await);
    let asked = task(&alice, sent(says("ask: what?"))).await;
    let mut elsewhere = about(&asked, "that");
    elsewhere.context_id = Some(first.context_id.clone());
    assert_eq!(code(alice.send_message(sent(elsewhere)).await), error_code::INVALID_PARAMS);
    // However an id looks, it is one of no task.
    for id in ["no-such-task", &"x".repeat(300), "no\nsuch\0task"] {
        let unknown = Message { task_id: Some(id.to_owned()), ..says("hello") };
        assert_eq!(code(alice.send_message(sent(unknown)).await), error_code::TASK_NOT_FOUND, "{id:?}");
    }
    let made_up = Message { context_id: Some("x".repeat(300)), ..says("hello") };
    assert_eq!(code(alice.send_message(sent(made_up)).await), error_code::INVALID_PARAMS);
    let strict = Service::on(&world.runtime, &caller("agent://alice"), "demo", false);
    let mut own = says("hello");
    own.context_id = Some("my-own".to_owned());
    assert_eq!(code(strict.send_message(sent(own.clone())).await), error_code::INVALID_PARAMS);
    let taken = task(&alice, sent(own)).await;
    assert_eq!(taken.context_id, "my-own");
}

/// What one principal has does not exist for another one, on any operation.
#[tokio::test]
async fn another_principal_finds_nothing() {
    let world = World::new().await;
    let (alice, bob) = (world.service("agent://alice"), world.service("agent://bob"));
    let asked = task(&alice, sent(says("ask: what?"))).await;
    let subscribe = SubscribeToTaskRequest { id: asked.id.clone(), tenant: None };
    let cancel = CancelTaskRequest { id: asked.id.clone(), metadata: None, tenant: None };
    let errors = [
        bob.get_task(get(&asked)).await.map(drop),
        bob.subscribe(subscribe, None).await.map(drop),
        bob.cancel_task(cancel).await.map(drop),
        bob.send_message(sent(about(&asked, "hello"))).await.map(drop),
    ];
    for error in errors {
        assert_eq!(format!("{error:?}"), format!("{:?}", Err::<(), _>(A2AError::task_not_found(&asked.id))));
    }
    assert_eq!(bob.list_tasks(list()).await.expect("a list").total_size, 0);
    assert_eq!(alice.get_task(get(&asked)).await.expect("a task").status.state, TaskState::InputRequired);
}

#[tokio::test]
async fn a_list_is_newest_change_first_and_goes_on_by_cursor() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let mut made = Vec::new();
    for at in 0..5 {
        made.push(task(&alice, sent(says(&format!("ask: {at}")))).await.id);
    }
    let answered = task(&alice, sent(Message { task_id: Some(made[1].clone()), ..says("x") })).await;
    let mut request = list();
    request.page_size = Some(2);
    let mut seen = Vec::new();
    loop {
        let page = alice.list_tasks(request.clone()).await.expect("a page");
        assert_eq!((page.page_size, page.total_size), (2, 5));
        assert!(page.tasks.iter().all(|task| task.artifacts.is_none()), "not unless asked");
        seen.extend(page.tasks.into_iter().map(|task| task.id));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = Some(page.next_page_token);
    }
    seen.sort();
    made.sort();
    assert_eq!(seen, made, "each of them once");
    request = list();
    request.status = Some(TaskState::Completed);
    request.include_artifacts = Some(true);
    let page = alice.list_tasks(request).await.expect("a page");
    assert_eq!(page.tasks.iter().map(|task| &task.id).collect::<Vec<_>>(), [&answered.id]);
    assert!(page.tasks[0].artifacts.is_some());
    let mut forged = list();
    forged.page_token = Some("forged".to_owned());
    assert_eq!(code(alice.list_tasks(forged).await), error_code::INVALID_PARAMS);
}

/// Message ids repeat legitimately; only a key that was asked for makes a repeat the same task.
#[tokio::test]
async fn only_a_key_makes_a_repeat_the_same_task() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let message = says("hello");
    let (one, two) = (task(&alice, sent(message.clone())).await, task(&alice, sent(message.clone())).await);
    assert_ne!(one.id, two.id);
    let keyed = || Sent { idempotency_key: Some("k1".to_owned()), ..sent(message.clone()) };
    let (one, two) = (task(&alice, keyed()).await, task(&alice, keyed()).await);
    assert_eq!(one, two);
    let with_key = |message: Message| Sent { idempotency_key: Some("k1".to_owned()), ..sent(message) };
    let made_again = Message { message_id: "another".to_owned(), ..message.clone() };
    assert_eq!(task(&alice, with_key(made_again)).await, one, "who sends it again may have made it again");
    let annotated = |name: &str| Message {
        metadata: Some([(name.to_owned(), json!("x"))].into_iter().collect()),
        ..message.clone()
    };
    let about = Message { reference_task_ids: Some(vec![two.id.clone()]), ..message.clone() };
    let named = Part { filename: Some("f".to_owned()), ..Part::text("hello") };
    let named = Message { parts: vec![named], ..message.clone() };
    for other in [with_key(says("other")), with_key(annotated("a")), with_key(about), with_key(named)] {
        let request = format!("{:?}", other.request);
        let refused = alice.send_message(other).await.err();
        assert!(refused.is_some_and(|error| error.message.contains("idempotency key")), "{request}");
    }
}

/// Clients of April 2025 bring their own ids: the first message makes the task, the next one goes on with it.
#[tokio::test]
async fn a_client_may_bring_its_own_id() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let own = |text: &str| Sent { own_task_id: Some("mine".to_owned()), ..sent(says(text)) };
    let asked = task(&alice, own("ask: what?")).await;
    assert_eq!((asked.id.as_str(), &asked.status.state), ("mine", &TaskState::InputRequired));
    let done = task(&alice, own("that")).await;
    assert_eq!((done.id.as_str(), &done.status.state), ("mine", &TaskState::Completed));
    let over = alice.send_message(own("more")).await.expect_err("over");
    assert_eq!(over.code, error_code::UNSUPPORTED_OPERATION);
    assert!(over.message.contains("with another id"), "{}", over.message);
    let bob = task(&world.service("agent://bob"), own("hello")).await;
    assert_eq!((bob.id.as_str(), &bob.status.state), ("mine", &TaskState::Completed), "an id of his own");
}

#[tokio::test]
async fn an_agent_gets_the_media_types_it_takes() {
    let world =
        World::with_script("name = 'reader'\naccepts = ['text/plain']\n[[on]]\nany = true\nsteps = [{ say = 'read' }]")
            .await;
    let alice = Service::on(&world.runtime, &caller("agent://alice"), "reader", true);
    let with = |part: Part| Message::new(Role::User, vec![Part::text("look"), part]);
    assert_eq!(task(&alice, sent(with(Part::text("at this")))).await.status.state, TaskState::Completed);
    for part in [Part::data(json!({ "a": 1 })), Part::text("x").with_media_type("text/html"), Part::raw(vec![1])] {
        let refused = alice.send_message(sent(with(part))).await.expect_err("a refusal");
        assert_eq!(refused.code, error_code::CONTENT_TYPE_NOT_SUPPORTED);
        assert!(refused.message.ends_with("it takes text/plain"), "{}", refused.message);
    }
    // One that does not say what it takes has the usual types in its card, and takes those.
    let usual = World::new().await;
    let usual = usual.service("agent://alice");
    let picture = Part::raw(vec![1]).with_media_type("image/png");
    assert_eq!(code(usual.send_message(sent(with(picture))).await), error_code::CONTENT_TYPE_NOT_SUPPORTED);
    assert_eq!(task(&usual, sent(with(Part::data(json!({ "a": 1 }))))).await.status.state, TaskState::Completed);
    let anything =
        World::with_script("name = 'any'\naccepts = ['*/*']\n[[on]]\nany = true\nsteps = [{ say = 'read' }]").await;
    let anything = Service::on(&anything.runtime, &caller("agent://alice"), "any", true);
    assert_eq!(task(&anything, sent(with(Part::raw(vec![1])))).await.status.state, TaskState::Completed);
}

/// A task is found with the agent that does it, by whoever asked for it.
#[tokio::test]
async fn another_agent_has_no_such_task() {
    let world = World::new().await;
    let demo = world.service("agent://alice");
    let other = Service::on(&world.runtime, &caller("agent://alice"), "waiting", true);
    let asked = task(&demo, sent(says("ask: how many?"))).await;
    let theirs = task(&other, at_once(says("hello"))).await;
    assert_eq!(code(other.get_task(get(&asked)).await), error_code::TASK_NOT_FOUND);
    let cancel: CancelTaskRequest = serde_json::from_value(json!({ "id": asked.id })).expect("a request");
    assert_eq!(code(other.cancel_task(cancel).await), error_code::TASK_NOT_FOUND);
    let subscribe = SubscribeToTaskRequest { id: asked.id.clone(), tenant: None };
    assert_eq!(code(other.subscribe(subscribe, None).await.map(drop)), error_code::TASK_NOT_FOUND);
    assert_eq!(code(other.send_message(sent(about(&asked, "two"))).await), error_code::TASK_NOT_FOUND);
    for (service, own) in [(&demo, &asked), (&other, &theirs)] {
        let found = service.list_tasks(list()).await.expect("a list");
        let ids: Vec<&str> = found.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!((ids, found.total_size), (vec![own.id.as_str()], 1));
    }
    assert_eq!(task(&demo, sent(about(&asked, "two"))).await.status.state, TaskState::Completed);
}

/// An agent that does not come to an end does not hold its client for ever: it gets the task as it stands.
#[tokio::test]
async fn a_message_is_waited_for_no_longer_than_the_limit() {
    let world = World::new().await;
    let waiting = Service::on(&world.runtime, &caller("agent://alice"), "waiting", true);
    let hasty = Service { wait_max: Duration::from_millis(50), ..waiting };
    let begun = task(&hasty, sent(says("hello"))).await;
    assert!(!begun.status.state.is_terminal(), "{begun:?}");
    assert_eq!(hasty.get_task(get(&begun)).await.expect("a task").id, begun.id);
}

#[tokio::test]
async fn a_stream_does_not_go_on_ahead_of_its_task() {
    let world = World::new().await;
    let alice = world.service("agent://alice");
    let asked = task(&alice, sent(says("ask: how many?"))).await;
    let request = SubscribeToTaskRequest { id: asked.id.clone(), tenant: None };
    let refused = alice.subscribe(request, Some(1_000_000)).await.map(drop).expect_err("a refusal");
    assert_eq!(refused.code, error_code::INVALID_PARAMS);
    assert!(refused.message.starts_with("Last-Event-ID: is ahead of the task"), "{}", refused.message);
}

#[tokio::test]
async fn the_extended_card_is_for_who_may_look_at_tasks() {
    let world = World::new().await;
    let as_one_with = |scope: Scope| {
        let caller = Caller::new("agent://alice", "acme", Scopes::from_iter([scope]));
        Service::on(&world.runtime, &caller, "demo", true)
    };
    let refused = as_one_with(Scope::MessagingRead).extended_card().await.expect_err("a refusal");
    assert!(refused.message.contains("tasks:read"), "{}", refused.message);
    let told = code(as_one_with(Scope::TasksRead).extended_card().await);
    assert_eq!(told, error_code::EXTENDED_CARD_NOT_CONFIGURED, "this service has no server around it");
}
