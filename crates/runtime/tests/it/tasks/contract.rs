//! The names of the contract: every field it lists is in the records, whatever there is to say about it.

use factum_model::ErrorCode;
use factum_model::commands::*;
use serde_json::{Value, json};

use super::{call, code, create};
use crate::world::World;

/// Fails for each name of the list that the record does not have.
fn has_all(record: &impl serde::Serialize, names: &str) -> Value {
    let record = serde_json::to_value(record).unwrap();
    for name in names.split_whitespace() {
        assert!(record.get(name).is_some(), "{name} is missing in {record:#}");
    }
    record
}

const TASK: &str = "task_id parent_task_id root_task_id session_id thread_id turn_id title objective task_kind task_family \
    visibility status native_status status_reason priority requested_by owner assignee scope constraints task_profile \
    acceptance progress current_run_id attempts relationships artifacts evidence_refs delivery_state last_error \
    created_at updated_at started_at ended_at";
const ATTEMPT: &str = "run_id attempt_id status worker input_refs output_refs checkpoint_refs started_at ended_at \
    attempt_count retry_policy last_error completion_summary";
const EDGE: &str = "from to relationship created_at updated_at status reason";
const JOB: &str = "job_id task_id status instruction_ref input_refs output_schema_ref max_runtime item_cursor progress \
    assigned_threads";
const ITEM: &str = "job_item_id status attempt_count last_error retryable";
const SUBAGENT: &str = "subagent_id parent_session_id parent_thread_id parent_turn_id parent_task_id parent_subagent_id \
    thread_id role nickname isolation model_policy status last_message_ref";

#[tokio::test]
async fn records_have_every_field_of_the_contract() {
    let world = World::new().await;
    let policy = json!({ "max_attempts": 2, "timeout": 60_000 });
    let first = create(&world, json!({ "task_id": "t", "objective": "x", "retry_policy": policy })).await;
    create(&world, json!({ "task_id": "u", "objective": "x", "blocked_by": ["t"] })).await;
    call::<StartTask>(&world, json!({ "task_id": "t" })).await.unwrap();
    let task = has_all(&call::<GetTask>(&world, json!({ "task_id": "t" })).await.unwrap(), TASK);
    has_all(&task["attempts"][0], ATTEMPT);
    has_all(&task["relationships"][0], EDGE);
    let policy = has_all(&task["attempts"][0]["retry_policy"], "max_attempts backoff non_retryable timeout");
    assert_eq!((&policy["timeout"], &policy["backoff"]), (&json!(60_000), &Value::Null));
    let listed = call::<ListTasks>(&world, json!({})).await.unwrap();
    listed.tasks.iter().for_each(|task| drop(has_all(task, TASK)));

    let job = json!({ "job_id": "j", "instruction": "x", "queue": "q", "max_runtime": 60_000 });
    call::<CreateJob>(&world, job).await.unwrap();
    let read = call::<GetJob>(&world, json!({ "job_id": "j" })).await.unwrap();
    assert_eq!(has_all(&read.job, JOB)["max_runtime"], json!(60_000));
    has_all(&read.job.progress, "total pending running completed failed reported");
    has_all(&read.items[0], ITEM);

    let session = json!({ "session_id": first.session_id });
    call::<SpawnSubagent>(&world, session.clone()).await.unwrap();
    let children = call::<ListSubagents>(&world, session).await.unwrap();
    has_all(&children.subagents[0], SUBAGENT);
}

#[tokio::test]
async fn names_with_their_units_are_understood_too() {
    let world = World::new().await;
    create(&world, json!({ "task_id": "t", "objective": "x", "retry_policy": { "timeout_ms": 7 } })).await;
    let policy = call::<GetTask>(&world, json!({ "task_id": "t" })).await.unwrap().retry_policy.unwrap();
    assert_eq!(policy.timeout_ms, Some(7));
    let job = json!({ "job_id": "j", "instruction": "x", "queue": "q", "max_runtime_ms": 60_000 });
    call::<CreateJob>(&world, job).await.unwrap();
    assert_eq!(call::<GetJob>(&world, json!({ "job_id": "j" })).await.unwrap().job.max_runtime_ms, Some(60_000));
}

#[tokio::test]
async fn filters_stand_beside_the_limit_too_and_one_status_alone() {
    let world = World::new().await;
    let session_id = create(&world, json!({ "task_id": "t", "objective": "x" })).await.session_id;
    create(&world, json!({ "task_id": "other", "objective": "x", "status": "draft" })).await;
    for params in [
        json!({ "session_id": session_id }),
        json!({ "status": "accepted", "limit": 5 }),
        json!({ "filters": { "status": "accepted" } }),
        json!({ "filters": { "status": ["accepted"] }, "status": "draft" }),
    ] {
        let found = call::<ListTasks>(&world, params.clone()).await.unwrap().tasks;
        assert_eq!(found.iter().map(|task| task.task_id.as_str()).collect::<Vec<_>>(), ["t"], "{params}");
    }
    let unknown = serde_json::from_value::<ListTasks>(json!({ "status": "nothing" })).unwrap_err().to_string();
    assert!(unknown.contains("unknown variant `nothing`"), "{unknown}");
}

#[tokio::test]
async fn a_session_that_is_named_and_missing_comes_to_be() {
    let world = World::new().await;
    let params = |task: &str| json!({ "task_id": task, "objective": "x", "session_id": "sess_mine" });
    let created = create(&world, params("t")).await;
    assert_eq!(created.session_id.as_str(), "sess_mine");
    assert_eq!(create(&world, params("u")).await.session_id, created.session_id, "and is there from then on");
    let with_thread = json!({ "objective": "x", "session_id": "sess_other", "thread_id": "thread_none" });
    assert_eq!(code(call::<CreateTask>(&world, with_thread).await), ErrorCode::NotFound);
    let none = call::<GetSession>(&world, json!({ "session_id": "sess_other" })).await;
    assert_eq!(code(none), ErrorCode::NotFound, "what is refused leaves nothing behind");
}
