//! What happens behind a sync: the overlay learns of the batch, readers are told, and each commit's callback runs.
//!
//! ```text
//!   writer:     encode 1 ─ write ─ sync │ encode 2 ─ write ─ sync │ encode 3 …
//!   publisher:                          │ publish 1               │ publish 2 …
//! ```
//!
//! On a busy store this has a thread of its own, one batch behind the writer: waking sixty callers takes as long as a
//! good part of a sync, and the disk need not wait for it. On an idle one the writer does it itself, since handing over
//! would only make the one caller wait for one more thread.
//!
//! Invariants:
//! - batches are published in the order they were synced, and a batch whole before the next one;
//! - at most one batch is on its way. [`Publisher::hand_over`] waits for the one before.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::contract::{Commit, Done, Head, Receipt};
use crate::error::AppendError;
use crate::frame::FrameHeader;
use crate::options::Background;
use crate::overlay::{Applied, Location, Reflects};
use crate::shared::Shared;

/// A batch whose fate is known, in commit order, refused commits included.
#[derive(Default)]
pub(crate) struct Settled {
    pub(crate) entries: Vec<Entry>,
    /// How many bytes of log were written for it.
    pub(crate) bytes: u64,
}

pub(crate) struct Entry {
    pub(crate) done: Done,
    pub(crate) outcome: Result<Accepted, AppendError>,
}

pub(crate) struct Accepted {
    pub(crate) commit: Commit,
    pub(crate) receipt: Receipt,
    pub(crate) header: FrameHeader,
}

/// Makes a batch visible, then acknowledges it. Leaves `settled` empty.
pub(crate) fn publish(shared: &Shared, settled: &mut Settled) {
    if settled.bytes > 0 {
        make_visible(shared, settled);
    }
    for entry in settled.entries.drain(..) {
        let outcome = entry.outcome.map(|accepted| accepted.receipt);
        if catch_unwind(AssertUnwindSafe(|| (entry.done)(outcome))).is_err() {
            tracing::error!("a commit's callback panicked; the commit itself is not affected");
        }
    }
    settled.bytes = 0;
}

fn make_visible(shared: &Shared, settled: &mut Settled) {
    let (mut commits, mut records, mut last) = (0, 0, 0);
    let mut overlay = shared.overlay.write();
    for accepted in settled.entries.iter_mut().filter_map(|entry| entry.outcome.as_mut().ok()) {
        let Accepted { commit, receipt, header } = accepted;
        let location = Location {
            first: receipt.first_sequence,
            count: commit.records.len() as u32,
            position: receipt.position,
            frame_len: header.frame_len() as u32,
        };
        let head = Head { sequence: receipt.last_sequence, position: receipt.position, hash: receipt.hash };
        let applied = Applied { stream: &commit.stream, head, location, reflects: Reflects::of(header) };
        overlay.active.apply(applied, std::mem::take(&mut commit.index));
        commits += 1;
        records += u64::from(location.count);
        last = receipt.position;
    }
    let due = overlay.active.is_due(shared.options.checkpoint_bytes);
    drop(overlay);
    shared.counters.written(commits, records, settled.bytes);
    shared.durable.send_replace(last);
    if due && shared.options.background == Background::Threads {
        shared.checkpoints.want();
    }
}

/// The handover between the writer and the thread that publishes.
pub(crate) struct Publisher {
    shared: Arc<Shared>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    phase: Phase,
    batch: Settled,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Handed,
    Publishing,
    Closed,
}

impl Publisher {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let state = State { phase: Phase::Idle, batch: Settled::default() };
        Self { shared, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The thread's loop: ends when it is closed.
    pub(crate) fn run(&self) {
        let mut batch = Settled::default();
        let mut state = self.state.lock();
        loop {
            match state.phase {
                Phase::Closed => return,
                Phase::Idle | Phase::Publishing => self.changed.wait(&mut state),
                Phase::Handed => {
                    state.phase = Phase::Publishing;
                    std::mem::swap(&mut state.batch, &mut batch);
                    drop(state);
                    publish(&self.shared, &mut batch);
                    state = self.state.lock();
                    state.phase = Phase::Idle;
                    self.changed.notify_all();
                }
            }
        }
    }

    /// Gives a batch away, when the one before is published. `settled` is empty afterwards.
    pub(crate) fn hand_over(&self, settled: &mut Settled) {
        let mut state = self.wait_idle();
        std::mem::swap(&mut state.batch, settled);
        state.phase = Phase::Handed;
        drop(state);
        self.changed.notify_all();
    }

    /// Whether nothing is on its way, so that the caller may publish in its place.
    pub(crate) fn is_idle(&self) -> bool {
        self.state.lock().phase == Phase::Idle
    }

    /// Ends the thread behind what it was given.
    pub(crate) fn close(&self) {
        self.wait_idle().phase = Phase::Closed;
        self.changed.notify_all();
    }

    fn wait_idle(&self) -> parking_lot::MutexGuard<'_, State> {
        let mut state = self.state.lock();
        while matches!(state.phase, Phase::Handed | Phase::Publishing) {
            self.changed.wait(&mut state);
        }
        state
    }
}
