//! How sessions are hosted: their streams, and the runs of their turns.

use std::sync::Arc;

use factum_engine::session::tasks::continue_tasks;
use factum_engine::session::{CommitFold, Effect, SessionState, apply, decide_report, effects, name_owners, recover};
use factum_engine::{Context, IndexChange};
use factum_model::id::{SessionId, TurnId};
use factum_model::{Event, Fact, NewEvent, Scope, Timestamp, Trace};
use parking_lot::Mutex;
use tokio::task::AbortHandle;

use crate::aggregate::{Aggregate, AtOnce, Recover};
use crate::at_rest::AtRest;
use crate::cell::Cell;
use crate::cells::Cells;
use crate::commit::{Accept, Actor};
use crate::delegations::Drivers;
use crate::options::ShellLimits;
use crate::pauses;
use crate::runner::agent_principal;
use crate::runtime::Runtime;
use crate::turns::answered_at_once;

pub(crate) type SessionCell = Cell<SessionState>;

impl Aggregate for SessionState {
    type Id = SessionId;
    type Work = Mutex<Work>;

    fn stream(account: &str, session_id: &SessionId) -> Arc<str> {
        ["session/", account, "/", session_id.as_str()].concat().into()
    }

    fn partition(account: &Arc<str>) -> Arc<str> {
        account.clone()
    }

    fn cells(runtime: &Runtime) -> &Cells<Self> {
        &runtime.0.sessions
    }

    fn at_rest(runtime: &Runtime) -> Option<&AtRest<Self>> {
        Some(&runtime.0.sessions_at_rest)
    }

    fn scope(session_id: &SessionId) -> Scope {
        Scope::default().session_id(session_id)
    }

    fn session_id(session_id: &SessionId) -> Option<&SessionId> {
        Some(session_id)
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

    fn name_owners(&self, events: &mut [NewEvent]) {
        name_owners(self, events);
    }

    fn apply_commit(
        &mut self,
        events: &mut Vec<Event>,
        more: impl FnOnce(&Self, &[Event]) -> Vec<Event>,
    ) -> Vec<IndexChange> {
        let mut commit = CommitFold::begin(self);
        commit.fold(self, events);
        let more = more(self, events);
        commit.fold(self, &more);
        events.extend(more);
        commit.end(self, events)
    }

    fn at_once(runtime: &Runtime, state: &Self, events: &[Event]) -> Option<AtOnce<Self>> {
        let (agent, runner, report) = answered_at_once(state, events, &runtime.0.agents)?;
        let decide = move |state: &Self, context: &mut Context<'_>| decide_report(state, &runner, report, context);
        Some(AtOnce { principal: agent_principal(&agent.name), decide: Box::new(decide) })
    }

    fn snapshot_events(&self, limits: &ShellLimits) -> u64 {
        limits.snapshot_events.max(self.tasks.in_memory() as u64 * SNAPSHOT_EVENTS_PER_TASK)
    }

    fn recover(&self) -> Option<Recover<Self>> {
        self.unfinished().then_some(recover)
    }

    fn committed(runtime: &Runtime, cell: &Arc<SessionCell>, events: &Arc<Vec<Event>>) {
        // Only facts about tasks ask for more than fits into their own commit.
        if events.iter().any(|event| event.scope.task_id.is_some()) {
            runtime.carry_on(cell);
        }
        runtime.bridge_later(cell, events);
        for effect in events.iter().filter_map(effects) {
            match effect {
                // What ended in the commit that began it has nobody to run it.
                Effect::RunTurn { turn_id, .. } if ends(events, &turn_id) => {}
                Effect::RunTurn { thread_id, turn_id } => {
                    runtime.run_turn(cell, thread_id, turn_id, Some(events.clone()));
                }
                Effect::StopTurn { turn_id } => crate::runner::stop_turn(cell, &turn_id),
                Effect::Delegate { run_id, fresh } => runtime.delegate(cell, run_id, fresh),
                Effect::WakeDelegates => cell.work.lock().drivers.wake_all(),
            }
        }
        runtime.came_to_rest(cell);
    }

    fn is_quiet(work: &Mutex<Work>) -> bool {
        let work = work.lock();
        work.runs.is_empty() && work.drivers.is_empty()
    }
}

/// Whether the turn is over behind these facts.
fn ends(events: &[Event], turn_id: &TurnId) -> bool {
    let is_end = |event: &Event| matches!(event.fact, Fact::TurnCompleted(_) | Fact::TurnFailed(_));
    events.iter().any(|event| is_end(event) && event.scope.turn_id.as_ref() == Some(turn_id))
}

/// What goes on in a session: turns that agents run, and runs that peers do.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) runs: Runs,
    pub(crate) drivers: Drivers,
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

/// A task in a snapshot costs about as much as this many events to fold.
const SNAPSHOT_EVENTS_PER_TASK: u64 = 4;

/// Who does what follows by itself.
const TASKS: &str = "runtime://tasks";

impl Runtime {
    /// Does what follows from facts by itself and was too much for one commit. The end of each commit asks for the next, so
    /// one at a time is under way.
    fn carry_on(&self, cell: &Arc<SessionCell>) {
        let pending = cell.live.lock().state.as_deref().is_some_and(SessionState::has_agenda);
        if !pending {
            return;
        }
        let (runtime, account, session_id) = (self.clone(), cell.account.clone(), cell.id.clone());
        self.spawn(async move {
            let actor = Actor { principal: TASKS, trace: &Trace::default(), through: None };
            let accept = Accept::default();
            // Whatever is in the way of a commit passes, or the store is closed and the next start carries on.
            let mut failed = 0;
            while let Err(error) = runtime.execute(&account, &session_id, &actor, &accept, continue_tasks).await {
                tracing::warn!(%session_id, %error, "tasks could not be carried on; trying again");
                tokio::time::sleep(pauses::growing(failed)).await;
                failed += 1;
            }
        });
    }
}
