//! `retry_job_item`: reads what became of the item and what it is about, then lets the session take it up again.

use factum_engine::Context;
use factum_engine::session::SessionState;
use factum_engine::session::jobs::{EndedItem, keys, never_begun, retry_job_item};
use factum_model::Refusal;
use factum_model::commands::{RetryJobItem, RetryJobItemResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

impl Handle<RetryJobItem> for Runtime {
    async fn handle(&self, caller: &Caller, command: RetryJobItem) -> Result<RetryJobItemResult, Refusal> {
        let mut accept = match self.repeat(caller, &command, None).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        let key = keys::job(&caller.account, &command.job_id);
        let session_id = self.job_row(caller, &command.job_id).await?.record.session_id;
        // Nothing else brings back a job or an item that has ended. So what is read below stays true until this is durable.
        accept.hold(self.0.keyed.lock(vec![key]).await);
        self.look(&caller.account, &session_id, |_: &SessionState| Ok(())).await?;
        let row = self.job_row(caller, &command.job_id).await?;
        let created = self.job_created(caller, &row).await?;
        let at = created.items.iter().position(|input| input.job_item_id == command.job_item_id);
        let at = at.ok_or_else(Refusal::not_found)?;
        let (input, number) = (&created.items[at], at as u64 + 1);
        let item = self.row(&keys::item(&caller.account, &command.job_id, number)).await?;
        let item = item.unwrap_or_else(|| never_begun(&row.record, input, number));
        let ended = EndedItem {
            record: &row.record,
            created_sequence: row.created_sequence,
            created: &created,
            input,
            item: &item,
        };
        let rows = self.task_rows(caller, row.record.task_id.as_slice()).await?;
        let actor = caller.actor();
        let decide =
            |state: &SessionState, context: &mut Context<'_>| retry_job_item(state, &ended, &rows, &command, context);
        let (output, _) = self.execute(&caller.account, &session_id, &actor, &accept, decide).await?;
        Ok(output)
    }
}
