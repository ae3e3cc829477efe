//! `fail_run`.

use factum_engine::session::workers::fail_run;
use factum_model::Refusal;
use factum_model::commands::{FailRun, RunResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<FailRun> for Runtime {
    async fn handle(&self, caller: &Caller, command: FailRun) -> Result<RunResult, Refusal> {
        self.say_of_run(caller, &command.run_id, command.lease_token, &command, fail_run).await
    }
}
