//! Tasks through the shell: found by id alone, listed by page, carried through restarts and timers.

mod contract;
mod graph;
mod helpers;
mod lists;
mod recovery;
mod stuck;

use std::time::Duration;

use factum_model::commands::*;
use factum_model::id::SessionId;
use factum_model::task::{TaskRecord, TaskStatus};
use factum_model::{Command, ErrorCode, Refusal};
use factum_runtime::{Caller, Handle, Runtime};
use serde_json::{Value, json};

use crate::world::World;

/// Calls a command with params as a client would write them.
pub(crate) async fn call<C: Command>(world: &World, params: Value) -> Result<C::Output, Refusal>
where
    Runtime: Handle<C>,
{
    call_as::<C>(world, &world.caller, params).await
}

pub(crate) async fn call_as<C: Command>(world: &World, caller: &Caller, params: Value) -> Result<C::Output, Refusal>
where
    Runtime: Handle<C>,
{
    let command: C = serde_json::from_value(params).expect("params of the test parse");
    world.runtime.call(caller, command).await
}

pub(crate) async fn get(world: &World, task_id: &str) -> TaskRecord {
    call::<GetTask>(world, json!({ "task_id": task_id })).await.unwrap()
}

pub(crate) async fn create(world: &World, params: Value) -> CreateTaskResult {
    call::<CreateTask>(world, params).await.unwrap()
}

/// Waits, event by event, until a task has this status.
pub(crate) async fn until(world: &World, session_id: &SessionId, task_id: &str, status: TaskStatus) -> TaskRecord {
    let mut subscription = world.runtime.subscribe(&world.caller, session_id, 0).await.unwrap();
    loop {
        let task = get(world, task_id).await;
        if task.status == status {
            return task;
        }
        tokio::time::timeout(Duration::from_secs(20), subscription.next())
            .await
            .unwrap_or_else(|_| panic!("{task_id} is still {:?}, wanted {status:?}", task.status))
            .unwrap();
    }
}

pub(crate) fn code<T: std::fmt::Debug>(outcome: Result<T, Refusal>) -> ErrorCode {
    outcome.unwrap_err().code
}
