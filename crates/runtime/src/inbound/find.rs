//! How a peer finds its tasks: one by its own id for it, many by what changed last.

use factum_engine::session::tasks::inbound::{InboundContext, InboundRow, keys};
use factum_model::registry::Scope;
use factum_model::value::{OutputRef, Part};
use factum_model::{Refusal, Timestamp};
use factum_store::{Direction, Scan};

use crate::caller::Caller;
use crate::error::read_refusal;
use crate::runtime::Runtime;

/// Which tasks a list is about.
#[derive(Clone, Debug, Default)]
pub struct InboundFilter {
    /// Only this agent's.
    pub agent: Option<String>,
    pub context_id: Option<String>,
    /// Shown like this: the word that the protocol has for how a task stands.
    pub native_status: Option<String>,
    /// Whose status changed at this time or later.
    pub changed_after: Option<Timestamp>,
}

/// A page of tasks, newest change first.
#[derive(Clone, Debug)]
pub struct InboundPage {
    pub rows: Vec<InboundRow>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
    /// How many there are on all pages together.
    pub total: usize,
}

/// What cursors of this list are good for.
const CURSOR: &str = "inbound";

/// How many rows are read at once.
const SCAN_ROWS: usize = 512;

impl Runtime {
    /// A task of the caller's, by the id the caller has for it.
    pub async fn inbound_task(
        &self,
        caller: &Caller,
        protocol: &str,
        remote_task_id: &str,
    ) -> Result<Option<InboundRow>, Refusal> {
        caller.require(Scope::SessionsRead)?;
        self.hear_client(caller, protocol);
        self.row(&keys::task(&caller.account, protocol, &caller.principal, remote_task_id)).await
    }

    /// The caller's tasks. A page costs what its caller has, not what the server has.
    pub async fn inbound_tasks(
        &self,
        caller: &Caller,
        protocol: &str,
        filter: &InboundFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<InboundPage, Refusal> {
        caller.require(Scope::SessionsRead)?;
        self.hear_client(caller, protocol);
        let prefix = keys::all_changed(&caller.account, protocol, &caller.principal);
        let secret = &self.0.secret;
        let after = cursor.map(|cursor| secret.open(CURSOR, &caller.account, cursor)).transpose()?;
        if after.as_ref().is_some_and(|after| !after.starts_with(&prefix)) {
            return Err(Refusal::invalid("this cursor is not one of this list"));
        }
        let (mut rows, mut total) = (Vec::new(), 0);
        let mut scan =
            Scan { prefix: prefix.into(), after: None, until: None, direction: Direction::Forward, limit: SCAN_ROWS };
        loop {
            let found = self.0.store.scan(scan.clone()).await.map_err(|error| read_refusal(&error))?;
            let last = found.len() < SCAN_ROWS;
            for (key, value) in &found {
                let row: InboundRow = serde_json::from_slice(value)
                    .map_err(|error| Refusal::internal(format!("inbound row: {error}")))?;
                if !filter.takes(protocol, &row) {
                    continue;
                }
                total += 1;
                let behind = after.as_ref().is_none_or(|after| key.as_ref() > after.as_slice());
                if behind && rows.len() < limit {
                    rows.push((row, total));
                }
            }
            scan.after = found.last().map(|(key, _)| key.clone());
            if last {
                break;
            }
        }
        let more = rows.last().is_some_and(|(_, at)| *at < total);
        let rows: Vec<InboundRow> = rows.into_iter().map(|(row, _)| row).collect();
        let next = rows.last().filter(|_| more).map(|last| self.inbound_behind(caller, protocol, last));
        Ok(InboundPage { rows, next, total })
    }

    /// Where a page begins that is to go on behind this task.
    pub fn inbound_behind(&self, caller: &Caller, protocol: &str, row: &InboundRow) -> String {
        let key = keys::changed(&caller.account, protocol, &caller.principal, row.status_at, &row.task_id);
        self.0.secret.seal(CURSOR, &caller.account, &key)
    }

    pub(super) async fn inbound_context(
        &self,
        caller: &Caller,
        protocol: &str,
        context_id: &str,
    ) -> Result<Option<InboundContext>, Refusal> {
        self.row(&keys::context(&caller.account, protocol, &caller.principal, context_id)).await
    }
}

impl InboundFilter {
    fn takes(&self, protocol: &str, row: &InboundRow) -> bool {
        self.agent.as_ref().is_none_or(|agent| row.is_of(agent))
            && self.context_id.as_ref().is_none_or(|context_id| *context_id == row.remote_context_id)
            && self.native_status.as_deref().is_none_or(|word| row.native_status(protocol) == Some(word))
            && self.changed_after.is_none_or(|after| row.status_at >= after)
    }
}

impl Runtime {
    /// The bytes of an output of ours, where they are still there.
    pub async fn output_bytes(&self, output: &OutputRef) -> Option<Vec<u8>> {
        let digest = output.r#ref.strip_prefix("blob:sha256:")?.parse().ok()?;
        match self.0.blobs.get(digest).await {
            Ok(bytes) => Some(bytes.into()),
            Err(error) => {
                tracing::warn!(%error, output = output.r#ref, "an output could not be read");
                None
            }
        }
    }

    /// Whether an agent answers this input with a plain message, without a task that its sender could follow.
    pub fn replies_with_message(&self, agent: &str, input: &[Part]) -> bool {
        self.0.agents.get(agent).is_some_and(|agent| agent.replies_with_message(input))
    }
}
