//! How sessions are hosted: their streams, and the runs of their turns.

use std::sync::Arc;

use factum_engine::IndexChange;
use factum_engine::session::{Effect, SessionState, apply, apply_commit, effects, recover};
use factum_model::id::{SessionId, TurnId};
use factum_model::{Event, Scope, Timestamp};
use parking_lot::Mutex;
use tokio::task::AbortHandle;

use crate::aggregate::{Aggregate, Recover};
use crate::cell::Cell;
use crate::cells::Cells;
use crate::options::ShellLimits;
use crate::runtime::Runtime;

pub(crate) type SessionCell = Cell<SessionState>;

impl Aggregate for SessionState {
    type Id = SessionId;
    type Work = Mutex<Runs>;

    fn stream(account: &str, session_id: &SessionId) -> Arc<str> {
        ["session/", account, "/", session_id.as_str()].concat().into()
    }

    fn partition(account: &Arc<str>) -> Arc<str> {
        account.clone()
    }

    fn cells(runtime: &Runtime) -> &Cells<Self> {
        &runtime.0.sessions
    }

    fn scope(session_id: &SessionId) -> Scope {
        Scope::default().session_id(session_id)
    }

    fn sequence(&self) -> u64 {
        self.sequence
    }

    fn exists(&self) -> bool {
        self.shell.is_some()
    }

    fn updated_at(&self) -> Option<Timestamp> {
        self.shell.as_ref().map(|shell| shell.updated_at)
    }

    fn apply(&mut self, event: &Event) {
        apply(self, event);
    }

    fn apply_commit(&mut self, events: &[Event]) -> Vec<IndexChange> {
        apply_commit(self, events)
    }

    fn snapshot_events(limits: &ShellLimits) -> u64 {
        limits.snapshot_events
    }

    fn recover(&self) -> Option<Recover<Self>> {
        self.unfinished().then_some(recover)
    }

    fn committed(runtime: &Runtime, cell: &Arc<SessionCell>, events: &Arc<Vec<Event>>) {
        for effect in events.iter().filter_map(effects) {
            match effect {
                Effect::RunTurn { thread_id, turn_id } => {
                    runtime.run_turn(cell, thread_id, turn_id, Some(events.clone()));
                }
                Effect::StopTurn { turn_id } => crate::runner::stop_turn(cell, &turn_id),
            }
        }
    }

    fn is_quiet(runs: &Mutex<Runs>) -> bool {
        runs.lock().is_empty()
    }
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
