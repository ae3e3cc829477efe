//! `get_subagent_job_summary`.

use factum_engine::session::SessionState;
use factum_engine::session::subagents::subagent_job_summary;
use factum_model::Refusal;
use factum_model::commands::{GetSubagentJobSummary, GetSubagentJobSummaryResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

const LIMIT_DEFAULT: u32 = 50;
const LIMIT_MAX: u32 = 200;

impl Handle<GetSubagentJobSummary> for Runtime {
    async fn handle(
        &self,
        caller: &Caller,
        command: GetSubagentJobSummary,
    ) -> Result<GetSubagentJobSummaryResult, Refusal> {
        let limit = command.limit.unwrap_or(LIMIT_DEFAULT);
        if limit == 0 || limit > LIMIT_MAX {
            return Err(Refusal::invalid(format!("limit must be 1 to {LIMIT_MAX}")));
        }
        let look = |state: &SessionState| subagent_job_summary(state, limit as usize);
        self.look(&caller.account, &command.session_id, look).await.map(|(summary, _)| summary)
    }
}
