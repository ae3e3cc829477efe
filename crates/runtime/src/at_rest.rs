//! Sessions that came to rest, oldest first: so many stay in memory, and the oldest of more leaves.
//!
//! What has no work leaves by itself after a while (`sweep.rs`). This bounds how many wait for that, so that a burst of short
//! sessions takes the memory of some, not of all.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use factum_model::Timestamp;
use parking_lot::Mutex;

use crate::aggregate::Aggregate;
use crate::cell::Cell;
use crate::runtime::Runtime;
use crate::sweep::leave;

/// How many are looked at when one more comes: as many as that come too often, and one, so that a longer line gets shorter.
const LOOKS: usize = 2;

/// As many stay whatever is configured: what was just loaded must not leave before anybody could use it.
const AT_REST_MIN: usize = 16;

/// The line. Each is in it once at most.
pub(crate) struct AtRest<S: Aggregate>(Mutex<VecDeque<Resting<S>>>);

struct Resting<S: Aggregate> {
    cell: Weak<Cell<S>>,
    /// When it was last used before it was put here.
    used_at: Timestamp,
}

impl<S: Aggregate> Default for AtRest<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: Aggregate> AtRest<S> {
    fn push(&self, cell: &Arc<Cell<S>>, used_at: Timestamp) {
        self.0.lock().push_back(Resting { cell: Arc::downgrade(cell), used_at });
    }

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
        {
            let mut live = cell.live.lock();
            if std::mem::replace(&mut live.in_line, true) {
                return;
            }
            at_rest.push(cell, live.used_at);
        }
        let max = self.0.shell.sessions_at_rest_max.max(AT_REST_MIN);
        for _ in 0..LOOKS {
            let Some(oldest) = at_rest.pop_beyond(max) else { return };
            self.leaves_or_stays(at_rest, &oldest);
        }
    }

    /// What was used since it came to rest goes to the end of the line. What is at work comes back when it is done.
    fn leaves_or_stays<S: Aggregate>(&self, at_rest: &AtRest<S>, oldest: &Resting<S>) {
        let Some(cell) = oldest.cell.upgrade() else { return };
        let mut live = cell.live.lock();
        if live.used_at != oldest.used_at {
            return at_rest.push(&cell, live.used_at);
        }
        live.in_line = false;
        if cell.is_quiet() && !live.retired {
            leave(self, &cell, &mut live);
        }
    }
}
