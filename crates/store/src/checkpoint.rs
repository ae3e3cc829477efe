//! Writing the overlay down into the derived index, off the acknowledgement path.
//!
//! It owns when a checkpoint happens and what happens when one fails: the layer stays in memory, the next attempt takes
//! it again, and commits are refused only once the overlay passes its bound. It does not know LMDB (`index.rs`).

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::index::IndexError;
use crate::overlay::{Layer, Overlay};
use crate::shared::Shared;

/// How long a failed checkpoint waits before the next attempt, so that a full disk is not hammered.
const RETRY_DELAY: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Checkpoints {
    /// Held while one is written: there is only ever one frozen layer.
    writing: Mutex<()>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    wanted: bool,
    closed: bool,
    failure: Option<Arc<str>>,
}

impl Checkpoints {
    pub(crate) fn want(&self) {
        let mut state = self.state.lock();
        if !state.wanted {
            state.wanted = true;
            self.changed.notify_all();
        }
    }

    /// Why the last attempt failed, if it did.
    pub(crate) fn failure(&self) -> Option<Arc<str>> {
        self.state.lock().failure.clone()
    }

    /// Returns when no checkpoint is being written.
    pub(crate) fn wait_idle(&self) {
        drop(self.writing.lock());
    }

    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// The thread's loop.
    pub(crate) fn run(&self, shared: &Shared) {
        loop {
            let mut state = self.state.lock();
            while !state.wanted && !state.closed {
                self.changed.wait(&mut state);
            }
            if state.closed {
                return;
            }
            state.wanted = false;
            drop(state);
            if let Err(error) = write(shared) {
                tracing::warn!(%error, "the derived index could not be written; trying again");
                let mut state = self.state.lock();
                if !state.closed {
                    self.changed.wait_for(&mut state, RETRY_DELAY);
                    state.wanted = true;
                }
            }
        }
    }
}

/// Writes down everything committed up to some moment after the call began.
pub(crate) fn write(shared: &Shared) -> Result<(), IndexError> {
    let _only_one = shared.checkpoints.writing.lock();
    // A layer left over from a failed attempt goes first: layers must arrive in order.
    let left_over = shared.overlay.read().frozen.is_some();
    if left_over {
        write_frozen(shared)?;
    }
    freeze(&mut shared.overlay.write());
    write_frozen(shared)
}

fn freeze(overlay: &mut Overlay) {
    debug_assert!(overlay.frozen.is_none());
    if overlay.active.is_empty() {
        return;
    }
    let mut layer = std::mem::take(&mut overlay.active);
    overlay.active.snapshots = take_early_snapshots(overlay, &mut layer);
    overlay.frozen = Some(Arc::new(layer));
}

/// Snapshots of records that are not durable yet must not reach the index, which survives a crash that those may not.
fn take_early_snapshots(overlay: &Overlay, layer: &mut Layer) -> rustc_hash::FxHashMap<Arc<str>, crate::Snapshot> {
    let Some(index) = &overlay.index else { return Default::default() };
    let indexed = |stream: &str| {
        let txn = index.read().ok()?;
        Some(index.stream(&txn, stream).ok()??.head.sequence)
    };
    let head = |layer: &Layer, stream: &str| {
        let here = layer.streams.get(stream).and_then(|tail| tail.head).map(|head| head.sequence);
        here.or_else(|| indexed(stream)).unwrap_or(0)
    };
    let snapshots = std::mem::take(&mut layer.snapshots);
    let (ready, early) = snapshots.into_iter().partition(|(stream, kept)| kept.sequence <= head(layer, stream));
    layer.snapshots = ready;
    early
}

fn write_frozen(shared: &Shared) -> Result<(), IndexError> {
    let (frozen, index) = {
        let overlay = shared.overlay.read();
        (overlay.frozen.clone(), overlay.index.clone())
    };
    let (Some(frozen), Some(index)) = (frozen, index) else { return Ok(()) };
    let written = index.write(&frozen);
    shared.checkpoints.state.lock().failure = written.as_ref().err().map(|error| error.to_string().into());
    written?;
    shared.counters.checkpointed(frozen.commits);
    // Only now that LMDB has it may the layer go. It is freed outside the lock: that can take milliseconds.
    let gone = shared.overlay.write().frozen.take();
    drop(gone);
    Ok(())
}
