//! Answers that may have arrived, or not: a peer that keeps no keys is never sent one twice by itself, and nobody waits for ever.

use std::time::Duration;

use factum_model::commands::RespondAction;
use factum_model::id::SessionId;
use factum_model::task::TaskStatus;
use factum_runtime::Agents;
use serde_json::{Value, json};

use super::fake::{Fake, Mood, State};
use super::{events, given, open_action, until_fact, world};
use crate::tasks::{call, get, until};
use crate::world::World;

/// A task whose peer asks whether to pay, and the question here.
async fn asked(fake: &Fake) -> (World, SessionId, String) {
    let world = world(fake).await;
    let session_id = given(&world).await;
    fake.until(|state| state.tasks.len() == 1).await;
    fake.task(|task| {
        (task.state, task.message, task.question) = ("input-required", Some("pay?".to_owned()), Some("q1".to_owned()));
    });
    let action_id = open_action(&world, &session_id).await;
    (world, session_id, action_id)
}

async fn respond(world: &World, action_id: &str) {
    call::<RespondAction>(world, json!({ "action_id": action_id, "decision": "yes" })).await.unwrap();
}

fn answers(fake: &Fake) -> Vec<String> {
    fake.state.lock().tasks[0].answers.iter().map(|(message_id, _)| message_id.clone()).collect()
}

/// Waits until the peer was looked at so often from now on.
async fn looked(fake: &Fake, times: usize) {
    let before = fake.state.lock().looks;
    fake.until(|state| state.looks >= before + times).await;
}

#[tokio::test]
async fn an_answer_whose_connection_broke_is_not_sent_again_by_itself() {
    let fake = Fake::new(|state| state.slow = true);
    let (world, session_id, action_id) = asked(&fake).await;
    fake.change(|state| state.mood = Mood::Breaks);
    respond(&world, &action_id).await;
    fake.until(|state| !state.tasks[0].answers.is_empty()).await;
    looked(&fake, 3).await;
    assert_eq!(answers(&fake), [action_id.as_str()]);
    fake.task(|task| task.state = "completed");
    until(&world, &session_id, "t", TaskStatus::Completed).await;
    assert_eq!(answers(&fake), [action_id.as_str()]);
    let sent = |event: &&Value| event["type"] == "channel.message" && event["payload"]["native_id"] == action_id;
    let facts = events(&world, &session_id).await;
    let said: Vec<&Value> = facts.iter().filter(sent).map(|event| &event["payload"]["native_type"]).collect();
    assert_eq!(said, [&json!("answer")], "that it went on says that it has it");
}

#[tokio::test]
async fn a_peer_that_keeps_keys_is_sent_the_same_answer_again() {
    let fake = Fake::new(|state| (state.slow, state.keeps_keys) = (true, true));
    let (world, session_id, action_id) = asked(&fake).await;
    fake.change(|state| state.mood = Mood::Breaks);
    respond(&world, &action_id).await;
    fake.until(|state| state.tasks[0].answers.len() == 2).await;
    fake.change(|state| (state.mood, state.slow) = (Mood::Well, false));
    fake.until(|state| state.tasks[0].state == "working").await;
    fake.task(|task| task.state = "completed");
    until(&world, &session_id, "t", TaskStatus::Completed).await;
    assert!(answers(&fake).iter().all(|sent| *sent == action_id), "{:?}", answers(&fake));
}

/// The peer shows the question as if nobody had answered: after a while somebody has to decide, and knows what is not known.
#[tokio::test]
async fn whoever_answered_is_asked_anew_where_the_peer_goes_on_asking() {
    type Change = fn(&mut State);
    let table: [(&str, Change, bool); 2] = [
        ("the connection broke", |state| state.mood = Mood::Breaks, false),
        ("a restart came between", |state| state.mood = Mood::Swallows, true),
    ];
    for (kind, change, restarts) in table {
        let fake = Fake::new(|state| state.slow = true);
        let (mut world, session_id, first) = asked(&fake).await;
        fake.change(change);
        respond(&world, &first).await;
        fake.until(|state| !state.tasks[0].answers.is_empty()).await;
        fake.change(|state| (state.mood, state.slow) = (Mood::Well, false));
        if restarts {
            for _ in 0..2 {
                world.restart(Agents::demo()).await;
                looked(&fake, 2).await;
            }
        }
        looked(&fake, 1).await;
        assert_eq!(answers(&fake), [first.as_str()], "{kind}");
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(61)).await;
        tokio::time::resume();
        let anew = |event: &Value| event["type"] == "action.required" && event["action_id"] != first;
        until_fact(&world, &session_id, anew).await;
        let facts = events(&world, &session_id).await;
        let question = facts.iter().rfind(|event| event["type"] == "action.required").unwrap();
        let prompt = question["payload"]["prompt"].as_str().unwrap();
        assert!(prompt.starts_with("pay?\n") && prompt.contains("is not known"), "{kind}: {prompt}");
        let kept_back = facts.iter().filter(|event| event["payload"]["native_type"] == "answer_unknown").count();
        assert_eq!((kept_back, get(&world, "t").await.status), (1, TaskStatus::WaitingInput), "{kind}");
        let second = question["action_id"].as_str().unwrap().to_owned();
        respond(&world, &second).await;
        fake.until(|state| state.tasks[0].answers.len() == 2).await;
        assert_eq!(answers(&fake), [first, second], "{kind}");
        fake.task(|task| task.state = "completed");
        until(&world, &session_id, "t", TaskStatus::Completed).await;
    }
}

/// Only what may have been sent is doubted: what is answered after a restart was not.
#[tokio::test]
async fn what_is_answered_after_a_restart_is_sent() {
    let fake = Fake::new(|_| {});
    let (mut world, session_id, action_id) = asked(&fake).await;
    world.restart(Agents::demo()).await;
    respond(&world, &action_id).await;
    fake.until(|state| !state.tasks[0].answers.is_empty()).await;
    fake.task(|task| task.state = "completed");
    until(&world, &session_id, "t", TaskStatus::Completed).await;
    assert_eq!(answers(&fake), [action_id]);
}

/// A peer that says thanks has not done it yet.
#[tokio::test]
async fn words_to_an_answer_complete_nothing() {
    let fake = Fake::new(|state| state.says = Some("thanks, going on".to_owned()));
    let (world, session_id, action_id) = asked(&fake).await;
    respond(&world, &action_id).await;
    let thanks = |event: &Value| {
        event["type"] == "channel.message" && event["payload"]["parts"][0]["text"] == "thanks, going on"
    };
    until_fact(&world, &session_id, thanks).await;
    until(&world, &session_id, "t", TaskStatus::Running).await;
    fake.task(|task| {
        task.artifacts.push(("receipt".to_owned(), "paid".to_owned()));
        task.state = "completed";
    });
    let task = until(&world, &session_id, "t", TaskStatus::Completed).await;
    assert_eq!(task.artifacts, ["receipt"]);
}
