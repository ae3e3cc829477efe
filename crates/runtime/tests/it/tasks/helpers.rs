//! Child agents and jobs of a task through the shell, and what a pause and a restart do to an agent at work.

use factum_model::ErrorCode;
use factum_model::commands::*;
use factum_model::task::{AttemptCause, AttemptStatus, EdgeStatus, Relationship, TaskStatus};
use factum_runtime::Agents;
use serde_json::json;

use super::{call, code, create, get, until};
use crate::world::World;

#[tokio::test]
async fn whoever_works_for_a_task_holds_it_open_and_is_cancelled_with_it() {
    let world = World::new().await;
    let session_id = create(&world, json!({ "task_id": "t", "objective": "x", "status": "queued" })).await.session_id;
    let spawn = |id: &str| {
        let input = json!([{ "type": "text", "text": "hello" }]);
        json!({ "session_id": session_id, "subagent_id": id, "parent_task_id": "t", "agent": "waiting", "input": input })
    };
    let job = json!({ "task_id": "t", "job_id": "j", "instruction": "x", "queue": "q" });
    call::<SpawnSubagent>(&world, spawn("a")).await.unwrap();
    call::<CreateJob>(&world, job.clone()).await.unwrap();
    let refused = call::<CompleteTask>(&world, json!({ "task_id": "t" })).await.unwrap_err();
    let kinds: Vec<_> = refused.details["missing"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds, ["subagent", "job"]);
    call::<CancelTask>(&world, json!({ "task_id": "t", "propagation": "none" })).await.unwrap();
    assert_eq!(code(call::<SpawnSubagent>(&world, spawn("b")).await), ErrorCode::PreconditionFailed);
    let other = json!({ "task_id": "t", "instruction": "x", "queue": "q" });
    assert_eq!(code(call::<CreateJob>(&world, other).await), ErrorCode::PreconditionFailed);
    call::<CancelTask>(&world, json!({ "task_id": "t", "propagation": "descendants" })).await.unwrap();
    call::<CompleteTask>(&world, json!({ "task_id": "t" })).await.unwrap_err();
    call::<FailTask>(&world, json!({ "task_id": "t", "error": { "category": "x" } })).await.unwrap();
    let task = until(&world, &session_id, "t", TaskStatus::Cancelled).await;
    let edges: Vec<_> = task.relationships.iter().map(|edge| (edge.relationship, edge.status)).collect();
    assert_eq!(edges, [(Relationship::SpawnedSubagent, EdgeStatus::Satisfied)]);
}

#[tokio::test]
async fn a_child_agent_that_works_on_a_task_is_spawned_for_it() {
    let world = World::new().await;
    let session_id = create(&world, json!({ "task_id": "t", "objective": "x", "status": "queued" })).await.session_id;
    let input = json!([{ "type": "text", "text": "hello" }]);
    let spawn =
        json!({ "session_id": session_id, "subagent_id": "a", "task_id": "t", "agent": "waiting", "input": input });
    call::<SpawnSubagent>(&world, spawn).await.unwrap();
    let edges = get(&world, "t").await.relationships;
    assert_eq!(edges[0].relationship, Relationship::SpawnedSubagent);
    let refused = call::<CompleteTask>(&world, json!({ "task_id": "t" })).await.unwrap_err();
    assert_eq!(refused.details["missing"][0]["kind"], "subagent");
    call::<CancelTask>(&world, json!({ "task_id": "t", "propagation": "descendants" })).await.unwrap();
    call::<FailTask>(&world, json!({ "task_id": "t", "error": { "category": "x" } })).await.unwrap();
    until(&world, &session_id, "t", TaskStatus::Cancelled).await;
}

#[tokio::test]
async fn a_restart_in_the_middle_of_a_turn_is_another_attempt() {
    let mut world = World::new().await;
    let params = json!({ "task_id": "t", "objective": "hello", "agent": "waiting", "status": "queued" });
    let session_id = create(&world, params).await.session_id;
    world.restart(Agents::demo()).await;
    let mut events = world.runtime.subscribe(&world.caller, &session_id, 0).await.unwrap();
    let task = loop {
        let task = get(&world, "t").await;
        if task.attempts.len() > 1 {
            break task;
        }
        events.next().await.unwrap();
    };
    let attempts: Vec<_> = task.attempts.iter().map(|one| (one.attempt_count, one.status, one.cause)).collect();
    let first = (1, AttemptStatus::Failed, AttemptCause::First);
    assert_eq!(attempts, [first, (2, AttemptStatus::Running, AttemptCause::CrashRecovery)]);
    assert_eq!(task.attempts[0].last_error.as_ref().unwrap().category, "process_ended");
    assert_eq!((task.status, &task.attempts[0].turn_id), (TaskStatus::Running, &task.attempts[1].turn_id));
}

#[tokio::test]
async fn an_agent_that_was_paused_goes_on_when_it_is_resumed() {
    let world = World::new().await;
    let params = json!({ "task_id": "t", "objective": "slow: work", "agent": "demo", "auto_complete": true });
    let session_id = create(&world, params).await.session_id;
    call::<StartTask>(&world, json!({ "task_id": "t" })).await.unwrap();
    let answer = call::<PauseTask>(&world, json!({ "task_id": "t" })).await.unwrap();
    assert_eq!(answer.status, TaskStatus::Paused);
    call::<ResumeTask>(&world, json!({ "task_id": "t" })).await.unwrap();
    let task = until(&world, &session_id, "t", TaskStatus::Completed).await;
    assert_eq!((task.attempts.len(), task.attempts[0].status), (1, AttemptStatus::Completed));
}

#[tokio::test]
async fn tasks_of_two_sessions_are_not_linked_and_only_what_is_not_there_is_not_found() {
    let world = World::new().await;
    let session_id = create(&world, json!({ "task_id": "a", "objective": "x" })).await.session_id;
    create(&world, json!({ "task_id": "b", "objective": "x" })).await;
    let create_below = json!({ "objective": "x", "parent_task_id": "a", "blocked_by": ["b"] });
    let told = call::<CreateTask>(&world, create_below).await.unwrap_err();
    for relationship in ["parent", "child", "blocks", "blocked_by", "source_task"] {
        let link = |to: &str| json!({ "from": "a", "to": to, "relationship": relationship });
        let refused = call::<LinkTasks>(&world, link("b")).await.unwrap_err();
        assert_eq!((refused.code, &refused.message), (told.code, &told.message), "{relationship}");
        assert_eq!(code(call::<LinkTasks>(&world, link("none")).await), ErrorCode::NotFound, "{relationship}");
    }
    for root in ["none", "b"] {
        let snapshot = json!({ "session_id": session_id, "root_task_id": root });
        assert_eq!(code(call::<GetTaskSnapshot>(&world, snapshot).await), ErrorCode::NotFound, "{root}");
    }
    assert_eq!(get(&world, "a").await.relationships, []);
}
