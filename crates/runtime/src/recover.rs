//! After a start: carries on every session of the `unfinished` index, a few at a time, and nothing else.

use std::sync::Arc;

use factum_engine::session::{SessionState, keys};
use factum_store::{Direction, Scan};
use futures::StreamExt;

use crate::runtime::Runtime;

/// How many sessions one look at the index lists.
const PAGE: usize = 256;

/// Loads each unfinished session; loading repairs and restarts what it finds.
pub(crate) async fn recover_all(runtime: Runtime) {
    let mut after = None;
    let mut recovered = 0_usize;
    loop {
        let scan = Scan {
            prefix: keys::all_unfinished().into(),
            after: after.clone(),
            until: None,
            direction: Direction::Forward,
            limit: PAGE,
        };
        let rows = match runtime.0.store.scan(scan).await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::error!(%error, "unfinished sessions could not be listed");
                return;
            }
        };
        let Some((last, _)) = rows.last() else { break };
        after = Some(last.clone());
        recovered += rows.len();
        let parallel = runtime.0.shell.recover_parallel;
        futures::stream::iter(rows).for_each_concurrent(parallel, |(key, _)| recover_one(&runtime, key)).await;
    }
    if recovered > 0 {
        tracing::info!(sessions = recovered, "carried on sessions with unfinished work");
    }
}

async fn recover_one(runtime: &Runtime, key: bytes::Bytes) {
    let Some((account, session_id)) = keys::read_unfinished(&key) else { return };
    let account: Arc<str> = account.into();
    let outcome =
        async { runtime.ensure_loaded(&runtime.find::<SessionState>(&account, &session_id).await?).await }.await;
    if let Err(error) = outcome {
        tracing::error!(%account, %session_id, %error, "a session could not be carried on");
    }
}
