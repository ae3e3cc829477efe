//! Peers that give a driver no rest: it keeps its own pace, says nothing twice, and misses nothing for it.

use std::time::Duration;

use factum_model::commands::RespondAction;
use factum_model::task::TaskStatus;
use factum_runtime::Agents;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::fake::{Fake, Mood, Stream};
use super::{events, given, open_action, recovered, recoveries, until_fact, world};
use crate::tasks::{call, get, until};

fn asks(fake: &Fake) {
    fake.task(|task| {
        (task.state, task.message, task.question) = ("input-required", Some("up?".to_owned()), Some("q1".to_owned()));
    });
}

#[tokio::test]
async fn a_task_that_goes_to_and_fro_is_looked_at_as_seldom_as_any_other() {
    let fake = Fake::new(|state| (state.polled, state.shows) = (true, &["working", "submitted"]));
    let world = world(&fake).await;
    given(&world).await;
    fake.until(|state| state.looks >= 1).await;
    let since = Instant::now();
    fake.until(|state| state.looks >= 4).await;
    assert!(since.elapsed() >= Duration::from_millis(1_900), "{:?}", since.elapsed());
}

#[tokio::test]
async fn a_stream_that_breaks_after_its_first_words_is_tried_less_and_less_often() {
    let fake = Fake::new(|state| state.stream = Stream::Cut);
    let world = world(&fake).await;
    let session_id = given(&world).await;
    fake.until(|state| state.follows >= 1).await;
    let since = Instant::now();
    fake.until(|state| state.follows >= 4).await;
    assert!(since.elapsed() >= Duration::from_millis(1_700), "{:?}", since.elapsed());
    fake.task(|task| task.state = "completed");
    until(&world, &session_id, "t", TaskStatus::Completed).await;
}

/// An event that is too large or not to be understood must not hide what the peer asks.
#[tokio::test]
async fn a_task_whose_stream_cannot_be_read_is_looked_at() {
    let fake = Fake::new(|state| state.stream = Stream::Unreadable);
    let world = world(&fake).await;
    let session_id = given(&world).await;
    fake.until(|state| state.follows == 1).await;
    asks(&fake);
    let action_id = open_action(&world, &session_id).await;
    call::<RespondAction>(&world, json!({ "action_id": action_id, "decision": "up" })).await.unwrap();
    fake.until(|state| !state.tasks[0].answers.is_empty()).await;
    fake.task(|task| task.state = "completed");
    until(&world, &session_id, "t", TaskStatus::Completed).await;
    assert_eq!(fake.state.lock().follows, 1, "it would be as unreadable the next time");
    let seen = recoveries(&world, &session_id).await;
    assert!(!seen.iter().any(|recovery| recovery == "network_unavailable"), "{seen:?}");
}

/// Servers say of a task that they have nothing to stream of just now that they know no such task.
#[tokio::test]
async fn a_task_that_a_subscription_does_not_find_is_looked_at() {
    for stream in [Stream::Missing, Stream::Forgets] {
        let fake = Fake::new(|state| state.stream = stream);
        let world = world(&fake).await;
        let session_id = given(&world).await;
        fake.until(|state| state.follows >= 2 && state.looks >= 2).await;
        assert_eq!(get(&world, "t").await.status, TaskStatus::Running, "{stream:?}");
        fake.task(|task| {
            task.artifacts.push(("numbers".to_owned(), "1 2 3".to_owned()));
            task.state = "completed";
        });
        let task = until(&world, &session_id, "t", TaskStatus::Completed).await;
        assert_eq!((task.artifacts.len(), task.attempts.len()), (1, 1), "{stream:?}");
        let seen = recoveries(&world, &session_id).await;
        assert!(!seen.iter().any(|recovery| recovery == "missing"), "{stream:?}: {seen:?}");
    }
}

/// What was answered is not asked again because the stream tells of it again.
#[tokio::test]
async fn a_question_that_only_the_stream_still_asks_is_not_asked() {
    let fake = Fake::new(|state| state.stream = Stream::Replays(&["submitted", "working", "input-required"]));
    let world = world(&fake).await;
    let session_id = given(&world).await;
    fake.until(|state| state.looks >= 1).await;
    asks(&fake);
    let action_id = open_action(&world, &session_id).await;
    call::<RespondAction>(&world, json!({ "action_id": action_id, "decision": "up" })).await.unwrap();
    fake.until(|state| !state.tasks[0].answers.is_empty()).await;
    let before = fake.state.lock().looks;
    fake.until(|state| state.looks >= before + 3).await;
    fake.task(|task| task.state = "completed");
    until(&world, &session_id, "t", TaskStatus::Completed).await;
    let facts = events(&world, &session_id).await;
    let asked = facts.iter().filter(|event| event["type"] == "action.required").count();
    assert_eq!((asked, fake.state.lock().tasks[0].answers.len()), (1, 1));
}

/// The stream is ahead of the task: what it said stands, and the task is waited for.
#[tokio::test]
async fn a_task_that_does_not_show_its_end_yet_is_waited_for() {
    let fake = Fake::new(|state| state.stream = Stream::Replays(&["completed"]));
    let world = world(&fake).await;
    let session_id = given(&world).await;
    fake.until(|state| state.looks >= 3).await;
    assert_eq!(get(&world, "t").await.status, TaskStatus::Running);
    fake.task(|task| {
        task.artifacts.push(("numbers".to_owned(), "1 2 3".to_owned()));
        task.state = "completed";
    });
    let task = until(&world, &session_id, "t", TaskStatus::Completed).await;
    assert_eq!(task.artifacts, ["numbers"]);
    let seen = recoveries(&world, &session_id).await;
    let done = seen.iter().position(|recovery| recovery == "completed_unreconciled").unwrap();
    assert!(!seen[done..].contains(&"running".to_owned()), "{seen:?}");
}

/// The peer may have the task, and its card turned into one that nobody can use: that says nothing about the task.
#[tokio::test]
async fn a_card_that_turns_bad_fails_no_task_that_the_peer_may_have() {
    let fake = Fake::new(|state| (state.mood, state.lists) = (Mood::Swallows, true));
    let mut world = world(&fake).await;
    let session_id = given(&world).await;
    fake.until(|state| state.tasks.len() == 1).await;
    fake.change(|state| (state.mood, state.strange) = (Mood::Well, true));
    world.restart(Agents::demo()).await;
    until_fact(&world, &session_id, recovered("network_unavailable")).await;
    assert_eq!(get(&world, "t").await.status, TaskStatus::Running);
    fake.change(|state| state.strange = false);
    until_fact(&world, &session_id, recovered("running")).await;
    fake.task(|task| task.state = "completed");
    until(&world, &session_id, "t", TaskStatus::Completed).await;
    let failed = |event: &&Value| event["type"] == "task.failed";
    assert_eq!(events(&world, &session_id).await.iter().filter(failed).count(), 0);
}

const TO_AND_FRO: [&str; 400] = {
    let mut states = ["working"; 400];
    let mut at = 0;
    while at < 400 {
        states[at] = "submitted";
        at += 2;
    }
    states
};

/// What a stream says again and again is left to looks, which have a pace.
#[tokio::test]
async fn a_stream_that_goes_to_and_fro_is_left() {
    for (stream, kind) in
        [(Stream::Replays(&TO_AND_FRO), "channel.peer_task.updated"), (Stream::Rewrites(400), "artifact.changed")]
    {
        let fake = Fake::new(|state| state.stream = stream);
        let world = world(&fake).await;
        let session_id = given(&world).await;
        fake.until(|state| state.looks >= 2).await;
        let told = events(&world, &session_id).await.iter().filter(|event| event["type"] == kind).count();
        assert!((30..50).contains(&told), "{told} of {kind}");
        assert_eq!(fake.state.lock().follows, 1, "{kind}");
        fake.task(|task| {
            task.artifacts.push(("log".to_owned(), "the last version".to_owned()));
            task.state = "completed";
        });
        let task = until(&world, &session_id, "t", TaskStatus::Completed).await;
        assert_eq!(task.artifacts, ["log"], "{kind}");
    }
}

/// A connection that never was cannot break.
#[tokio::test]
async fn a_peer_that_never_answered_is_not_disconnected() {
    let fake = Fake::new(|state| state.mood = Mood::Down);
    let world = world(&fake).await;
    let session_id = given(&world).await;
    until_fact(&world, &session_id, recovered("network_unavailable")).await;
    fake.change(|state| state.mood = Mood::Well);
    until_fact(&world, &session_id, recovered("running")).await;
    let facts = events(&world, &session_id).await;
    assert!(!facts.iter().any(|event| event["type"] == "channel.disconnected"), "{facts:?}");
}
