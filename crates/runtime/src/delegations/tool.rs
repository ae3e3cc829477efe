//! Work that an agent gives to a peer in the middle of a turn: a task of the same session, whose id follows from the tool
//! call's. A call that runs again after a crash finds that task and goes on waiting for it.

use std::sync::Arc;

use factum_agent::{Stopped, ToolOutput};
use factum_engine::session::SessionState;
use factum_model::Refusal;
use factum_model::commands::{CancelTask, CreateTask};
use factum_model::id::{SessionId, TaskId, ToolCallId};
use factum_model::registry::Scopes;
use factum_model::report::Runner;
use factum_model::task::{Propagation, TaskRow, TaskStatus};
use factum_model::value::Failure;
use serde_json::json;

use crate::caller::Caller;
use crate::runtime::Runtime;
use crate::session::SessionCell;

/// How much of what a peer made an agent gets to read as text.
const TEXT_BYTES_MAX: u64 = 64 << 10;

/// Gives the work away and waits until it is over.
pub(crate) async fn run(
    runtime: &Runtime,
    cell: &SessionCell,
    runner: &Runner,
    call: &ToolCallId,
    peer: &str,
    message: &str,
) -> Result<Result<ToolOutput, Failure>, Stopped> {
    let stopped = |refusal: Refusal| Stopped { reason: refusal.message };
    let principal = format!("agent://{}", runner.turn_id);
    let caller = Caller::new(&principal, &*cell.account, Scopes::admin());
    let task_id: TaskId = format!("task_of_{call}").parse().map_err(|_| Stopped::new("the call has no usable id"))?;
    if let Err(refusal) = runtime.require_peer([peer]) {
        return Ok(Err(failure("peer_unknown", refusal.message)));
    }
    let command = command(&cell.id, runner, &task_id, peer, message)?;
    match runtime.call(&caller, command).await {
        Ok(_) => {}
        Err(refusal) if refusal.retryable => return Err(stopped(refusal)),
        Err(refusal) => return Ok(Err(failure("peer_refused", refusal.message))),
    }
    let mut guard = Guard { runtime: runtime.clone(), caller: caller.clone(), task_id: Some(task_id.clone()) };
    let row = over(runtime, &caller, &cell.id, &task_id).await.map_err(stopped)?;
    guard.task_id = None;
    Ok(outcome(runtime, &row).await)
}

fn command(
    session_id: &SessionId,
    runner: &Runner,
    task_id: &TaskId,
    peer: &str,
    message: &str,
) -> Result<CreateTask, Stopped> {
    let params = json!({
        "session_id": session_id,
        "thread_id": runner.thread_id,
        "turn_id": runner.turn_id,
        "task_id": task_id,
        "objective": message,
        "task_kind": "delegation",
        "status": TaskStatus::Queued,
        "peer": peer,
        "auto_complete": true,
    });
    serde_json::from_value(params).map_err(|error| Stopped::new(error.to_string()))
}

/// Waits until nothing more comes of the task by itself. Woken by what is written.
async fn over(
    runtime: &Runtime,
    caller: &Caller,
    session_id: &SessionId,
    task_id: &TaskId,
) -> Result<TaskRow, Refusal> {
    let account: &Arc<str> = &caller.account;
    let follow = runtime.follow::<SessionState>(account, session_id, 0).await?;
    loop {
        let (sequence, _) = runtime.look::<SessionState, _>(account, session_id, |state| Ok(state.sequence)).await?;
        let row = runtime.task_row(caller, task_id).await?.ok_or_else(Refusal::not_found)?;
        if row.status.is_terminal() || row.status == TaskStatus::Lost {
            return Ok(row);
        }
        follow.cell.hub.wait_durable(sequence + 1).await;
    }
}

async fn outcome(runtime: &Runtime, row: &TaskRow) -> Result<ToolOutput, Failure> {
    let attempt = row.attempt.as_ref();
    if row.status != TaskStatus::Completed {
        let words = row.last_error.as_ref().map(|error| error.message.clone()).or_else(|| row.status_reason.clone());
        let message = words.unwrap_or_else(|| format!("the peer's task is {}", row.status.as_str()));
        return Err(failure(&format!("peer_{}", row.status.as_str()), message));
    }
    let summary = attempt.and_then(|attempt| attempt.completion_summary.clone());
    let made = attempt.and_then(|attempt| attempt.output_refs.first());
    let made = match made {
        Some(reference) => text_of(runtime, reference).await,
        None => None,
    };
    let text = made.or(summary).unwrap_or_default();
    let structured = json!({ "task_id": row.task_id, "text": text, "artifacts": row.artifacts });
    Ok(ToolOutput { text: Some(text), structured: Some(structured) })
}

/// The text behind a reference, if it is a text and not too long.
async fn text_of(runtime: &Runtime, reference: &str) -> Option<String> {
    let digest = reference.strip_prefix("blob:sha256:")?.parse().ok()?;
    let size = runtime.0.blobs.len(digest).await.ok().filter(|size| *size <= TEXT_BYTES_MAX)?;
    let bytes = runtime.0.blobs.get_range(digest, 0..size).await.ok()?;
    String::from_utf8(bytes.to_vec()).ok()
}

fn failure(category: &str, message: String) -> Failure {
    Failure { category: category.to_owned(), message, retryable: false, advice: None }
}

/// A turn that is interrupted does not leave a peer at work for nobody; a runtime that closes does, and goes on later.
struct Guard {
    runtime: Runtime,
    caller: Caller,
    task_id: Option<TaskId>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(task_id) = self.task_id.take() else { return };
        if self.runtime.closing().is_cancelled() {
            return;
        }
        let (runtime, caller) = (self.runtime.clone(), self.caller.clone());
        self.runtime.spawn(async move {
            let reason = Some("the turn that gave it away was stopped".to_owned());
            let command = CancelTask { task_id, reason, propagation: Propagation::Descendants, idempotency_key: None };
            if let Err(refusal) = runtime.call(&caller, command).await {
                tracing::debug!(%refusal, "work that was given away was over already");
            }
        });
    }
}
