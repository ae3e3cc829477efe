//! A session in memory: a lock around its state, the hub its readers wait at, and the runs of its turns.
//!
//! The lock's order is the order of commits. It is held while a command is decided, applied and handed to the store, and
//! never while anything waits. The state may be ahead of what is durable; whoever shows it waits for the hub first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use factum_engine::session::SessionState;
use factum_model::Timestamp;
use factum_model::id::{SessionId, TurnId};
use parking_lot::Mutex;
use tokio::task::AbortHandle;

use crate::hub::Hub;

pub(crate) struct Cell {
    pub(crate) stream: Arc<str>,
    pub(crate) account: Arc<str>,
    pub(crate) session_id: SessionId,
    pub(crate) hub: Hub,
    pub(crate) live: Mutex<Live>,
    /// Held while the state is loaded, so that it is loaded once.
    pub(crate) loading: tokio::sync::Mutex<()>,
    pub(crate) runs: Mutex<Runs>,
    /// Commits handed to the store that are not settled.
    pub(crate) in_flight: AtomicU32,
    /// A commit failed: the state is ahead of the log and has to be loaded again.
    pub(crate) broken: AtomicBool,
}

pub(crate) struct Live {
    /// Absent when not loaded.
    pub(crate) state: Option<Box<SessionState>>,
    /// No longer in the map: whoever holds it has to look the session up again.
    pub(crate) retired: bool,
    /// The sequence of the newest snapshot handed to the store.
    pub(crate) snapshot_sequence: u64,
    pub(crate) used_at: Timestamp,
}

/// The runs of a session's turns: as many as threads are at work, so almost always none or one.
#[derive(Default)]
pub(crate) struct Runs(Vec<Run>);

impl Runs {
    pub(crate) fn get(&mut self, turn_id: &TurnId) -> Option<&mut Run> {
        self.0.iter_mut().find(|run| run.turn_id == *turn_id)
    }

    pub(crate) fn insert(&mut self, run: Run) {
        self.0.reserve_exact(1);
        self.0.push(run);
    }

    pub(crate) fn remove(&mut self, turn_id: &TurnId) -> Option<Run> {
        let at = self.0.iter().position(|run| run.turn_id == *turn_id)?;
        Some(self.0.swap_remove(at))
    }

    pub(crate) fn take(&mut self) -> Vec<Run> {
        std::mem::take(&mut self.0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A run of a turn by its agent.
pub(crate) struct Run {
    pub(crate) turn_id: TurnId,
    pub(crate) abort: AbortHandle,
    /// Something it may wait for has happened meanwhile: look again before stopping.
    pub(crate) again: bool,
}

/// The stream of a session. It is named by account and id, so another account's session cannot even be addressed.
pub(crate) fn stream_of(account: &str, session_id: &SessionId) -> Arc<str> {
    format!("session/{account}/{session_id}").into()
}

impl Cell {
    pub(crate) fn new(account: Arc<str>, session_id: SessionId, state: Option<SessionState>, now: Timestamp) -> Self {
        let stream = stream_of(&account, &session_id);
        let live = Live { state: state.map(Box::new), retired: false, snapshot_sequence: 0, used_at: now };
        Self {
            stream,
            account,
            session_id,
            hub: Hub::default(),
            live: Mutex::new(live),
            loading: tokio::sync::Mutex::new(()),
            runs: Mutex::default(),
            in_flight: AtomicU32::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Whether nothing is under way that needs the state in memory.
    pub(crate) fn is_quiet(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) == 0 && self.runs.lock().is_empty()
    }
}
