//! Remote channels (seed 000): how the peers that enrolled are hosted. What a peer may say of itself is decided in
//! `engine::peers`; what workers do with their enrollment is in `workers`.
//!
//! ```text
//!   command through a channel ─► through: is it the caller's own? ─► handled, facts carry channel_id ─► the session is followed
//!   stream of a channel       ─► stream: its own events and those of the sessions it follows, each behind its cursor
//!   ack_events                ─► acks: what many say of one channel becomes one fact
//!   heartbeats, connections   ─► presence: in memory; only what changes is a fact
//!   an action opens or closes ─► bridge: the channels that decide are asked, and told how it came out
//! ```

mod ack;
mod bridge;
mod close;
mod derived;
mod enroll;
mod follow;
mod heads;
mod heartbeat;
mod keeper;
mod list;
mod presence;
mod reconnect;
mod sessions;
mod stream;
mod summary;
mod through;
mod token;

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
use ack::Acks;

pub(crate) use derived::Known as DerivedChannels;
pub(crate) use keeper::keep;
pub(crate) use presence::PeerPresence;
pub use stream::{PeerBatch, PeerStream};
pub(crate) use through::Joining;

impl Aggregate for PeerState {
    type Id = ChannelId;
    type Work = PeerWork;

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

    fn apply_commit(
        &mut self,
        events: &mut Vec<Event>,
        _: impl FnOnce(&Self, &[Event]) -> Vec<Event>,
    ) -> Vec<IndexChange> {
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

    fn is_quiet(work: &PeerWork) -> bool {
        work.acks.is_empty()
    }
}

/// What goes on beside a peer's state.
#[derive(Default)]
pub(crate) struct PeerWork {
    pub(crate) turn: Turn,
    acks: Acks,
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
