//! `heartbeat_run`: moves a deadline. Nothing is written, and the answer says what the worker should know.

use std::time::Duration;

use factum_engine::session::SessionState;
use factum_engine::session::workers::{LeaseRow, holder, not_held};
use factum_model::Refusal;
use factum_model::commands::{HeartbeatRun, HeartbeatRunResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<HeartbeatRun> for Runtime {
    async fn handle(&self, caller: &Caller, command: HeartbeatRun) -> Result<HeartbeatRunResult, Refusal> {
        let HeartbeatRun { run_id, lease_token: token, idempotency_key: _ } = command;
        let session_id = self.session_of_run(caller, &run_id).await?;
        let look = |state: &SessionState| {
            let held =
                holder(state, &run_id).filter(|held| held.lease.token == token && *held.worker == *caller.principal);
            held.map(|held| (held, state.sequence)).ok_or_else(|| not_held(&run_id))
        };
        let ((held, sequence), _) = self.look(&caller.account, &session_id, look).await?;
        let lease_ms = held.lease.lease_ms;
        let key = (caller.account.to_string(), run_id.clone());
        if !self.0.workers.leases.keep(key, LeaseRow { session_id, token, lease_ms }) {
            return Err(not_held(&run_id));
        }
        let lease_expires_at = self.now().checked_add(Duration::from_millis(lease_ms)).unwrap_or(self.now());
        let (cancel_requested, paused) = (held.cancel_requested, held.paused);
        Ok(HeartbeatRunResult { run_id, lease_expires_at, cancel_requested, paused, sequence })
    }
}
