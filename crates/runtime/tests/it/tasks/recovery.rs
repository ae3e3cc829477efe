//! What a restart keeps: attempts, edges, timers; and that nothing runs twice or shows as running that nobody runs.

use std::time::Duration;

use factum_model::commands::*;
use factum_model::task::{AttemptCause, AttemptStatus, TaskStatus};
use factum_model::value::Status;
use factum_runtime::Agents;
use serde_json::json;

use super::{call, create, get, until};
use crate::world::World;

#[tokio::test]
async fn a_restart_keeps_attempts_edges_and_the_time_of_the_next_try() {
    let mut world = World::new().await;
    let policy = json!({ "max_attempts": 3, "backoff": { "initial_ms": 60_000, "jitter_percent": 0 } });
    let params = json!({ "task_id": "t", "objective": "x", "retry_policy": policy });
    let session_id = create(&world, params).await.session_id;
    create(&world, json!({ "task_id": "behind", "objective": "x", "blocked_by": ["t"] })).await;
    call::<StartTask>(&world, json!({ "task_id": "t" })).await.unwrap();
    let failed = json!({ "task_id": "t", "error": { "category": "x", "message": "no" } });
    assert_eq!(call::<FailTask>(&world, failed.clone()).await.unwrap().status, TaskStatus::Retrying);
    let (before, behind) = (get(&world, "t").await, get(&world, "behind").await);
    world.restart(Agents::demo()).await;
    assert_eq!((get(&world, "t").await, get(&world, "behind").await), (before, behind));
    // The time comes while nobody runs.
    world.clock.advance(Duration::from_secs(61));
    world.restart(Agents::demo()).await;
    let task = until(&world, &session_id, "t", TaskStatus::Running).await;
    assert_eq!((task.attempts.len(), task.attempts[1].cause), (2, AttemptCause::Retry));
    call::<CompleteTask>(&world, json!({ "task_id": "t" })).await.unwrap();
    assert_eq!(get(&world, "behind").await.status, TaskStatus::Running);
}

#[tokio::test]
async fn an_attempt_that_takes_too_long_or_says_nothing_times_out() {
    let mut world = World::new().await;
    let timeout = json!({ "timeout_ms": 60_000 });
    let session_id =
        create(&world, json!({ "task_id": "slow", "objective": "x", "retry_policy": timeout })).await.session_id;
    let silent = json!({ "inactivity_timeout_ms": 60_000, "max_attempts": 2 });
    let params = json!({ "task_id": "silent", "objective": "x", "retry_policy": silent, "session_id": session_id });
    create(&world, params).await;
    call::<StartTask>(&world, json!({ "task_id": "slow" })).await.unwrap();
    call::<StartTask>(&world, json!({ "task_id": "silent" })).await.unwrap();
    world.clock.advance(Duration::from_secs(40));
    call::<AppendTaskProgress>(&world, json!({ "task_id": "slow", "percent": 10 })).await.unwrap();
    call::<AppendTaskProgress>(&world, json!({ "task_id": "silent", "percent": 10 })).await.unwrap();
    world.clock.advance(Duration::from_secs(30));
    world.restart(Agents::demo()).await;
    let slow = until(&world, &session_id, "slow", TaskStatus::TimedOut).await;
    assert_eq!(slow.attempts[0].status, AttemptStatus::TimedOut);
    assert_eq!(get(&world, "silent").await.attempts.len(), 1, "it spoke 30 seconds ago");
    world.clock.advance(Duration::from_secs(31));
    world.restart(Agents::demo()).await;
    let mut events = world.runtime.subscribe(&world.caller, &session_id, 0).await.unwrap();
    while get(&world, "silent").await.attempts.len() < 2 {
        events.next().await.unwrap();
    }
    let silent = get(&world, "silent").await;
    assert_eq!((silent.status, silent.attempts[0].status), (TaskStatus::Running, AttemptStatus::TimedOut));
}

#[tokio::test]
async fn an_agent_does_a_task_across_a_restart() {
    let mut world = World::new().await;
    let params = json!({ "task_id": "t", "objective": "approve: ship it", "agent": "demo", "auto_complete": true });
    let session_id = create(&world, params).await.session_id;
    call::<StartTask>(&world, json!({ "task_id": "t" })).await.unwrap();
    let thread_id = get(&world, "t").await.attempts[0].thread_id.clone().unwrap();
    let read = json!({ "session_id": session_id, "thread_id": thread_id });
    let mut events = world.runtime.subscribe(&world.caller, &session_id, 0).await.unwrap();
    let action_id = loop {
        let thread = call::<GetThreadRead>(&world, read.clone()).await.unwrap();
        if let Some(action) = thread.pending_actions.first().filter(|_| thread.status == Status::WaitingPermission) {
            break action.action_id.clone();
        }
        events.next().await.unwrap();
    };
    let refused = call::<CompleteTask>(&world, json!({ "task_id": "t" })).await.unwrap_err();
    assert_eq!(refused.details["missing"][0]["kind"], "action", "{refused:?}");
    world.restart(Agents::demo()).await;
    assert_eq!(get(&world, "t").await.attempts.len(), 1);
    call::<RespondAction>(&world, json!({ "action_id": action_id, "decision": "allow" })).await.unwrap();
    let done = until(&world, &session_id, "t", TaskStatus::Completed).await;
    assert_eq!((done.attempts.len(), done.attempts[0].status), (1, AttemptStatus::Completed));
}

#[tokio::test]
async fn cancelling_a_task_stops_its_agent() {
    let world = World::new().await;
    let params = json!({ "task_id": "t", "objective": "hello", "agent": "waiting", "status": "queued" });
    let session_id = create(&world, params).await.session_id;
    let task = get(&world, "t").await;
    assert_eq!(task.status, TaskStatus::Running);
    let answer = call::<CancelTask>(&world, json!({ "task_id": "t", "reason": "enough" })).await.unwrap();
    assert_eq!(answer.status, TaskStatus::Cancelled);
    let thread_id = task.attempts[0].thread_id.clone().unwrap();
    let thread =
        call::<GetThreadRead>(&world, json!({ "session_id": session_id, "thread_id": thread_id })).await.unwrap();
    assert_eq!(thread.status, Status::Cancelled);
    assert_eq!(get(&world, "t").await.attempts[0].status, AttemptStatus::Cancelled);
}
