//! `remove_queued_turn`.

use factum_engine::session::remove_queued_turn;
use factum_model::Refusal;
use factum_model::commands::{QueueResult, RemoveQueuedTurn};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<RemoveQueuedTurn> for Runtime {
    async fn handle(&self, caller: &Caller, command: RemoveQueuedTurn) -> Result<QueueResult, Refusal> {
        self.mutate(caller, &command.session_id, &command, remove_queued_turn).await
    }
}
