//! The keeper of leases: one task that sleeps until the next one runs out, and has the engine record what follows.

use std::sync::Arc;
use std::time::Duration;

use factum_engine::session::SessionState;
use factum_engine::session::workers::{expire_lease, keys};
use factum_model::{ErrorCode, Trace};
use factum_store::{Direction, ReadError, Scan};
use futures::StreamExt;
use tokio::time::Instant;

use super::leases::Due;
use crate::commit::{Accept, Actor};
use crate::runtime::Runtime;

/// Who acts when a lease runs out.
const KEEPER: &str = "runtime://leases";
/// How many rows one look at the index lists, and how many leases end together.
const PAGE: usize = 256;
/// How many are recorded at the same time.
const PARALLEL: usize = 32;
/// When a lease that could not be ended is tried again, and leases that could not be listed.
const PAUSE: Duration = Duration::from_millis(500);

/// Keeps leases until the runtime closes.
pub(crate) async fn keep(runtime: Runtime) {
    begin_again(&runtime).await;
    let leases = &runtime.0.workers.leases;
    loop {
        let (due, next) = leases.due(Instant::now(), PAUSE, PAGE);
        if !due.is_empty() {
            futures::stream::iter(due).for_each_concurrent(PARALLEL, |due| expire(&runtime, due)).await;
            continue;
        }
        match next {
            None => leases.sooner().await,
            Some(next) => tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                () = leases.sooner() => {}
            },
        }
    }
}

async fn expire(runtime: &Runtime, due: Due) {
    let account: Arc<str> = due.account.as_str().into();
    let actor = Actor { principal: KEEPER, trace: &Trace::default(), through: None };
    let outcome = runtime
        .execute(&account, &due.session_id, &actor, &Accept::default(), |state: &SessionState, context| {
            expire_lease(state, &due.run_id, due.token, context)
        })
        .await;
    match outcome {
        Ok(_) => {
            tracing::info!(session_id = %due.session_id, run_id = %due.run_id, "a lease ran out");
            runtime.0.workers.leases.settled(&due);
        }
        Err(refusal) => {
            tracing::warn!(run_id = %due.run_id, %refusal, "a lease ran out and that could not be recorded");
            // A trouble of the store passes: the lease stays due and is tried again. Any other refusal would be the same again.
            if !matches!(refusal.code, ErrorCode::Unavailable | ErrorCode::Internal) {
                runtime.0.workers.leases.settled(&due);
            }
        }
    }
}

/// Every lease of the index has its whole time again.
async fn begin_again(runtime: &Runtime) {
    let mut after = None;
    loop {
        let rows = match page(runtime, after.clone()).await {
            Ok(rows) => rows,
            Err(ReadError::Closed) => return,
            Err(error) => {
                tracing::error!(%error, "leases could not be listed");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Some((last, _)) = rows.last() else { return };
        after = Some(last.clone());
        for (key, row) in &rows {
            if let (Some(key), Ok(row)) = (keys::read_lease(key), serde_json::from_slice(row)) {
                runtime.0.workers.leases.begin_again(key, row);
            }
        }
    }
}

async fn page(runtime: &Runtime, after: Option<bytes::Bytes>) -> Result<Vec<(bytes::Bytes, bytes::Bytes)>, ReadError> {
    let prefix = keys::leases().into();
    runtime.0.store.scan(Scan { prefix, after, until: None, direction: Direction::Forward, limit: PAGE }).await
}
