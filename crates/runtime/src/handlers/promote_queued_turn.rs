//! `promote_queued_turn`.

use factum_engine::session::promote_queued_turn;
use factum_model::Refusal;
use factum_model::commands::{PromoteQueuedTurn, QueueResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<PromoteQueuedTurn> for Runtime {
    async fn handle(&self, caller: &Caller, command: PromoteQueuedTurn) -> Result<QueueResult, Refusal> {
        self.mutate(caller, &command.session_id, &command, promote_queued_turn).await
    }
}
