//! The mutations of one task that need nothing but its row.

use factum_engine::session::tasks::*;
use factum_model::commands::*;
use factum_model::{Command, Refusal};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<StartTask> for Runtime {
    async fn handle(&self, caller: &Caller, command: StartTask) -> Result<StartTaskResult, Refusal> {
        self.require_peer_of(command.worker.as_deref())?;
        let named = [command.task_id.clone()];
        self.mutate_task(caller, &named, &command, start_task).await
    }
}

macro_rules! mutations {
    ($($command:ident = $decide:ident;)*) => {$(
        impl Handle<$command> for Runtime {
            async fn handle(&self, caller: &Caller, command: $command) -> Result<<$command as Command>::Output, Refusal> {
                let named = [command.task_id.clone()];
                self.mutate_task(caller, &named, &command, $decide).await
            }
        }
    )*};
}

mutations! {
    UpdateTask = update_task;
    AppendTaskProgress = append_task_progress;
    PauseTask = pause_task;
    ResumeTask = resume_task;
    CancelTask = cancel_task;
    RetryTask = retry_task;
    CompleteTask = complete_task;
    FailTask = fail_task;
}
