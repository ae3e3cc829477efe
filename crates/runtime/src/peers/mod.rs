//! Remote channels (seed 000): how the peers that enrolled are hosted. What a peer may say of itself is decided in
//! `engine::peers`; what workers do with their enrollment is in `workers`.

mod enroll;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use factum_engine::IndexChange;
use factum_engine::peers::{PeerState, apply, apply_commit, partition_name, stream_name};
use factum_model::id::ChannelId;
use factum_model::{Event, Scope, Timestamp};

use crate::aggregate::{Aggregate, Recover};
use crate::cell::Cell;
use crate::cells::Cells;
use crate::options::ShellLimits;
use crate::runtime::Runtime;

impl Aggregate for PeerState {
    type Id = ChannelId;
    type Work = Turn;

    fn stream(account: &str, channel_id: &ChannelId) -> Arc<str> {
        stream_name(account, channel_id).into()
    }

    fn partition(account: &Arc<str>) -> Arc<str> {
        partition_name(account).into()
    }

    fn cells(runtime: &Runtime) -> &Cells<Self> {
        &runtime.0.peers
    }

    fn scope(channel_id: &ChannelId) -> Scope {
        Scope::default().channel_id(channel_id)
    }

    fn sequence(&self) -> u64 {
        self.sequence
    }

    fn exists(&self) -> bool {
        self.peer.is_some()
    }

    fn updated_at(&self) -> Option<Timestamp> {
        self.peer.as_ref().map(|peer| peer.updated_at)
    }

    fn apply(&mut self, event: &Event) {
        apply(self, event);
    }

    fn apply_commit(&mut self, events: &[Event]) -> Vec<IndexChange> {
        apply_commit(self, events)
    }

    fn snapshot_events(&self, limits: &ShellLimits) -> u64 {
        limits.snapshot_events
    }

    /// Nothing of a peer is ever half done.
    fn recover(&self) -> Option<Recover<Self>> {
        None
    }

    fn committed(_: &Runtime, _: &Arc<Cell<Self>>, _: &Arc<Vec<Event>>) {}

    fn is_quiet(_: &Turn) -> bool {
        true
    }
}

/// Which of its queues a worker is served from next. Forgetting it costs nothing but the place in the round.
pub(crate) struct Turn(AtomicUsize);

/// Where the next worker begins its round, so that workers that come together do not all begin with the same queue.
static NEXT: AtomicUsize = AtomicUsize::new(0);

impl Default for Turn {
    fn default() -> Self {
        Self(AtomicUsize::new(NEXT.fetch_add(1, Ordering::Relaxed)))
    }
}

impl Turn {
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, turn: usize) {
        self.0.store(turn, Ordering::Relaxed);
    }
}
