//! What happens by itself and cannot be recorded: it keeps nothing else from happening, and happens once it can.

use std::time::Duration;

use factum_model::commands::*;
use factum_model::task::TaskStatus;
use factum_runtime::Agents;
use serde_json::json;

use super::{call, create, until};
use crate::world::World;

#[tokio::test]
async fn a_timer_that_cannot_fire_keeps_no_other_from_it() {
    let mut world = World::new().await;
    let mut sessions = Vec::new();
    for (task_id, timeout_ms) in [("bad", 30_000), ("good", 60_000)] {
        let policy = json!({ "timeout_ms": timeout_ms });
        sessions.push(
            create(&world, json!({ "task_id": task_id, "objective": "x", "retry_policy": policy })).await.session_id,
        );
        call::<StartTask>(&world, json!({ "task_id": task_id })).await.unwrap();
    }
    let stream = format!("session/acme/{}", sessions[0]);
    world.store.refuse(&stream);
    world.clock.advance(Duration::from_secs(61));
    world.restart(Agents::demo()).await;
    until(&world, &sessions[1], "good", TaskStatus::TimedOut).await;
    assert!(world.store.refusals() > 0, "the other one was tried first");
    world.store.accept(&stream);
    until(&world, &sessions[0], "bad", TaskStatus::TimedOut).await;
}

/// Each is within its bounds, and all of them together are more than a commit takes.
#[tokio::test]
async fn large_tasks_behind_one_start_however_many_there_are() {
    let mut world = World::new().await;
    let session_id = create(&world, json!({ "task_id": "first", "objective": "x" })).await.session_id;
    let (objective, value) = ("🦀".repeat(15_990), json!({ "x": "x".repeat(16_000) }));
    let names: Vec<String> = (0..180).map(|number| format!("t{number:03}")).collect();
    for name in &names {
        let params = json!({
            "task_id": name,
            "objective": objective,
            "scope": value,
            "constraints": value,
            "metadata": value,
            "blocked_by": ["first"],
        });
        create(&world, params).await;
    }
    call::<CompleteTask>(&world, json!({ "task_id": "first" })).await.unwrap();
    for name in &names {
        until(&world, &session_id, name, TaskStatus::Running).await;
    }
    world.restart(Agents::demo()).await;
    call::<GetSession>(&world, json!({ "session_id": session_id })).await.unwrap();
    call::<CancelTask>(&world, json!({ "task_id": "t000" })).await.unwrap();
}
