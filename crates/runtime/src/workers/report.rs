//! `report_run`, and the common way of everything a worker says about a run it holds.

use factum_engine::session::SessionState;
use factum_engine::session::workers::{RunRow, keys, report_run};
use factum_engine::{Context, Decision};
use factum_model::commands::{ReportRun, RunResult};
use factum_model::id::{RunId, SessionId};
use factum_model::{Command, Refusal};

use super::late::Report;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::runtime::Runtime;

impl Handle<ReportRun> for Runtime {
    async fn handle(&self, caller: &Caller, command: ReportRun) -> Result<RunResult, Refusal> {
        let (run_id, token) = (&command.run_id, command.lease_token);
        let result = self.say_of_run(caller, run_id, token, &command, report_run).await?;
        // Whoever reports is alive.
        self.0.workers.leases.keep_if_held((caller.account.to_string(), run_id.clone()), token);
        Ok(result)
    }
}

impl Runtime {
    /// Has the engine decide on a report. One that came too late is refused and recorded.
    pub(super) async fn say_of_run<C: Command<Output = RunResult>>(
        &self,
        caller: &Caller,
        run_id: &RunId,
        token: u64,
        command: &C,
        decide: impl FnOnce(&SessionState, &C, &mut Context<'_>) -> Result<Decision<RunResult>, Refusal>,
    ) -> Result<RunResult, Refusal> {
        let session_id = self.session_of_run(caller, run_id).await?;
        let outcome = self.mutate(caller, &session_id, command, decide).await;
        if let Err(refusal) = &outcome {
            let report = Report { command: C::NAME, token };
            self.record_if_late(caller, &session_id, run_id, report, refusal).await;
        }
        outcome
    }

    /// Where a run is, ended ones too.
    pub(super) async fn session_of_run(&self, caller: &Caller, run_id: &RunId) -> Result<SessionId, Refusal> {
        let row = self.0.store.get(&keys::run(&caller.account, run_id)).await.map_err(|error| read_refusal(&error))?;
        let row: RunRow = serde_json::from_slice(&row.ok_or_else(Refusal::not_found)?)
            .map_err(|error| Refusal::internal(format!("run row: {error}")))?;
        Ok(row.session_id)
    }
}
