//! Sessions that came to rest, oldest first: so many stay in memory, and the oldest of more leaves.
//!
//! What has no work leaves by itself after a while (`sweep.rs`). This bounds how many wait for that, so that a burst of short
//! sessions takes the memory of some, not of all.
//!
//! Short ones stand in a line of their own, which is much shorter: they are read again as quickly as they were made, and what
//! the next one is made in is then memory that the processor still has at hand.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use factum_model::Timestamp;
use parking_lot::Mutex;

use crate::aggregate::Aggregate;
use crate::cell::{Cell, Live};
use crate::runtime::Runtime;
use crate::sweep::{FOLDED_EVENTS_MIN, leave};

/// How many are looked at when one more comes: as many as that come too often, and one, so that a longer line gets shorter.
const LOOKS: usize = 2;

/// As many stay whatever is configured: what was just loaded must not leave before anybody could use it.
const AT_REST_MIN: usize = 16;

/// So many short ones stay, however many others may.
const SHORT_AT_REST_MAX: usize = 64;

/// The lines. Each is in one of them once at most.
pub(crate) struct AtRest<S: Aggregate> {
    short: Line<S>,
    long: Line<S>,
}

struct Line<S: Aggregate>(Mutex<VecDeque<Resting<S>>>);

struct Resting<S: Aggregate> {
    cell: Weak<Cell<S>>,
    /// When it was last used before it was put here.
    used_at: Timestamp,
    /// Whether it was short then.
    short: bool,
}

impl<S: Aggregate> Default for AtRest<S> {
    fn default() -> Self {
        Self { short: Line(Mutex::default()), long: Line(Mutex::default()) }
    }
}

impl<S: Aggregate> AtRest<S> {
    /// Puts it at the end of its line.
    fn push(&self, cell: &Arc<Cell<S>>, live: &Live<S>) {
        let short = is_short(live);
        let line = if short { &self.short } else { &self.long };
        line.0.lock().push_back(Resting { cell: Arc::downgrade(cell), used_at: live.used_at, short });
    }

    /// The lines, with how many may stay in each. What leaves the first may go to the second.
    fn lines(&self, max: usize) -> [(&Line<S>, usize); 2] {
        [(&self.short, max.min(SHORT_AT_REST_MAX)), (&self.long, max)]
    }
}

impl<S: Aggregate> Line<S> {
    /// The oldest, where there are more than `max`.
    fn pop_beyond(&self, max: usize) -> Option<Resting<S>> {
        let mut line = self.0.lock();
        if line.len() > max { line.pop_front() } else { None }
    }
}

impl Runtime {
    /// Something has nothing to do for now.
    pub(crate) fn came_to_rest<S: Aggregate>(&self, cell: &Arc<Cell<S>>) {
        let Some(at_rest) = S::at_rest(self) else { return };
        if !S::is_quiet(&cell.work) {
            return;
        }
        let mut live = cell.live.lock();
        if std::mem::replace(&mut live.in_line, true) {
            return;
        }
        at_rest.push(cell, &live);
        drop(live);
        for (line, max) in at_rest.lines(self.0.shell.sessions_at_rest_max.max(AT_REST_MIN)) {
            for _ in 0..LOOKS {
                let Some(oldest) = line.pop_beyond(max) else { break };
                self.leaves_or_stays(at_rest, &oldest);
            }
        }
    }

    /// What was used since it came to rest, or is short no longer, goes to the end of its line. What is at work comes back when
    /// it is done.
    fn leaves_or_stays<S: Aggregate>(&self, at_rest: &AtRest<S>, oldest: &Resting<S>) {
        let Some(cell) = oldest.cell.upgrade() else { return };
        let mut live = cell.live.lock();
        if live.used_at != oldest.used_at || is_short(&live) != oldest.short {
            return at_rest.push(&cell, &live);
        }
        live.in_line = false;
        if cell.is_quiet() && !live.retired {
            leave(self, &cell, &mut live);
        }
    }
}

/// Whether it is folded as quickly as a snapshot of it would be read.
fn is_short<S: Aggregate>(live: &Live<S>) -> bool {
    live.state.as_deref().is_some_and(|state| state.sequence() < FOLDED_EVENTS_MIN)
}
