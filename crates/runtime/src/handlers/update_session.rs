//! `update_session`.

use factum_engine::session::update_session;
use factum_model::Refusal;
use factum_model::commands::{UpdateSession, UpdateSessionResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<UpdateSession> for Runtime {
    async fn handle(&self, caller: &Caller, command: UpdateSession) -> Result<UpdateSessionResult, Refusal> {
        self.mutate(caller, &command.session_id, &command, update_session).await
    }
}
