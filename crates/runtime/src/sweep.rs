//! What has nothing to do leaves memory. What it was is in the log, and in a snapshot that makes it quick to open.

use std::sync::Arc;

use factum_engine::messaging::ChannelState;
use factum_engine::peers::PeerState;
use factum_engine::session::SessionState;
use factum_model::Timestamp;

use crate::aggregate::Aggregate;
use crate::cell::{Cell, Live};
use crate::commit::snapshot_of;
use crate::runtime::Runtime;

/// Fewer events than this are folded as quickly as a snapshot is read.
pub(crate) const FOLDED_EVENTS_MIN: u64 = 32;

/// Looks for what has no work until the runtime closes.
pub(crate) async fn run(runtime: Runtime) {
    loop {
        tokio::time::sleep(runtime.0.shell.sweep_interval).await;
        sweep_all::<SessionState>(&runtime).await;
        sweep_all::<ChannelState>(&runtime).await;
        sweep_all::<PeerState>(&runtime).await;
    }
}

async fn sweep_all<S: Aggregate>(runtime: &Runtime) {
    let now = runtime.now();
    for cells in S::cells(runtime).by_shard() {
        for cell in cells {
            sweep(runtime, &cell, now);
        }
        // A walk over many lets others run in between.
        tokio::task::yield_now().await;
    }
}

fn sweep<S: Aggregate>(runtime: &Runtime, cell: &Arc<Cell<S>>, now: Timestamp) {
    let idle_ms = i64::try_from(runtime.0.shell.session_idle.as_millis()).unwrap_or(i64::MAX);
    let mut live = cell.live.lock();
    if now.as_millisecond() - live.used_at.as_millisecond() < idle_ms || !cell.is_quiet() || live.retired {
        return;
    }
    leave(runtime, cell, &mut live);
}

/// Takes the state of something without work out of memory, with a snapshot where opening it again would take long without.
pub(crate) fn leave<S: Aggregate>(runtime: &Runtime, cell: &Arc<Cell<S>>, live: &mut Live<S>) {
    if let Some(state) = live.state.as_deref()
        && state.sequence() >= live.snapshot_sequence + FOLDED_EVENTS_MIN
        && cell.hub.durable() >= state.sequence()
        && let Some(snapshot) = snapshot_of(state)
    {
        live.snapshot_sequence = snapshot.sequence;
        runtime.0.store.put_snapshot(cell.stream.clone(), snapshot);
    }
    live.state = None;
    if !cell.hub.has_subscribers() {
        live.retired = true;
        S::cells(runtime).remove(cell);
    }
}

/// Before closing: a snapshot of everything in memory, so that the next start opens it quickly.
pub(crate) async fn snapshot_all<S: Aggregate>(runtime: &Runtime) {
    for cell in S::cells(runtime).all() {
        let cell = &cell;
        cell.hub.wait_until(|| cell.in_flight.load(std::sync::atomic::Ordering::Acquire) == 0).await;
        let live = cell.live.lock();
        if let Some(state) = live.state.as_deref()
            && state.sequence() > live.snapshot_sequence
            && cell.hub.durable() == state.sequence()
            && let Some(snapshot) = snapshot_of(state)
        {
            runtime.0.store.put_snapshot(cell.stream.clone(), snapshot);
        }
    }
}
