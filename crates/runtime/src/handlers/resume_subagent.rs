//! `resume_subagent`.

use factum_engine::session::subagents::resume_subagent;
use factum_model::Refusal;
use factum_model::commands::{ResumeSubagent, SubagentResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<ResumeSubagent> for Runtime {
    async fn handle(&self, caller: &Caller, command: ResumeSubagent) -> Result<SubagentResult, Refusal> {
        let row = self.subagent_row(caller, &command.subagent_id).await?;
        self.mutate(caller, &row.session_id, &command, resume_subagent).await
    }
}
