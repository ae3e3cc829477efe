//! `close_subagent`.

use factum_engine::Context;
use factum_engine::session::SessionState;
use factum_engine::session::subagents::close_subagent;
use factum_model::Refusal;
use factum_model::commands::{CloseSubagent, SubagentResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<CloseSubagent> for Runtime {
    async fn handle(&self, caller: &Caller, command: CloseSubagent) -> Result<SubagentResult, Refusal> {
        let row = self.subagent_row(caller, &command.subagent_id).await?;
        let decide = |state: &SessionState, command: &CloseSubagent, context: &mut Context<'_>| {
            close_subagent(state, &row, command, context)
        };
        self.mutate(caller, &row.session_id, &command, decide).await
    }
}
