//! Tasks that a peer does, over restarts, cuts and lost answers: nothing is done twice, nothing is lost, and what is not
//! known is said.

mod answers;
mod bound;
mod channels;
mod fake;
mod kinds;
mod pace;
mod words;

use std::sync::Arc;

use factum_model::commands::*;
use factum_model::id::SessionId;
use factum_model::task::{AttemptStatus, TaskRecord, TaskStatus};
use factum_model::value::Status;
use factum_model::{ErrorCode, Event};
use factum_runtime::Agents;
use serde_json::{Value, json};

use crate::tasks::{call, create, get, until};
use crate::world::World;
use fake::{Fake, Mood, State};

async fn world(fake: &Fake) -> World {
    World::with_peers(Agents::demo(), Some(Arc::new(fake.clone()))).await
}

async fn given(world: &World) -> SessionId {
    let params = json!({ "task_id": "t", "objective": "count to ten", "peer": "north", "auto_complete": true, "status": "queued" });
    create(world, params).await.session_id
}

async fn events(world: &World, session_id: &SessionId) -> Vec<Value> {
    let page = json!({ "session_id": session_id, "after": 0, "limit": 1000 });
    let page = call::<ReadEvents>(world, page).await.unwrap();
    page.events.into_iter().map(|event| serde_json::to_value(event).unwrap()).collect()
}

/// What is known of the peer's task, each time it changed.
async fn recoveries(world: &World, session_id: &SessionId) -> Vec<String> {
    let events = events(world, session_id).await;
    let updates = events.iter().filter(|event| event["type"] == "channel.peer_task.updated");
    updates.map(|event| event["payload"]["recovery"].as_str().unwrap().to_owned()).collect()
}

/// Waits for a fact.
async fn until_fact(world: &World, session_id: &SessionId, so: impl Fn(&Value) -> bool) {
    let mut subscription = world.runtime.subscribe(&world.caller, session_id, 0).await.unwrap();
    loop {
        let batch = tokio::time::timeout(std::time::Duration::from_secs(20), subscription.next()).await;
        let batch = batch.expect("the fact never came").unwrap();
        for published in batch {
            let event = Event::decode(&published.json).unwrap();
            if so(&serde_json::to_value(&event).unwrap()) {
                return;
            }
        }
    }
}

fn recovered(word: &'static str) -> impl Fn(&Value) -> bool {
    move |event| event["type"] == "channel.peer_task.updated" && event["payload"]["recovery"] == word
}

fn begun(fake: &Fake) -> usize {
    fake.state.lock().begun.len()
}

#[tokio::test]
async fn a_peer_does_a_task_and_what_it_made_is_ours() {
    for polled in [false, true] {
        let fake = Fake::new(|state| state.polled = polled);
        let world = world(&fake).await;
        let session_id = given(&world).await;
        fake.until(|state| state.tasks.len() == 1).await;
        assert_eq!(fake.state.lock().tasks[0].text, "count to ten");
        fake.task(|task| {
            task.artifacts.push(("numbers".to_owned(), "1 2 3".to_owned()));
            task.state = "completed";
        });
        let task = until(&world, &session_id, "t", TaskStatus::Completed).await;
        assert_eq!((task.artifacts.as_slice(), begun(&fake)), (&["numbers".to_owned()][..], 1));
        assert_eq!(task.native_status.as_deref(), Some("completed"));
        let attempt = &task.attempts[0];
        assert_eq!((attempt.status, attempt.worker.as_deref()), (AttemptStatus::Completed, Some("peer:north")));
        let digest = attempt.output_refs[0].strip_prefix("blob:sha256:").unwrap().parse().unwrap();
        assert_eq!(world.runtime.blobs().get(digest).await.unwrap().as_ref(), b"1 2 3");
        let last = recoveries(&world, &session_id).await;
        assert_eq!(last.last().map(String::as_str), Some("reconciled"), "{last:?}");
    }
}

/// What a peer does not do at all is not given to it again.
#[tokio::test]
async fn a_task_that_the_peer_rejects_has_failed_for_good() {
    for polled in [false, true] {
        let fake = Fake::new(|state| state.polled = polled);
        let world = world(&fake).await;
        let retried = json!({ "task_id": "t", "objective": "count", "peer": "north", "auto_complete": true,
            "status": "queued", "retry_policy": { "max_attempts": 3 } });
        let session_id = create(&world, retried).await.session_id;
        fake.until(|state| state.tasks.len() == 1).await;
        fake.task(|task| (task.state, task.message) = ("rejected", Some("not done here".to_owned())));
        let task = until(&world, &session_id, "t", TaskStatus::Failed).await;
        assert_eq!((begun(&fake), task.attempts.len()), (1, 1), "polled: {polled}");
        let error = task.attempts[0].last_error.as_ref().unwrap();
        let said = (error.category.as_str(), error.retryable, error.message.as_str());
        assert_eq!(said, ("rejected", false, "not done here"));
        assert_eq!(task.native_status.as_deref(), Some("rejected"), "the peer's own word for it is kept");
        until_fact(&world, &session_id, recovered("reconciled")).await;
        let events = events(&world, &session_id).await;
        let last = events.iter().rfind(|event| event["type"] == "channel.peer_task.updated").unwrap();
        assert_eq!(last["payload"]["native_status"], "rejected", "{last}");
        let at = |wanted: &dyn Fn(&Value) -> bool| events.iter().position(wanted).unwrap();
        let heard = at(&|event| event["payload"]["native_status"] == "rejected");
        assert_eq!(events[heard]["type"], "channel.peer_task.updated", "what the peer said comes first");
        assert!(heard < at(&|event| event["type"] == "task.attempt.failed"));
    }
}

/// A state that nobody knows says nothing: the task goes on, under the peer's own word, until it says something else.
#[tokio::test]
async fn a_state_that_nobody_knows_is_looked_at_again() {
    for polled in [false, true] {
        let fake = Fake::new(|state| state.polled = polled);
        let world = world(&fake).await;
        let session_id = given(&world).await;
        fake.until(|state| state.tasks.len() == 1).await;
        fake.task(|task| task.state = "pondering");
        until_fact(&world, &session_id, |event| event["payload"]["native_status"] == "pondering").await;
        let task = get(&world, "t").await;
        assert_eq!((task.status, task.native_status.as_deref()), (TaskStatus::Running, Some("pondering")));
        fake.task(|task| task.state = "completed");
        until(&world, &session_id, "t", TaskStatus::Completed).await;
        let seen = recoveries(&world, &session_id).await;
        assert!(!seen.iter().any(|recovery| recovery == "network_unavailable"), "{seen:?}");
    }
}

#[tokio::test]
async fn a_restart_asks_the_peer_and_goes_on() {
    let fake = Fake::new(|_| {});
    let mut world = world(&fake).await;
    let session_id = given(&world).await;
    until_fact(&world, &session_id, recovered("running")).await;
    for _ in 0..3 {
        world.restart(Agents::demo()).await;
        assert_eq!(get(&world, "t").await.status, TaskStatus::Running, "a restart fails nothing");
    }
    fake.task(|task| task.state = "completed");
    until(&world, &session_id, "t", TaskStatus::Completed).await;
    assert_eq!(begun(&fake), 1, "given once, however often we start");
}

/// The process dies while the peer already has the task and we do not know it.
#[tokio::test]
async fn a_send_whose_answer_was_lost_is_looked_for_and_never_doubled() {
    type Change = fn(&mut State);
    let table: [(&str, Change, TaskStatus); 3] = [
        ("keeps keys", |state| state.keeps_keys = true, TaskStatus::Completed),
        ("can be searched", |state| state.lists = true, TaskStatus::Completed),
        ("neither", |_| {}, TaskStatus::Lost),
    ];
    for (kind, change, expected) in table {
        let fake = Fake::new(|state| {
            change(state);
            state.mood = Mood::Swallows;
        });
        let mut world = world(&fake).await;
        let session_id = given(&world).await;
        fake.until(|state| state.tasks.len() == 1).await;
        fake.change(|state| {
            state.mood = Mood::Well;
            state.tasks[0].state = "completed";
            state.tasks[0].artifacts.push(("numbers".to_owned(), "1 2 3".to_owned()));
        });
        world.restart(Agents::demo()).await;
        let task = until(&world, &session_id, "t", expected).await;
        assert_eq!((begun(&fake), task.attempts.len()), (1, 1), "{kind}");
        let made = if expected == TaskStatus::Completed { 1 } else { 0 };
        assert_eq!((task.artifacts.len(), task.attempts[0].output_refs.len()), (made, made), "{kind}");
    }
}

#[tokio::test]
async fn a_peer_that_is_away_is_waited_for() {
    let busy = (Mood::Busy, "network_unavailable");
    for (mood, word) in [(Mood::Down, "network_unavailable"), busy, (Mood::Locked, "auth_unavailable")] {
        let fake = Fake::new(|state| state.mood = mood);
        let world = world(&fake).await;
        let session_id = given(&world).await;
        until_fact(&world, &session_id, recovered(word)).await;
        assert_eq!(get(&world, "t").await.status, TaskStatus::Running, "away is not failed");
        fake.change(|state| state.mood = Mood::Well);
        fake.until(|state| state.tasks.len() == 1).await;
        until_fact(&world, &session_id, recovered("running")).await;
        fake.change(|state| state.mood = mood);
        let is_disconnected = |event: &Value| event["type"] == "channel.disconnected";
        until_fact(&world, &session_id, is_disconnected).await;
        fake.change(|state| {
            state.mood = Mood::Well;
            state.tasks[0].state = "completed";
        });
        until(&world, &session_id, "t", TaskStatus::Completed).await;
        assert_eq!(begun(&fake), 1);
        let facts = events(&world, &session_id).await;
        assert!(facts.iter().any(|event| event["type"] == "channel.resumed"));
    }
}

#[tokio::test]
async fn a_peer_that_knows_nothing_of_it_any_more_makes_it_lost() {
    let fake = Fake::new(|_| {});
    let mut world = world(&fake).await;
    let session_id = given(&world).await;
    until_fact(&world, &session_id, recovered("running")).await;
    world.runtime.begin_close();
    fake.change(|state| state.tasks.clear());
    world.restart(Agents::demo()).await;
    let task = until(&world, &session_id, "t", TaskStatus::Lost).await;
    assert_eq!(task.attempts[0].last_error.as_ref().unwrap().category, "peer_task_missing");
    assert!(recoveries(&world, &session_id).await.contains(&"missing".to_owned()));
}

async fn open_action(world: &World, session_id: &SessionId) -> String {
    until_fact(world, session_id, |event| event["type"] == "action.required").await;
    let facts = events(world, session_id).await;
    let action = facts.iter().rev().find(|event| event["type"] == "action.required").unwrap();
    action["action_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_question_is_answered_here_and_the_peer_gets_the_answer_once() {
    for restarts in [false, true] {
        let fake = Fake::new(|_| {});
        let mut world = world(&fake).await;
        let session_id = given(&world).await;
        fake.until(|state| state.tasks.len() == 1).await;
        fake.task(|task| {
            (task.state, task.message) = ("input-required", Some("up or down?".to_owned()));
            task.question = Some("q1".to_owned());
        });
        let action_id = open_action(&world, &session_id).await;
        let task = get(&world, "t").await;
        assert_eq!((task.status, task.status_reason.as_deref()), (TaskStatus::WaitingInput, Some("up or down?")));
        if restarts {
            fake.change(|state| state.mood = Mood::Swallows);
        }
        let answer = json!({ "action_id": action_id, "decision": "answer", "payload": "up" });
        call::<RespondAction>(&world, answer).await.unwrap();
        fake.until(|state| !state.tasks[0].answers.is_empty()).await;
        if restarts {
            fake.change(|state| state.mood = Mood::Well);
            world.restart(Agents::demo()).await;
        }
        fake.task(|task| task.state = "completed");
        until(&world, &session_id, "t", TaskStatus::Completed).await;
        let answers = fake.state.lock().tasks[0].answers.clone();
        assert_eq!(answers, [(action_id, "up".to_owned())], "restarts: {restarts}");
    }
}

/// The answer arrived, nobody knows, and the peer asks something else by now: what was meant for the first question is not sent again.
#[tokio::test]
async fn a_peer_that_asks_something_else_has_the_answer() {
    let fake = Fake::new(|_| {});
    let mut world = world(&fake).await;
    let session_id = given(&world).await;
    fake.until(|state| state.tasks.len() == 1).await;
    let asks = |question: &str| {
        fake.task(|task| {
            (task.state, task.message) = ("auth-required", Some("may I?".to_owned()));
            task.question = Some(question.to_owned());
        });
    };
    asks("q1");
    let first = open_action(&world, &session_id).await;
    fake.change(|state| state.mood = Mood::Swallows);
    call::<RespondAction>(&world, json!({ "action_id": first, "decision": "allow" })).await.unwrap();
    fake.until(|state| !state.tasks[0].answers.is_empty()).await;
    asks("q2");
    fake.change(|state| state.mood = Mood::Well);
    world.restart(Agents::demo()).await;
    let asked = |event: &Value| event["type"] == "action.required" && event["payload"]["scope"]["question"] == "q2";
    until_fact(&world, &session_id, asked).await;
    assert_eq!(fake.state.lock().tasks[0].answers, [(first, "allow".to_owned())]);
}

#[tokio::test]
async fn an_authorization_is_decided_here() {
    let fake = Fake::new(|_| {});
    let world = world(&fake).await;
    let session_id = given(&world).await;
    fake.until(|state| state.tasks.len() == 1).await;
    fake.task(|task| (task.state, task.message) = ("auth-required", Some("may I?".to_owned())));
    let action_id = open_action(&world, &session_id).await;
    assert_eq!(get(&world, "t").await.status, TaskStatus::WaitingPermission);
    call::<RespondAction>(&world, json!({ "action_id": action_id, "decision": "allow" })).await.unwrap();
    fake.until(|state| !state.tasks[0].answers.is_empty()).await;
    let types: Vec<Value> = events(&world, &session_id).await.into_iter().map(|event| event["type"].clone()).collect();
    for name in ["permission.requested", "channel.permission_forwarded", "channel.permission_returned"] {
        assert!(types.contains(&json!(name)), "{name}");
    }
}

#[tokio::test]
async fn cancelling_a_task_stops_the_peer_even_if_it_is_away_at_first() {
    for away in [false, true] {
        let fake = Fake::new(|_| {});
        let world = world(&fake).await;
        let session_id = given(&world).await;
        until_fact(&world, &session_id, recovered("running")).await;
        if away {
            fake.change(|state| state.mood = Mood::Down);
            until_fact(&world, &session_id, recovered("network_unavailable")).await;
        }
        call::<CancelTask>(&world, json!({ "task_id": "t" })).await.unwrap();
        fake.change(|state| state.mood = Mood::Well);
        fake.until(|state| state.tasks[0].cancelled > 0).await;
        until(&world, &session_id, "t", TaskStatus::Cancelled).await;
        assert_eq!(fake.state.lock().tasks[0].cancelled, 1, "away: {away}");
    }
}

/// The peer refuses to stop because it is done, and is away before it can be asked how it ended.
#[tokio::test]
async fn how_a_task_ended_that_could_not_be_stopped_is_found_out() {
    let fake = Fake::new(|_| {});
    let world = world(&fake).await;
    let session_id = given(&world).await;
    until_fact(&world, &session_id, recovered("running")).await;
    fake.change(|state| state.stubborn = true);
    let failed = json!({ "task_id": "t", "error": { "category": "x", "message": "enough" } });
    call::<FailTask>(&world, failed).await.unwrap();
    until_fact(&world, &session_id, recovered("network_unavailable")).await;
    fake.change(|state| {
        state.mood = Mood::Well;
        state.tasks[0].state = "completed";
    });
    until_fact(&world, &session_id, recovered("reconciled")).await;
    let updates = events(&world, &session_id).await;
    let last = updates.iter().rfind(|event| event["type"] == "channel.peer_task.updated").unwrap();
    assert_eq!(last["payload"]["remote_status"], "completed", "{last}");
}

/// The peer refuses to stop and goes on: what it does is followed until it ends, although nobody here waits for it.
#[tokio::test]
async fn a_peer_that_does_not_stop_is_followed_until_it_ends() {
    for polled in [false, true] {
        let fake = Fake::new(|state| (state.polled, state.firm) = (polled, true));
        let mut world = world(&fake).await;
        let session_id = given(&world).await;
        until_fact(&world, &session_id, recovered("running")).await;
        let failed = json!({ "task_id": "t", "error": { "category": "x", "message": "enough" } });
        call::<FailTask>(&world, failed).await.unwrap();
        let declined =
            |event: &Value| event["type"] == "runtime.warning" && event["payload"]["code"] == "peer_declined";
        until_fact(&world, &session_id, declined).await;
        world.restart(Agents::demo()).await;
        fake.task(|task| task.state = "completed");
        until_fact(&world, &session_id, recovered("reconciled")).await;
        let updates = events(&world, &session_id).await;
        let reconciled: Vec<&Value> = updates.iter().filter(|event| recovered("reconciled")(event)).collect();
        assert_eq!(reconciled.len(), 1, "polled: {polled}");
        assert_eq!(reconciled[0]["payload"]["remote_status"], "completed", "polled: {polled}");
        assert_eq!(get(&world, "t").await.status, TaskStatus::Failed, "what was said here stays");
    }
}

#[tokio::test]
async fn words_instead_of_a_task_are_what_the_run_came_to() {
    let fake = Fake::new(|state| state.replies = Some("forty-two".to_owned()));
    let world = world(&fake).await;
    let session_id = given(&world).await;
    let task: TaskRecord = until(&world, &session_id, "t", TaskStatus::Completed).await;
    assert_eq!(task.attempts[0].completion_summary.as_deref(), Some("forty-two"));
}

/// The summary is a preview; the whole of a long reply, and what is no text, is kept.
#[tokio::test]
async fn a_long_reply_is_kept_whole() {
    let long = "x".repeat(5_000);
    let held = vec![("text/plain", long.clone()), ("application/json", r#"{"answer":42}"#.to_owned())];
    let fake = Fake::new(|state| (state.replies, state.holds) = (Some(long.clone()), held));
    let world = world(&fake).await;
    let session_id = given(&world).await;
    let task: TaskRecord = until(&world, &session_id, "t", TaskStatus::Completed).await;
    let attempt = &task.attempts[0];
    assert_eq!(attempt.completion_summary.as_ref().map(|text| text.chars().count()), Some(2_001));
    assert_eq!((attempt.output_refs.len(), task.artifacts.len()), (2, 2));
    let events = events(&world, &session_id).await;
    let kept: Vec<&Value> = events.iter().filter(|event| event["type"] == "artifact.changed").collect();
    let sizes: Vec<&Value> = kept.iter().map(|event| &event["payload"]["content"]["size"]).collect();
    assert_eq!(
        (sizes, &kept[0]["payload"]["content"]["preview_dropped"]),
        (vec![&json!(5_000), &json!(13)], &json!(4_744))
    );
}

#[tokio::test]
async fn a_peer_that_is_not_configured_is_refused_by_name() {
    let fake = Fake::new(|_| {});
    let world = world(&fake).await;
    for params in [json!({ "objective": "x", "peer": "south" }), json!({ "objective": "x", "assignee": "peer:south" })]
    {
        let refusal = call::<CreateTask>(&world, params).await.unwrap_err();
        assert_eq!(refusal.code, ErrorCode::InvalidParams);
        assert!(refusal.message.contains("north"), "{}", refusal.message);
    }
    create(&world, json!({ "task_id": "t", "objective": "x" })).await;
    let refusal = call::<StartTask>(&world, json!({ "task_id": "t", "worker": "peer:south" })).await.unwrap_err();
    assert_eq!(refusal.code, ErrorCode::InvalidParams);
    call::<StartTask>(&world, json!({ "task_id": "t", "worker": "peer:north" })).await.unwrap();
    fake.until(|state| state.tasks.len() == 1).await;
}

const DELEGATING: &str = r#"
name = "boss"
[[on]]
any = true
steps = [
  { delegate = { peer = "north", message = "please {rest}", save = "x" } },
  { say = "north says: {x}", when = { x = "succeeded" } },
  { say = "north did not: {x.error}", when = { x = "failed" } },
]
"#;

fn boss() -> Agents {
    let script = factum_agent::Script::parse("boss.toml", DELEGATING).unwrap();
    Agents::new(vec![factum_agent::Agent::from_script(script)]).unwrap()
}

#[tokio::test]
async fn a_scripted_agent_gives_work_away_once_and_goes_on_with_what_it_came_to() {
    for (state, said) in [("completed", "north says: 1 2 3"), ("failed", "north did not: too many")] {
        let fake = Fake::new(|_| {});
        let mut world = World::with_peers(boss(), Some(Arc::new(fake.clone()))).await;
        let session_id = world.submit("count").await.unwrap().session_id;
        fake.until(|state| state.tasks.len() == 1).await;
        assert_eq!(fake.state.lock().tasks[0].text, "please count");
        until_fact(&world, &session_id, recovered("running")).await;
        world.restart(boss()).await;
        fake.task(|task| {
            if state == "completed" {
                task.artifacts.push(("numbers".to_owned(), "1 2 3".to_owned()));
            } else {
                task.message = Some("too many".to_owned());
            }
            task.state = state;
        });
        let thread = world.until(&session_id, Status::Completed).await;
        assert_eq!(thread.last_outcome.unwrap().preview.as_deref(), Some(said));
        assert_eq!(begun(&fake), 1, "{state}: given once");
    }
}

/// What a script goes on with is what the peer said, not the preview of it.
#[tokio::test]
async fn a_scripted_agent_gets_a_long_reply_whole() {
    let long = "x".repeat(5_000);
    let fake = Fake::new(|state| {
        (state.replies, state.holds) = (Some(long.clone()), vec![("text/plain", long.clone())]);
    });
    let world = World::with_peers(boss(), Some(Arc::new(fake.clone()))).await;
    let session_id = world.submit("count").await.unwrap().session_id;
    world.until(&session_id, Status::Completed).await;
    let said = format!("north says: {long}");
    assert!(events(&world, &session_id).await.iter().any(|event| event["payload"]["text"] == said));
}

#[tokio::test]
async fn a_turn_that_is_interrupted_calls_its_work_back() {
    let fake = Fake::new(|_| {});
    let world = World::with_peers(boss(), Some(Arc::new(fake.clone()))).await;
    let submitted = world.submit("count").await.unwrap();
    until_fact(&world, &submitted.session_id, recovered("running")).await;
    interrupt(&world, &submitted).await;
    fake.until(|state| state.tasks[0].cancelled == 1).await;
}

async fn interrupt(world: &World, submitted: &SubmitTurnResult) {
    let interrupt = json!({ "session_id": submitted.session_id, "turn_id": submitted.turn_id });
    call::<InterruptTurn>(world, interrupt).await.unwrap();
}

/// The peer cannot be told at once, and then the runtime stops: that it has to be told is in the log.
#[tokio::test]
async fn work_is_called_back_after_a_restart_too() {
    for (kind, mood, lists_late, lists_nothing) in [
        ("the peer is at work", Mood::Well, false, false),
        ("whether the peer got it is not known", Mood::Swallows, false, false),
        ("and it is not in the peer's list yet", Mood::Swallows, true, false),
        ("and the peer's list cannot tell", Mood::Swallows, false, true),
    ] {
        let fake = Fake::new(|state| {
            (state.mood, state.keeps_keys) = (mood, true);
            (state.lists_late, state.lists_nothing) = (lists_late, lists_nothing);
        });
        let mut world = World::with_peers(boss(), Some(Arc::new(fake.clone()))).await;
        let submitted = world.submit("count").await.unwrap();
        fake.until(|state| state.tasks.len() == 1).await;
        if mood == Mood::Well {
            until_fact(&world, &submitted.session_id, recovered("running")).await;
        }
        fake.change(|state| state.mood = Mood::Down);
        interrupt(&world, &submitted).await;
        world.restart(boss()).await;
        fake.change(|state| state.mood = Mood::Well);
        fake.until(|state| state.tasks[0].cancelled == 1).await;
        until_fact(&world, &submitted.session_id, |event| event["type"] == "task.cancelled").await;
        assert_eq!(begun(&fake), 1, "{kind}");
    }
}

/// Nobody knows whether the peer has it, and nobody wants it any more: it is looked for, and not sent to find out.
#[tokio::test]
async fn work_that_was_cancelled_is_not_sent_again() {
    for restarted in [false, true] {
        let fake = Fake::new(|state| (state.keeps_keys, state.mood) = (true, Mood::Drops));
        let mut world = world(&fake).await;
        let session_id = given(&world).await;
        until_fact(&world, &session_id, recovered("network_unavailable")).await;
        fake.change(|state| state.mood = Mood::Down);
        call::<CancelTask>(&world, json!({ "task_id": "t" })).await.unwrap();
        if restarted {
            world.restart(Agents::demo()).await;
        }
        fake.change(|state| state.mood = Mood::Well);
        until(&world, &session_id, "t", TaskStatus::Cancelled).await;
        assert_eq!(begun(&fake), 0, "restarted: {restarted}");
    }
}
