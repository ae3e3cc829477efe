//! `get_queue`: the turns that wait in a thread.

use factum_engine::session::{SessionState, queue_snapshot};
use factum_model::Refusal;
use factum_model::commands::GetQueue;
use factum_model::read::QueueSnapshot;

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<GetQueue> for Runtime {
    async fn handle(&self, caller: &Caller, command: GetQueue) -> Result<QueueSnapshot, Refusal> {
        let read = |state: &SessionState| queue_snapshot(state, command.thread_id.as_ref());
        self.look_as_of(caller, &command.session_id, command.as_of, read).await
    }
}
