//! `get_queue`: the turns that wait in a thread.

use factum_engine::session::{SessionState, queue_snapshot};
use factum_model::commands::GetQueue;
use factum_model::read::QueueSnapshot;
use factum_model::{ErrorCode, Refusal};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<GetQueue> for Runtime {
    async fn handle(&self, caller: &Caller, command: GetQueue) -> Result<QueueSnapshot, Refusal> {
        let read = |state: &SessionState| queue_snapshot(state, command.thread_id.as_ref());
        let (session_id, as_of) = (&command.session_id, command.as_of);
        match self.look_as_of(caller, session_id, as_of, read).await {
            Err(refusal) if refusal.code == ErrorCode::NotFound => {
                let thread = self.left_thread(caller, session_id, command.thread_id.as_ref(), as_of).await?;
                Ok(QueueSnapshot {
                    session_id: thread.session_id,
                    thread_id: thread.thread_id,
                    status: thread.status,
                    active_turn_id: None,
                    queued_turns: Vec::new(),
                    as_of_sequence: thread.as_of_sequence,
                })
            }
            seen => seen,
        }
    }
}
