//! The runtime's own stream: starts, API keys, and the keyed commands about them.

use std::collections::HashMap;

use factum_engine::access::{self, KeyRow, RUNTIME_PARTITION};
use factum_engine::{IndexChange, Key};
use factum_model::{Event, Fact};
use factum_store::StoredCommit;
use serde::Serialize;

use super::{compare, stored_key};

/// Every key there was, by its hash: what a revocation needs.
#[derive(Default)]
pub(super) struct RuntimeStream {
    keys: HashMap<String, KeyRow>,
    epoch: u64,
}

/// The row of `runtime.started`.
#[derive(Serialize)]
struct Row<'a> {
    runtime_id: &'a str,
    epoch: u64,
}

impl RuntimeStream {
    /// What in the commit is not as its events make it.
    pub(super) fn wrong(&mut self, commit: &StoredCommit, events: &[Event]) -> Vec<(u64, String)> {
        let mut wrong = Vec::new();
        if &*commit.partition != RUNTIME_PARTITION {
            wrong.push((commit.first_sequence, format!("it is in the partition {}", commit.partition)));
        }
        let mut made = Vec::new();
        for event in events {
            if let Fact::RuntimeStarted(fact) = &event.fact {
                if fact.epoch != self.epoch + 1 {
                    wrong.push((event.sequence, format!("start {} follows start {}", fact.epoch, self.epoch)));
                }
                self.epoch = fact.epoch;
            }
            made.extend(self.changes(event, account_of(events)));
        }
        // A repeat of something that changed nothing records no account, so its row cannot be made again.
        let unknown_account = account_of(events).is_none();
        let comparable = |change: &&factum_store::IndexChange| !(unknown_account && is_idempotency(change));
        let stored: Vec<_> = commit.index.iter().filter(comparable).cloned().collect();
        wrong.extend(compare(&stored, &made).map(|what| (commit.first_sequence, what)));
        wrong
    }

    fn changes(&mut self, event: &Event, account: Option<&str>) -> Vec<IndexChange> {
        let known = match &event.fact {
            Fact::ApiKeyRevoked(fact) => self.keys.get(&fact.hash).cloned(),
            _ => None,
        };
        let mut changes: Vec<IndexChange> =
            account.and_then(|account| access::idempotency(account, event)).into_iter().collect();
        changes.extend(access::index(event, known.as_ref()));
        if let Fact::RuntimeStarted(fact) = &event.fact {
            let row = Row { runtime_id: event.runtime_id.as_str(), epoch: fact.epoch };
            let value = serde_json::to_vec(&row).unwrap_or_default();
            changes.push(IndexChange::Put { key: Key::table("runtime").into_bytes(), value });
        }
        for change in &changes {
            if let IndexChange::Put { value, .. } = change
                && let Ok(row) = serde_json::from_slice::<KeyRow>(value)
            {
                self.keys.insert(row.hash.clone(), row);
            }
        }
        changes
    }
}

/// The account a commit about keys belongs to.
fn account_of(events: &[Event]) -> Option<&str> {
    events.iter().find_map(|event| match &event.fact {
        Fact::ApiKeyCreated(fact) => Some(fact.account.as_str()),
        Fact::ApiKeyRevoked(fact) => Some(fact.account.as_str()),
        _ => None,
    })
}

fn is_idempotency(change: &factum_store::IndexChange) -> bool {
    stored_key(change).starts_with(&Key::table("idempotency").into_bytes())
}
