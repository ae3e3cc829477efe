//! `complete_run`.

use factum_engine::session::workers::complete_run;
use factum_model::Refusal;
use factum_model::commands::{CompleteRun, RunResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<CompleteRun> for Runtime {
    async fn handle(&self, caller: &Caller, command: CompleteRun) -> Result<RunResult, Refusal> {
        self.say_of_run(caller, &command.run_id, command.lease_token, &command, complete_run).await
    }
}
