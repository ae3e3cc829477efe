//! Graphs that are larger than one commit, and tasks that have left memory.

use factum_model::ErrorCode;
use factum_model::commands::*;
use factum_model::task::{AttemptStatus, TaskStatus};
use factum_runtime::Agents;
use serde_json::json;

use super::{call, code, create, get, until};
use crate::world::World;

/// More than one commit reaches.
const MANY: usize = 450;

#[tokio::test]
async fn a_cancellation_reaches_everything_below_in_pieces() {
    let mut world = World::new().await;
    let session_id = create(&world, json!({ "task_id": "root", "objective": "x" })).await.session_id;
    for at in 0..MANY {
        let parent = if at % 3 == 0 { "root".to_owned() } else { format!("t{}", at - 1) };
        create(&world, json!({ "task_id": format!("t{at}"), "objective": "x", "parent_task_id": parent })).await;
    }
    call::<StartTask>(&world, json!({ "task_id": "t2" })).await.unwrap();
    let params = json!({ "task_id": "root", "propagation": "descendants", "reason": "enough" });
    let answer = call::<CancelTask>(&world, params).await.unwrap();
    assert_eq!(answer.status, TaskStatus::Cancelling, "t2 runs and has to settle");
    assert!(answer.affected_total > 100 && answer.affected_total < MANY as u64, "{}", answer.affected_total);
    let below = json!({ "objective": "x", "parent_task_id": "t2" });
    assert_eq!(code(call::<CreateTask>(&world, below).await), ErrorCode::PreconditionFailed);
    // A crash in the middle forgets nothing of it.
    world.restart(Agents::demo()).await;
    until(&world, &session_id, "t449", TaskStatus::Cancelled).await;
    assert_eq!(get(&world, "t2").await.status, TaskStatus::Cancelling);
    assert_eq!(get(&world, "t0").await.status, TaskStatus::Cancelling, "it waits for what is below it");
    let failed = json!({ "task_id": "t2", "error": { "category": "stopped" } });
    call::<FailTask>(&world, failed).await.unwrap();
    let root = until(&world, &session_id, "root", TaskStatus::Cancelled).await;
    assert_eq!(root.status_reason.as_deref(), Some("enough"));
    let snapshot = call::<GetTaskSnapshot>(&world, json!({ "session_id": session_id })).await.unwrap();
    assert_eq!(snapshot.counts.get(&TaskStatus::Cancelled), Some(&(MANY as u64 + 1)));
    assert_eq!(snapshot.total, MANY as u64 + 1);
}

#[tokio::test]
async fn what_waits_for_a_task_starts_when_it_completes_however_much_it_is() {
    let mut world = World::new().await;
    let session_id = create(&world, json!({ "task_id": "first", "objective": "x" })).await.session_id;
    for at in 0..MANY {
        create(&world, json!({ "task_id": format!("t{at}"), "objective": "x", "blocked_by": ["first"] })).await;
    }
    call::<StartTask>(&world, json!({ "task_id": "first" })).await.unwrap();
    call::<CompleteTask>(&world, json!({ "task_id": "first" })).await.unwrap();
    world.restart(Agents::demo()).await;
    for at in 0..MANY {
        let task = until(&world, &session_id, &format!("t{at}"), TaskStatus::Running).await;
        assert_eq!(task.attempts.len(), 1, "t{at} started once");
    }
}

#[tokio::test]
async fn a_task_that_left_memory_is_found_and_tried_again() {
    let world = World::new().await;
    let session_id = create(&world, json!({ "task_id": "old", "objective": "x" })).await.session_id;
    call::<StartTask>(&world, json!({ "task_id": "old" })).await.unwrap();
    let failed = json!({ "task_id": "old", "error": { "category": "x", "message": "no" } });
    call::<FailTask>(&world, failed).await.unwrap();
    for at in 0..100 {
        let task_id = format!("t{at}");
        create(&world, json!({ "task_id": task_id, "objective": "x", "session_id": session_id })).await;
        call::<CancelTask>(&world, json!({ "task_id": task_id })).await.unwrap();
    }
    let snapshot = call::<GetTaskSnapshot>(&world, json!({ "session_id": session_id })).await.unwrap();
    assert!(snapshot.failed.is_empty(), "it left");
    assert_eq!(get(&world, "old").await.status, TaskStatus::Failed);
    let again = call::<RetryTask>(&world, json!({ "task_id": "old", "reason": "again" })).await.unwrap();
    assert_eq!((again.attempt_count, again.status), (2, TaskStatus::Running));
    let task = get(&world, "old").await;
    let statuses: Vec<_> = task.attempts.iter().map(|attempt| attempt.status).collect();
    assert_eq!(statuses, [AttemptStatus::Failed, AttemptStatus::Running]);
    // Waiting for a task that left works too.
    create(&world, json!({ "task_id": "behind", "objective": "x", "blocked_by": ["t0", "old"] })).await;
    call::<CompleteTask>(&world, json!({ "task_id": "old" })).await.unwrap();
    assert_eq!(get(&world, "behind").await.status, TaskStatus::Blocked, "t0 was cancelled, not completed");
    let edge = json!({ "from": "t0", "to": "behind", "relationship": "blocks" });
    call::<UnlinkTasks>(&world, edge.clone()).await.unwrap();
    assert_eq!(get(&world, "behind").await.status, TaskStatus::Running);
    assert_eq!(code(call::<UnlinkTasks>(&world, edge).await), ErrorCode::PreconditionFailed);
}

/// Chains so deep that the end of each leaf ends a hundred tasks above it.
#[tokio::test]
async fn a_commit_stays_small_where_each_end_ends_everything_above_it() {
    const CHAINS: usize = 130;
    const DEPTH: usize = 100;
    let world = World::new().await;
    let session_id = create(&world, json!({ "task_id": "root", "objective": "x" })).await.session_id;
    for layer in 0..DEPTH {
        for chain in 0..CHAINS {
            let parent = layer.checked_sub(1).map_or("root".to_owned(), |above| format!("t{above:02}.{chain}"));
            let params =
                json!({ "task_id": format!("t{layer:02}.{chain}"), "objective": "x", "parent_task_id": parent });
            create(&world, params).await;
        }
    }
    call::<CancelTask>(&world, json!({ "task_id": "root", "propagation": "descendants" })).await.unwrap();
    until(&world, &session_id, "root", TaskStatus::Cancelled).await;
}
