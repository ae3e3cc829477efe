//! What the handlers of child agents share: finding one by its id, and its record wherever it is.

use factum_engine::session::SessionState;
use factum_engine::session::subagents::{SubagentRow, keys, subagent_record};
use factum_model::Refusal;
use factum_model::id::{SessionId, SubagentId};
use factum_model::subagent::SubagentRecord;

use crate::caller::Caller;
use crate::error::read_refusal;
use crate::runtime::Runtime;

impl Runtime {
    /// Where a child agent is. One that is not in the caller's account is not there.
    pub(super) async fn subagent_row(&self, caller: &Caller, id: &SubagentId) -> Result<SubagentRow, Refusal> {
        self.find_subagent_row(caller, id).await?.ok_or_else(Refusal::not_found)
    }

    pub(super) async fn find_subagent_row(
        &self,
        caller: &Caller,
        id: &SubagentId,
    ) -> Result<Option<SubagentRow>, Refusal> {
        let row = self.0.store.get(&keys::subagent(&caller.account, id)).await.map_err(|error| read_refusal(&error))?;
        let row = row.map(|row| serde_json::from_slice(&row)).transpose();
        row.map_err(|error| Refusal::internal(format!("row of a child agent: {error}")))
    }

    /// The records of child agents of one session, in this order, and the sequence they are as of.
    pub(super) async fn subagent_records(
        &self,
        caller: &Caller,
        session_id: &SessionId,
        ids: &[SubagentId],
    ) -> Result<(Vec<SubagentRecord>, u64), Refusal> {
        let look = |state: &SessionState| {
            let open: Vec<_> = ids.iter().map(|id| subagent_record(state, id)).collect();
            Ok((open, state.sequence))
        };
        let ((open, sequence), _) = self.look(&caller.account, session_id, look).await?;
        let mut records = Vec::with_capacity(ids.len());
        for (id, open) in ids.iter().zip(open) {
            records.push(match open {
                Some(record) => record,
                // Not open any more, and what was looked at is durable: its row has what became of it.
                None => self.subagent_row(caller, id).await?.record.ok_or_else(Refusal::not_found)?,
            });
        }
        Ok((records, sequence))
    }
}
