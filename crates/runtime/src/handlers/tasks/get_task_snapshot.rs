//! `get_task_snapshot`: what goes on among the tasks of a session.

use factum_engine::session::SessionState;
use factum_engine::session::tasks::task_snapshot;
use factum_model::Refusal;
use factum_model::commands::GetTaskSnapshot;
use factum_model::read::TaskSnapshot;

use super::list_tasks::page_limit;
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<GetTaskSnapshot> for Runtime {
    async fn handle(&self, caller: &Caller, command: GetTaskSnapshot) -> Result<TaskSnapshot, Refusal> {
        let limit = page_limit(command.limit)?;
        if let Some(root) = &command.root_task_id {
            let row = self.task_row(caller, root).await?;
            row.filter(|row| row.session_id == command.session_id).ok_or_else(Refusal::not_found)?;
        }
        let read = |state: &SessionState| task_snapshot(state, command.root_task_id.as_ref(), limit);
        self.look(&caller.account, &command.session_id, read).await.map(|(snapshot, _)| snapshot)
    }
}
