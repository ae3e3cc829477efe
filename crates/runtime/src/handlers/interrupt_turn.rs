//! `interrupt_turn`.

use factum_engine::session::interrupt_turn;
use factum_model::Refusal;
use factum_model::commands::{InterruptTurn, InterruptTurnResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<InterruptTurn> for Runtime {
    async fn handle(&self, caller: &Caller, command: InterruptTurn) -> Result<InterruptTurnResult, Refusal> {
        self.mutate(caller, &command.session_id, &command, interrupt_turn).await
    }
}
