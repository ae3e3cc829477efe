//! What the facts of a decision about tasks take in a commit, so that one takes no more than the store does: the rest stays on
//! the agenda.
//!
//! It is an estimate: the facts as JSON, and for each task they are about its row, which a commit writes whole.

use std::collections::BTreeSet;

use factum_model::NewEvent;
use factum_model::id::TaskId;

use super::state::Tasks;
use crate::size::json_bytes;

/// How many bytes a commit may have when more is added to it. Well below what the store takes, since what is added may be as
/// large as the largest task.
const BYTES_MAX: usize = 4 << 20;

/// The same of what follows by itself. Few in tests, so that there is often a rest to be carried on.
pub(super) const REACH_BYTES_MAX: usize = if cfg!(test) { 24 << 10 } else { BYTES_MAX };

/// What stands around a fact, and the keys that it is found by.
const ENVELOPE_BYTES: usize = 512;

/// The weight of the facts that were looked at so far.
pub(in super::super) struct Weight {
    bytes: usize,
    bytes_max: usize,
    facts: usize,
    touched: BTreeSet<TaskId>,
}

impl Default for Weight {
    fn default() -> Self {
        Self::up_to(BYTES_MAX)
    }
}

impl Weight {
    pub(super) fn up_to(bytes_max: usize) -> Self {
        Self { bytes: 0, bytes_max, facts: 0, touched: BTreeSet::new() }
    }

    /// Whether there is no room for more behind these facts, the first of which may have been weighed before.
    pub(super) fn is_full(&mut self, tasks: &Tasks, events: &[NewEvent]) -> bool {
        for event in events.get(self.facts..).unwrap_or_default() {
            self.bytes += ENVELOPE_BYTES + json_bytes(&event.fact.payload());
            let task = event.scope.task_id.as_ref().filter(|task_id| !self.touched.contains(*task_id));
            if let Some(task) = task.and_then(|task_id| tasks.get(task_id)) {
                self.bytes += json_bytes(&task.row);
                self.touched.insert(task.row.task_id.clone());
            }
        }
        self.facts = events.len();
        self.bytes >= self.bytes_max
    }
}
