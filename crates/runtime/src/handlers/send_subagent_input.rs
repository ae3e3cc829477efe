//! `send_subagent_input`.

use factum_engine::session::subagents::send_subagent_input;
use factum_model::Refusal;
use factum_model::commands::{SendSubagentInput, SubagentResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<SendSubagentInput> for Runtime {
    async fn handle(&self, caller: &Caller, command: SendSubagentInput) -> Result<SubagentResult, Refusal> {
        let row = self.subagent_row(caller, &command.subagent_id).await?;
        self.mutate(caller, &row.session_id, &command, send_subagent_input).await
    }
}
