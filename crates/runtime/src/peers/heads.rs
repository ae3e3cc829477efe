//! The newest sequence of sessions, without bringing them into memory.

use std::sync::Arc;

use factum_engine::peers::Heads;
use factum_engine::session::SessionState;
use factum_model::Refusal;
use factum_model::id::SessionId;

use crate::aggregate::Aggregate;
use crate::error::read_refusal;
use crate::runtime::Runtime;

impl Runtime {
    /// Sessions that do not exist are left out.
    pub(super) async fn heads(
        &self,
        account: &Arc<str>,
        sessions: impl IntoIterator<Item = SessionId>,
    ) -> Result<Heads, Refusal> {
        let mut heads = Heads::new();
        for session_id in sessions {
            let stream = SessionState::stream(account, &session_id);
            let head = match SessionState::cells(self).get(&stream).map(|cell| cell.hub.durable()) {
                // One that nothing is durable of may be about to begin, or may not be loaded.
                Some(durable) if durable > 0 => Some(durable),
                _ => {
                    let head = self.0.store.head(&stream).await.map_err(|error| read_refusal(&error))?;
                    head.map(|head| head.sequence)
                }
            };
            heads.extend(head.map(|head| (session_id, head)));
        }
        Ok(heads)
    }

    /// Refuses sessions that are not there.
    pub(super) async fn require_sessions(&self, account: &Arc<str>, sessions: &[SessionId]) -> Result<(), Refusal> {
        let heads = self.heads(account, sessions.iter().cloned()).await?;
        if sessions.iter().all(|session_id| heads.contains_key(session_id)) {
            return Ok(());
        }
        Err(Refusal::not_found())
    }
}
