//! Who an account knows: those whom the id of a direct channel may mean.
//!
//! The id of a direct channel is a hash of its two principals (seed 002 §5) and names neither. Whoever uses one for the
//! first time by its id alone says who they are, and the other one has to be found: among those who have called since the
//! start, who are in a channel of the account, and who have an API key. Members and keys are in the index, so they are known
//! again after a restart; callers are remembered in memory only.
//!
//! Only asked about an id that the gate let nobody through with, so channels that are there pay nothing for it. Somebody who
//! is neither of the two goes the whole way and finds nobody, whether the channel is there or not.

use std::sync::Arc;

use bytes::Bytes;
use factum_engine::access::{self, KeyRow};
use factum_engine::messaging::{DirectId, keys};
use factum_model::Refusal;
use factum_model::id::MessagingChannelId;
use factum_store::{Direction, Scan};
use parking_lot::RwLock;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::caller::Caller;
use crate::error::read_refusal;
use crate::runtime::Runtime;

/// How many principals of one account are known at most: so many are compared with an id. Whoever comes later is reached by
/// `peer`.
const ACCOUNT_PRINCIPALS_MAX: usize = 10_000;
/// How many are known in all; when there are more, all are forgotten and looked up again.
const PRINCIPALS_MAX: usize = 100_000;
/// How many rows of the index are read at a time.
const PAGE_ROWS: usize = 256;

/// Those who are known, by account.
#[derive(Default)]
pub(crate) struct Principals(RwLock<Known>);

#[derive(Default)]
struct Known {
    accounts: FxHashMap<Arc<str>, Account>,
    count: usize,
}

#[derive(Default)]
struct Account {
    principals: FxHashSet<Arc<str>>,
    /// Whether those in the index are among them.
    loaded: bool,
}

impl Principals {
    /// Somebody of this account was seen.
    pub(crate) fn meet(&self, account: &Arc<str>, principal: &str) {
        if self.0.read().accounts.get(account).is_some_and(|known| known.has(principal)) {
            return;
        }
        let mut known = self.0.write();
        if known.count >= PRINCIPALS_MAX {
            *known = Known::default();
        }
        let account = known.accounts.entry(account.clone()).or_default();
        if account.principals.len() < ACCOUNT_PRINCIPALS_MAX && account.principals.insert(principal.into()) {
            known.count += 1;
        }
    }

    /// Those in the index, once.
    fn learn(&self, account: &Arc<str>, principals: Vec<String>) {
        let mut known = self.0.write();
        let account = known.accounts.entry(account.clone()).or_default();
        let before = account.principals.len();
        let room = ACCOUNT_PRINCIPALS_MAX.saturating_sub(before);
        let new = principals.into_iter().map(Arc::from).filter(|principal| !account.principals.contains(principal));
        let new: Vec<Arc<str>> = new.take(room).collect();
        account.principals.extend(new);
        account.loaded = true;
        known.count += account.principals.len() - before;
    }

    fn is_loaded(&self, account: &str) -> bool {
        self.0.read().accounts.get(account).is_some_and(|known| known.loaded)
    }

    /// The one whose direct channel with `principal` this is.
    fn peer(&self, account: &str, principal: &str, id: DirectId) -> Option<String> {
        let known = self.0.read();
        let principals = &known.accounts.get(account)?.principals;
        principals.iter().find(|other| id.is_of(principal, other)).map(|peer| peer.to_string())
    }
}

impl Account {
    /// A full account is said to have everybody: nobody is added to it any more.
    fn has(&self, principal: &str) -> bool {
        self.principals.contains(principal) || self.principals.len() >= ACCOUNT_PRINCIPALS_MAX
    }
}

impl Runtime {
    /// Remembers that somebody has called, for those who will look for them by the id of a direct channel.
    pub fn meet(&self, caller: &Caller) {
        self.0.principals.meet(&caller.account, &caller.principal);
    }

    /// The other one of the two whose direct channel this would be, if the caller is one of them.
    pub(super) async fn peer_of(
        &self,
        caller: &Caller,
        channel_id: &MessagingChannelId,
    ) -> Result<Option<String>, Refusal> {
        let Some(id) = DirectId::read(channel_id) else { return Ok(None) };
        let account = &caller.account;
        if !self.0.principals.is_loaded(account) {
            let mut principals = self.members_in(account).await?;
            principals.extend(self.key_holders_of(account).await?);
            self.0.principals.learn(account, principals);
        }
        Ok(self.0.principals.peer(account, &caller.principal, id))
    }

    /// Everybody who is in a channel. From one to the next: the channels of one may be many.
    async fn members_in(&self, account: &str) -> Result<Vec<String>, Refusal> {
        let (mut members, mut after): (Vec<String>, _) = (Vec::new(), None);
        while members.len() < ACCOUNT_PRINCIPALS_MAX {
            let rows = self.rows_behind(keys::members_in(account), after).await?;
            members.extend(rows.iter().filter_map(|(key, _)| keys::read_member_principal(key)).map(str::to_owned));
            members.dedup();
            let Some(last) = members.last().filter(|_| rows.len() == PAGE_ROWS) else { break };
            after = Some(keys::behind_members_of(account, last));
        }
        Ok(members)
    }

    /// Everybody who has or had an API key.
    async fn key_holders_of(&self, account: &str) -> Result<Vec<String>, Refusal> {
        let (mut holders, mut after) = (Vec::new(), None);
        while holders.len() < ACCOUNT_PRINCIPALS_MAX {
            let rows = self.rows_behind(access::keys_of(account), after).await?;
            let rows_of_keys = rows.iter().filter_map(|(_, row)| serde_json::from_slice::<KeyRow>(row).ok());
            holders.extend(rows_of_keys.map(|row| row.principal));
            let Some((last, _)) = rows.last().filter(|_| rows.len() == PAGE_ROWS) else { break };
            after = Some(last.to_vec());
        }
        Ok(holders)
    }

    async fn rows_behind(&self, prefix: Vec<u8>, after: Option<Vec<u8>>) -> Result<Vec<(Bytes, Bytes)>, Refusal> {
        let scan = Scan {
            prefix: prefix.into(),
            after: after.map(Bytes::from),
            until: None,
            direction: Direction::Forward,
            limit: PAGE_ROWS,
        };
        self.0.store.scan(scan).await.map_err(|error| read_refusal(&error))
    }
}
