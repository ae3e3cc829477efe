//! `channels/presence`: who follows a channel right now. Kept in memory only, and gone with the process: presence is no fact.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use factum_engine::messaging::{ChannelState, Operation, allow};
use factum_model::commands::{GetChannelPresence, GetChannelPresenceResult, PresentPrincipal};
use factum_model::messaging::PresenceState;
use factum_model::{Refusal, Timestamp};
use parking_lot::Mutex;
use tokio::sync::broadcast;

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

/// How many changes a stream may be behind before it misses some. It hears what is new, never what is wrong.
const CHANGES_MAX: usize = 64;

/// Who follows one channel.
#[derive(Default)]
pub(crate) struct Presence {
    inner: Mutex<Inner>,
    /// How often somebody was taken out, or all were with the channel. A stream that has seen the number need not ask again.
    cuts: AtomicU64,
}

#[derive(Default)]
struct Inner {
    present: BTreeMap<Arc<str>, Present>,
    /// Made when the first stream asks for it.
    changes: Option<broadcast::Sender<Change>>,
}

#[derive(Clone, Copy)]
struct Present {
    streams: u32,
    since: Timestamp,
}

/// Somebody came or went.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) principal: Arc<str>,
    pub(super) state: PresenceState,
    pub(super) at: Timestamp,
}

impl Presence {
    /// Somebody was taken out, and it is durable.
    pub(super) fn cut(&self) {
        self.cuts.fetch_add(1, Ordering::Release);
    }

    pub(super) fn cuts(&self) -> u64 {
        self.cuts.load(Ordering::Acquire)
    }

    pub(super) fn enter(&self, principal: &Arc<str>, now: Timestamp) {
        let mut inner = self.inner.lock();
        let present = inner.present.entry(principal.clone()).or_insert(Present { streams: 0, since: now });
        present.streams += 1;
        if present.streams == 1 {
            inner.tell(principal, PresenceState::Online, now);
        }
    }

    pub(super) fn leave(&self, principal: &Arc<str>, now: Timestamp) {
        let mut inner = self.inner.lock();
        let Some(present) = inner.present.get_mut(principal) else { return };
        present.streams -= 1;
        if present.streams == 0 {
            inner.present.remove(principal);
            inner.tell(principal, PresenceState::Offline, now);
        }
    }

    /// Hears of everybody who comes or goes from now on.
    pub(super) fn changes(&self) -> broadcast::Receiver<Change> {
        let mut inner = self.inner.lock();
        inner.changes.get_or_insert_with(|| broadcast::channel(CHANGES_MAX).0).subscribe()
    }

    fn list(&self) -> Vec<PresentPrincipal> {
        let line = |(principal, present): (&Arc<str>, &Present)| PresentPrincipal {
            principal_id: principal.to_string(),
            streams: present.streams,
            since: present.since.as_millisecond(),
        };
        self.inner.lock().present.iter().map(line).collect()
    }
}

impl Inner {
    fn tell(&self, principal: &Arc<str>, state: PresenceState, at: Timestamp) {
        if let Some(changes) = &self.changes {
            drop(changes.send(Change { principal: principal.clone(), state, at }));
        }
    }
}

impl Handle<GetChannelPresence> for Runtime {
    async fn handle(&self, caller: &Caller, command: GetChannelPresence) -> Result<GetChannelPresenceResult, Refusal> {
        let channel_id = self.target_to_read(caller, command.channel_id.as_ref(), command.peer.as_deref()).await?;
        let may = |state: &ChannelState| allow(state, &caller.principal, Operation::Presence);
        let ((), cell) = self.look(&caller.account, &channel_id, may).await?;
        let listed = cell.work.list();
        // The stream of somebody who was taken out ends when its client next reads; nobody else need see it until then.
        let stay = |state: &ChannelState| {
            let stays = |one: &&PresentPrincipal| allow(state, &one.principal_id, Operation::Stream).is_ok();
            Ok(listed.iter().filter(stays).cloned().collect())
        };
        let (present, _) = self.look(&caller.account, &channel_id, stay).await?;
        Ok(GetChannelPresenceResult { channel_id, present })
    }
}
