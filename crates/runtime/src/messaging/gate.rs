//! The gate in front of channels: who may know that one exists.
//!
//! Seed 002 §10: a private channel does not exist for outsiders. So an outsider's request must take the same way, at the
//! same price, whether the channel is there or not. It does: both are a miss in a cache of those who were let through,
//! and then two misses in the index, and nothing of a channel is loaded before. What a caller may do with a channel
//! they may know of is decided behind the gate, on the channel's own state, and that decision is the one that counts;
//! so an entry here that is out of date lets nobody do anything.

use factum_engine::messaging::keys;
use factum_model::Refusal;
use factum_model::id::MessagingChannelId;
use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use crate::caller::Caller;
use crate::error::read_refusal;
use crate::runtime::Runtime;

/// How many are remembered; when there are more, all are forgotten and looked up again.
const REMEMBERED_MAX: usize = 100_000;

/// Those who were let through lately, by their key in the index.
#[derive(Default)]
pub(crate) struct Gate(Mutex<FxHashSet<Box<[u8]>>>);

impl Gate {
    fn knows(&self, member: &[u8]) -> bool {
        self.0.lock().contains(member)
    }

    fn remember(&self, member: Vec<u8>) {
        let mut known = self.0.lock();
        if known.len() >= REMEMBERED_MAX {
            known.clear();
        }
        known.insert(member.into());
    }

    pub(crate) fn forget(&self, account: &str, principal: &str, channel_id: &MessagingChannelId) {
        self.0.lock().remove(keys::member(account, principal, channel_id).as_slice());
    }
}

impl Runtime {
    /// Lets a caller through to a channel they may know of.
    pub(super) async fn pass_gate(&self, caller: &Caller, channel_id: &MessagingChannelId) -> Result<(), Refusal> {
        let member = keys::member(&caller.account, &caller.principal, channel_id);
        if self.0.gate.knows(&member) {
            return Ok(());
        }
        let public = keys::public(&caller.account, channel_id);
        // Both are always looked up: what is found first must not show in the time.
        let is_member = self.0.store.get(&member).await.map_err(|error| read_refusal(&error))?.is_some();
        let is_public = self.0.store.get(&public).await.map_err(|error| read_refusal(&error))?.is_some();
        if !is_member && !is_public {
            return Err(Refusal::not_found());
        }
        self.0.gate.remember(member);
        Ok(())
    }
}
