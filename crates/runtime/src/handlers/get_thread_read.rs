//! `get_thread_read`: the current state of a thread, or the state as of an older sequence.

use factum_engine::session::{SessionState, left_thread_key, thread_read_model};
use factum_model::commands::GetThreadRead;
use factum_model::id::{SessionId, ThreadId};
use factum_model::read::ThreadReadModel;
use factum_model::{ErrorCode, Refusal};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<GetThreadRead> for Runtime {
    async fn handle(&self, caller: &Caller, command: GetThreadRead) -> Result<ThreadReadModel, Refusal> {
        let read = |state: &SessionState| thread_read_model(state, command.thread_id.as_ref());
        match self.look_as_of(caller, &command.session_id, command.as_of, read).await {
            Err(refusal) if refusal.code == ErrorCode::NotFound => {
                self.left_thread(caller, &command.session_id, command.thread_id.as_ref(), command.as_of).await
            }
            seen => seen,
        }
    }
}

impl Runtime {
    /// What is known of a thread that is not among the session's any more, since its work was over long ago.
    pub(super) async fn left_thread(
        &self,
        caller: &Caller,
        session_id: &SessionId,
        thread_id: Option<&ThreadId>,
        as_of: Option<u64>,
    ) -> Result<ThreadReadModel, Refusal> {
        // What was looked at is durable, so its row is there if the thread has left.
        let (newest, _) = self.look(&caller.account, session_id, |state: &SessionState| Ok(state.sequence)).await?;
        let thread_id = thread_id.ok_or_else(Refusal::not_found)?;
        let row: Option<ThreadReadModel> = self.row(&left_thread_key(&caller.account, session_id, thread_id)).await?;
        let as_of_sequence = as_of.unwrap_or(newest);
        let row = row.filter(|row| row.as_of_sequence <= as_of_sequence).ok_or_else(Refusal::not_found)?;
        Ok(ThreadReadModel { as_of_sequence, ..row })
    }

    /// Looks at the newest state, or at one folded up to an older sequence.
    pub(super) async fn look_as_of<T>(
        &self,
        caller: &Caller,
        session_id: &SessionId,
        as_of: Option<u64>,
        read: impl Fn(&SessionState) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let Some(as_of) = as_of else {
            return self.look(&caller.account, session_id, read).await.map(|(seen, _)| seen);
        };
        let (newest, cell) = self.look(&caller.account, session_id, |state: &SessionState| Ok(state.sequence)).await?;
        if as_of == 0 || as_of > newest {
            return Err(Refusal::invalid(format!("as_of must be 1 to {newest}")).with("newest_sequence", newest));
        }
        let (state, _) = self.fold(&cell.stream, as_of).await?;
        read(&state)
    }
}
