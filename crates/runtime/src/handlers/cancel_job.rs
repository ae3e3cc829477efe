//! `cancel_job`: finds the session of the job. Cancelling what has ended is answered, not refused.

use factum_engine::session::SessionState;
use factum_engine::session::jobs::cancel_job;
use factum_model::Refusal;
use factum_model::commands::{CancelJob, CancelJobResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<CancelJob> for Runtime {
    async fn handle(&self, caller: &Caller, command: CancelJob) -> Result<CancelJobResult, Refusal> {
        let row = self.job_row(caller, &command.job_id).await?;
        let session_id = &row.record.session_id;
        // Jobs at work are in the state. One that has a row and is not there has ended.
        let ended = async |_| {
            // Shown once it is durable, like any other read.
            self.look(&caller.account, session_id, |_: &SessionState| Ok(())).await?;
            let record = self.job_row(caller, &command.job_id).await?.record;
            Ok(CancelJobResult {
                job_id: record.job_id,
                status: record.status,
                progress: record.progress,
                sequence: record.as_of_sequence,
            })
        };
        self.mutate_unless_ended(caller, session_id, &command, cancel_job, ended).await
    }
}
