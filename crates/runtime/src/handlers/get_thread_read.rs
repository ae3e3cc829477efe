//! `get_thread_read`: the current state of a thread, or the state as of an older sequence.

use factum_engine::session::{SessionState, thread_read_model};
use factum_model::Refusal;
use factum_model::commands::GetThreadRead;
use factum_model::id::SessionId;
use factum_model::read::ThreadReadModel;

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<GetThreadRead> for Runtime {
    async fn handle(&self, caller: &Caller, command: GetThreadRead) -> Result<ThreadReadModel, Refusal> {
        let read = |state: &SessionState| thread_read_model(state, command.thread_id.as_ref());
        self.look_as_of(caller, &command.session_id, command.as_of, read).await
    }
}

impl Runtime {
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
