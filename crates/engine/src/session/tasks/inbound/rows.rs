//! How a peer finds its tasks again: by its own id for one, by its context, and newest change first.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use factum_model::id::{SessionId, TaskId};
use factum_model::task::TaskStatus;
use factum_model::{Event, Fact, Timestamp};
use serde::{Deserialize, Serialize};

use super::links::{Inbound, Link};
use super::tell::native_status;
use crate::few::FewMap;
use crate::key::{IndexChange, Key, row_bytes};
use crate::session::index::put;
use crate::session::state::Shell;

/// The keys. All of them are of one principal: what another one has is a lookup that misses.
pub mod keys {
    use super::*;

    /// A task, by the id its peer has for it.
    pub fn task(account: &str, protocol: &str, principal: &str, remote_task_id: &str) -> Vec<u8> {
        of("inbound", account, protocol, principal).text(&short(remote_task_id)).into_bytes()
    }

    /// The session of a context.
    pub fn context(account: &str, protocol: &str, principal: &str, remote_context_id: &str) -> Vec<u8> {
        of("inbound_context", account, protocol, principal).text(&short(remote_context_id)).into_bytes()
    }

    /// Tasks by when what their peer is shown last changed, newest first.
    pub fn changed(account: &str, protocol: &str, principal: &str, at: Timestamp, task_id: &TaskId) -> Vec<u8> {
        of("inbound_changed", account, protocol, principal).instant_reversed(at).text(task_id.as_str()).into_bytes()
    }

    pub fn all_changed(account: &str, protocol: &str, principal: &str) -> Vec<u8> {
        of("inbound_changed", account, protocol, principal).into_bytes()
    }

    fn of(table: &'static str, account: &str, protocol: &str, principal: &str) -> Key {
        Key::table(table).text(account).text(protocol).text(&short(principal))
    }

    /// Principals and remote ids are free text; where one is long or has a zero byte, its digest stands for it. Otherwise it
    /// stands for itself: ids are mostly made one behind the other, and rows that lie that way are written together.
    fn short(text: &str) -> Cow<'_, str> {
        if text.len() <= PLAIN_BYTES_MAX && !text.contains('\0') {
            return text.into();
        }
        crate::digest::sha256(text.as_bytes()).into()
    }

    /// Shorter than any digest, so that no text can be taken for one.
    const PLAIN_BYTES_MAX: usize = 64;
}

/// A peer's task, as it is found by its remote id or in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InboundRow {
    pub session_id: SessionId,
    pub task_id: TaskId,
    pub remote_task_id: String,
    pub remote_context_id: String,
    /// Who does it. A peer finds it where it finds that agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How its peer is shown it, in the status of ours that says most of it.
    pub status: TaskStatus,
    /// It failed because its agent does not do such things, which its peer may have a word of its own for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// Since when its peer is shown that.
    #[serde(serialize_with = "factum_model::time::serialize")]
    pub status_at: Timestamp,
    /// Its facts begin here.
    pub first_sequence: u64,
    /// The last change of either; the end of its facts where that status is an end.
    pub status_sequence: u64,
}

impl InboundRow {
    /// Whether it is found with this agent. One that was recorded before its agent was is found with any.
    pub fn is_of(&self, agent: &str) -> bool {
        self.agent.as_deref().is_none_or(|own| own == agent)
    }

    /// The word of its peer's protocol that it is shown in, where that is known.
    pub fn native_status(&self, protocol: &str) -> Option<&'static str> {
        native_status(protocol, self.status, self.rejected)
    }
}

/// Where the conversation of a context is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InboundContext {
    pub session_id: SessionId,
}

/// Collects what the events of one commit change.
pub(in crate::session) struct RowDiff {
    before: FewMap<TaskId, Arc<Link>>,
    changed: Vec<TaskId>,
    ended: Vec<Arc<Link>>,
    rejected: BTreeSet<TaskId>,
}

impl RowDiff {
    pub(in crate::session) fn begin(inbound: &Inbound) -> Self {
        Self { before: inbound.open.clone(), changed: Vec::new(), ended: Vec::new(), rejected: BTreeSet::new() }
    }

    /// After each event.
    pub(in crate::session) fn saw(&mut self, inbound: &Inbound, event: &Event) {
        if !inbound.last.ended.is_empty() {
            self.ended.extend_from_slice(&inbound.last.ended);
        }
        // Facts about one task mostly follow each other.
        let changed = inbound.last.changed.as_ref().filter(|task_id| self.changed.last() != Some(task_id));
        self.changed.extend(changed.cloned());
        if let (Fact::TaskFailed(fact), Some(task_id)) = (&event.fact, &event.scope.task_id)
            && fact.error.is_rejection()
        {
            self.rejected.insert(task_id.clone());
        }
    }

    pub(in crate::session) fn end(mut self, inbound: &Inbound, shell: &Shell, changes: &mut Vec<IndexChange>) {
        self.changed.sort_unstable();
        self.changed.dedup();
        let open = self.changed.iter().filter_map(|task_id| inbound.open.get(task_id));
        for link in open.chain(&self.ended) {
            let (account, protocol, principal) = (&shell.account, &link.native_protocol, &link.principal);
            match self.before.get(&link.task_id) {
                // Put again below, under the same key.
                Some(before) if before.status_at == link.status_at => {}
                Some(before) => changes.push(IndexChange::Delete {
                    key: keys::changed(account, protocol, principal, before.status_at, &link.task_id),
                }),
                None => {
                    let key = keys::context(account, protocol, principal, &link.remote_context_id);
                    put(changes, key, &InboundContext { session_id: shell.session_id.clone() });
                }
            }
            // The same under both keys.
            let value = row_bytes(&row(link, self.rejected.contains(&link.task_id), shell));
            let key = keys::task(account, protocol, principal, &link.remote_task_id);
            changes.push(IndexChange::Put { key, value: value.clone() });
            let key = keys::changed(account, protocol, principal, link.status_at, &link.task_id);
            changes.push(IndexChange::Put { key, value });
        }
    }
}

fn row(link: &Link, rejected: bool, shell: &Shell) -> InboundRow {
    InboundRow {
        session_id: shell.session_id.clone(),
        task_id: link.task_id.clone(),
        remote_task_id: link.remote_task_id.to_string(),
        remote_context_id: link.remote_context_id.to_string(),
        agent: link.agent.as_deref().map(str::to_owned),
        status: link.status,
        rejected,
        status_at: link.status_at,
        first_sequence: link.first_sequence,
        status_sequence: link.status_sequence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_peers_choose_meet_in_no_key_and_lie_in_their_order() {
        let long = "x".repeat(256);
        let digest = crate::digest::sha256(long.as_bytes());
        let ids = ["a", "a\0", "a\0b", "sha256:", &long[..64], &long[..65], &long, &digest];
        let keys: BTreeSet<Vec<u8>> = ids.iter().map(|id| keys::task("acme", "a2a", "agent://ann", id)).collect();
        assert_eq!(keys.len(), ids.len());
        let zeros = |key: &Vec<u8>| key.iter().filter(|byte| **byte == 0).count();
        assert!(keys.iter().all(|key| zeros(key) == 5 && key.len() < 200), "{keys:?}");
        let of = |id: &str| keys::context("acme", "a2a", "agent://ann", id);
        assert!(of("01a1ef73-6cd9-7153-8760-419c9dc331b0") < of("01a1ef73-6cd9-7154-8760-419c9dc331b0"));
    }
}
