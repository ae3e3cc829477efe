//! `respond_action`: finds the session of the action; one that is decided already answers with its first decision.

use factum_engine::session::{ActionRow, keys, respond_action};
use factum_model::commands::{RespondAction, RespondActionResult};
use factum_model::id::ActionId;
use factum_model::{ErrorCode, Refusal};
use serde_json::json;

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::runtime::Runtime;

impl Handle<RespondAction> for Runtime {
    async fn handle(&self, caller: &Caller, command: RespondAction) -> Result<RespondActionResult, Refusal> {
        let row = self.action_row(caller, &command.action_id).await?.ok_or_else(Refusal::not_found)?;
        let outcome = self.mutate(caller, &row.session_id, &command, respond_action).await;
        match outcome {
            // Open actions are in the state. This one has a row and is not open: somebody was first.
            Err(refusal) if refusal.code == ErrorCode::NotFound => {
                let row = self.action_row(caller, &command.action_id).await?.ok_or(refusal)?;
                Err(decided_before(&command.action_id, &row))
            }
            Err(refusal) => {
                let tried = (&command.action_id, command.decision.as_str());
                self.record_if_private(caller, &row.session_id, tried, &refusal).await;
                Err(refusal)
            }
            Ok(output) => Ok(output),
        }
    }
}

impl Runtime {
    async fn action_row(&self, caller: &Caller, action_id: &ActionId) -> Result<Option<ActionRow>, Refusal> {
        let key = keys::action(&caller.account, action_id);
        let row = self.0.store.get(&key).await.map_err(|error| read_refusal(&error))?;
        let row = row.map(|row| serde_json::from_slice(&row)).transpose();
        row.map_err(|error| Refusal::internal(format!("action row: {error}")))
    }
}

fn decided_before(action_id: &ActionId, row: &ActionRow) -> Refusal {
    Refusal::conflict("this action is decided already; the first answer counts")
        .with("action_id", action_id.as_str())
        .with("decision", json!(row.decision))
        .with("resolved_by", json!(row.resolved_by))
        .with("source", json!(row.source))
        .with("sequence", json!(row.sequence))
}
