//! `release_run`.

use factum_engine::session::workers::release_run;
use factum_model::Refusal;
use factum_model::commands::{ReleaseRun, RunResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<ReleaseRun> for Runtime {
    async fn handle(&self, caller: &Caller, command: ReleaseRun) -> Result<RunResult, Refusal> {
        self.say_of_run(caller, &command.run_id, command.lease_token, &command, release_run).await
    }
}
