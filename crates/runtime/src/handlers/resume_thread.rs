//! `resume_thread`.

use factum_engine::session::resume_thread;
use factum_model::Refusal;
use factum_model::commands::{ResumeThread, ResumeThreadResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<ResumeThread> for Runtime {
    async fn handle(&self, caller: &Caller, command: ResumeThread) -> Result<ResumeThreadResult, Refusal> {
        self.mutate(caller, &command.session_id, &command, resume_thread).await
    }
}
