//! Work that an agent gives to a peer in the middle of a turn: a task of the same session, whose id follows from the tool
//! call's. A call that runs again after a crash finds that task and goes on waiting for it. Calling it back is not done here
//! but in the commit that ends the turn (`factum_engine::session::tasks`): this future may be dropped at any point.

use std::sync::Arc;
use std::time::Duration;

use factum_agent::{Stopped, ToolOutput};
use factum_engine::Context;
use factum_engine::session::SessionState;
use factum_engine::session::tasks::{GivenAway, give_away, keys, task_of_call};
use factum_model::id::{SessionId, TaskId};
use factum_model::registry::Scopes;
use factum_model::report::Runner;
use factum_model::task::{TaskRow, TaskStatus};
use factum_model::value::Failure;
use factum_model::{ErrorCode, Refusal};
use serde_json::json;

use crate::caller::Caller;
use crate::commit::Accept;
use crate::runtime::Runtime;
use crate::session::SessionCell;

/// How much of what a peer made an agent gets to read as text.
const TEXT_BYTES_MAX: u64 = 64 << 10;

/// The pause after something that a store without room is in the way of.
const RECORD_PAUSE: Duration = Duration::from_millis(500);

/// Gives the work away and waits until it is over. Whoever drops this has ended the turn, which calls the work back, or
/// closes the runtime, which goes on later.
pub(crate) async fn run(
    runtime: &Runtime,
    cell: &SessionCell,
    (runner, principal): (&Runner, &str),
    work: GivenAway<'_>,
) -> Result<Result<ToolOutput, Failure>, Stopped> {
    let stopped = |refusal: Refusal| Stopped::new(refusal.message);
    let caller = Caller::new(principal, &cell.account, Scopes::admin());
    if let Err(refusal) = runtime.require_peer([work.peer]) {
        return Ok(Err(failure("peer_unknown", refusal.message)));
    }
    let task_id = match given(runtime, &caller, cell, runner, work).await {
        Ok(task_id) => task_id,
        Err(refusal) if refusal.retryable => return Err(stopped(refusal)),
        // The turn is over, or somebody else works on it now.
        Err(refusal) if matches!(refusal.code, ErrorCode::PreconditionFailed | ErrorCode::NotFound) => {
            return Err(stopped(refusal));
        }
        Err(refusal) => return Ok(Err(failure("peer_refused", refusal.message))),
    };
    let row = over(runtime, &caller, &cell.id, &task_id).await.map_err(stopped)?;
    Ok(outcome(runtime, &row).await)
}

/// The task of this call, made now or before. A store without room is waited for, as with any report of a turn.
async fn given(
    runtime: &Runtime,
    caller: &Caller,
    cell: &SessionCell,
    runner: &Runner,
    work: GivenAway<'_>,
) -> Result<TaskId, Refusal> {
    let named: Vec<TaskId> = task_of_call(work.tool_call_id).into_iter().collect();
    // Two sessions must not make the same task at once.
    let id_lock = named.iter().map(|task_id| keys::task(&caller.account, task_id)).collect();
    let accept = Accept::holding(runtime.0.keyed.lock(id_lock).await);
    loop {
        let rows = runtime.task_rows(caller, &named).await?;
        if rows.iter().any(|row| row.session_id != cell.id) {
            return Err(Refusal::conflict("another session has a task with this call's id"));
        }
        let decide = |state: &SessionState, context: &mut Context<'_>| give_away(state, runner, work, &rows, context);
        match runtime.execute(&caller.account, &cell.id, &caller.actor(), &accept, decide).await {
            Ok((task_id, _)) => return Ok(task_id),
            Err(refusal) if refusal.retryable && !runtime.is_closing() => tokio::time::sleep(RECORD_PAUSE).await,
            Err(refusal) => return Err(refusal),
        }
    }
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
