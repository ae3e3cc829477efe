//! Cancelling a task of which something takes its time to stop.

use factum_model::commands::{CreateTask, StartTask};
use tokio::time::timeout;

use super::*;

/// The cancellation is durable at once, and whoever asked for it hears so, however long the work below takes to settle.
#[tokio::test]
async fn a_cancellation_that_takes_long_is_answered_with_the_task_as_it_stands() {
    let world = World::new().await;
    let alice = Service { wait_max: Duration::from_millis(100), ..world.service("agent://alice") };
    let begun = task(&alice, at_once(says("ask: which colour?"))).await;
    let row = world.runtime.inbound_task(&caller("agent://alice"), PROTOCOL, &begun.id).await.expect("rows");
    let parent = row.expect("a row").task_id;
    // A worker that is told to stop has half a minute to do so.
    let create: CreateTask =
        serde_json::from_value(json!({ "parent_task_id": parent, "objective": "check" })).expect("params");
    let below = world.runtime.call(&caller("agent://bob"), create).await.expect("a task").task_id;
    let start: StartTask =
        serde_json::from_value(json!({ "task_id": below, "worker": "worker://one" })).expect("params");
    world.runtime.call(&caller("agent://bob"), start).await.expect("a run");

    let cancel = CancelTaskRequest { id: begun.id.clone(), metadata: None, tenant: None };
    let stands = timeout(Duration::from_secs(20), alice.cancel_task(cancel)).await.expect("an answer in time");
    let stands = stands.expect("a task");
    assert!(!stands.status.state.is_terminal(), "{stands:?}");
    let get = GetTask { task_id: below, as_of: None };
    let below = world.runtime.call(&caller("agent://bob"), get).await.expect("a task");
    assert_eq!(below.status, TaskStatus::Cancelling);
}
