//! The keeper of leases: one task that sleeps until the next one runs out, and has the engine record what follows.

use std::sync::Arc;

use factum_engine::session::SessionState;
use factum_engine::session::workers::{LATE_REPORT, expire_lease, keys};
use factum_model::{ErrorCode, Refusal, Trace};
use factum_store::{Direction, ReadError, Scan};
use futures::StreamExt;
use tokio::time::Instant;

use super::leases::Due;
use crate::commit::{Accept, Actor};
use crate::pauses;
use crate::runtime::Runtime;

/// Who acts when a lease runs out.
const KEEPER: &str = "runtime://leases";
/// How many rows one look at the index lists, and how many leases end together.
const PAGE: usize = 256;
/// How many are recorded at the same time.
const PARALLEL: usize = 32;

/// Keeps leases until the runtime closes.
pub(crate) async fn keep(runtime: Runtime) {
    begin_again(&runtime).await;
    let leases = &runtime.0.workers.leases;
    loop {
        let (due, next) = leases.due(Instant::now(), PAGE);
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
        // Nobody holds it any more.
        Err(refusal) if is_over(&refusal) => runtime.0.workers.leases.settled(&due),
        // It stays due and is tried again, for as long as it takes. Said once.
        Err(refusal) if due.tries == 0 => {
            tracing::error!(session_id = %due.session_id, run_id = %due.run_id, %refusal, "a lease ran out and that could not be recorded; it is tried again");
        }
        Err(_) => {}
    }
}

/// Whether there is no such lease: its run ended or is held otherwise, or its session is not there.
fn is_over(refusal: &Refusal) -> bool {
    let cause = refusal.details.get("cause").and_then(|cause| cause.as_str());
    refusal.code == ErrorCode::NotFound || cause == Some(LATE_REPORT)
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
                tokio::time::sleep(pauses::FIRST).await;
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
