//! A turn as its run needs it: what was asked and every fact since, from the commit at hand or from the log.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use factum_agent::{Agent, Agents, Transcript, Turn};
use factum_engine::session::SessionState;
use factum_model::id::{ThreadId, TurnId};
use factum_model::report::{Report, Runner};
use factum_model::value::{Metadata, Part};
use factum_model::{Event, Fact, Refusal, Trace};
use factum_store::ReadLimit;

use crate::error::read_refusal;
use crate::runtime::Runtime;
use crate::session::SessionCell;

/// How many events of a turn are read at a time.
const TURN_PAGE_EVENTS: usize = 1_000;

impl Runtime {
    /// A turn with all its facts, or `None` where it is over or only waits. `commit` is what asked for the run, if it was a
    /// commit: the one that brought the turn has all there is, and the log need not be read.
    pub(crate) async fn turn_of(
        &self,
        cell: &Arc<SessionCell>,
        thread_id: &ThreadId,
        turn_id: &TurnId,
        commit: Option<Arc<Vec<Event>>>,
    ) -> Result<Option<Box<Turn>>, Refusal> {
        if let Some(turn) = commit.and_then(|commit| new_turn(cell, thread_id, turn_id, &commit)) {
            return Ok(Some(turn));
        }
        // Boxed: reading is short, and a run may wait for its model for hours in a task that would keep this size.
        Box::pin(self.stored_turn(cell, thread_id, turn_id)).await
    }

    async fn stored_turn(
        &self,
        cell: &Arc<SessionCell>,
        thread_id: &ThreadId,
        turn_id: &TurnId,
    ) -> Result<Option<Box<Turn>>, Refusal> {
        let look = |state: &SessionState| Ok(Active::of(state, thread_id, turn_id).map(|turn| (turn, state.sequence)));
        let (active, _) = self.look(&cell.account, &cell.id, look).await?;
        let Some((active, to)) = active else { return Ok(None) };
        let mut facts = Facts::new(turn_id);
        self.add_stored(&cell.stream, active.submitted_sequence, active.submitted_sequence, &mut facts).await?;
        if let Some(sequence) = facts.said_in {
            self.add_stored(&cell.stream, sequence, sequence, &mut facts).await?;
        }
        // However long it waited in the queue, nothing of that has to be read.
        let from = active.started_sequence.max(active.submitted_sequence + 1);
        self.add_stored(&cell.stream, from, to, &mut facts).await?;
        let turn = facts.into_turn(active, thread_id, turn_id);
        turn.map(Some).ok_or_else(|| Refusal::internal("the facts of a turn do not say what it was given"))
    }

    /// Adds the session's events from one sequence to another, both included.
    async fn add_stored(&self, stream: &str, mut from: u64, to: u64, facts: &mut Facts) -> Result<(), Refusal> {
        while from <= to {
            let wanted = usize::try_from(to - from + 1).unwrap_or(usize::MAX).min(TURN_PAGE_EVENTS);
            let records = self.0.store.read(stream, from, ReadLimit::records(wanted)).await;
            let records = records.map_err(|error| read_refusal(&error))?;
            let Some(last) = records.last() else { break };
            from = last.sequence + 1;
            for record in records.iter().filter(|record| record.sequence <= to) {
                let event = Event::decode(&record.bytes).map_err(|error| Refusal::internal(error.to_string()))?;
                facts.add(&[event]);
            }
        }
        Ok(())
    }
}

/// The turn that this commit brought, if nothing has happened in the session since.
fn new_turn(cell: &SessionCell, thread_id: &ThreadId, turn_id: &TurnId, commit: &[Event]) -> Option<Box<Turn>> {
    let (first, last) = (commit.first()?.sequence, commit.last()?.sequence);
    let active = {
        let live = cell.live.lock();
        let usable = !live.retired && !cell.broken.load(Ordering::Acquire);
        let state = live.state.as_deref().filter(|state| usable && state.sequence == last)?;
        Active::of(state, thread_id, turn_id).filter(|active| active.submitted_sequence >= first)?
    };
    let mut facts = Facts::new(turn_id);
    facts.add(commit);
    facts.into_turn(active, thread_id, turn_id)
}

/// What its agent answers a turn that this commit, which is applied, brought and began; `None` where only a run can tell.
pub(crate) fn answered_at_once<'a>(
    state: &SessionState,
    commit: &[Event],
    agents: &'a Agents,
) -> Option<(&'a Agent, Runner, Report)> {
    let requested = commit.iter().find(|event| matches!(event.fact, Fact::ModelRequested(_)))?;
    let (thread_id, turn_id) = (requested.scope.thread_id.as_ref()?, requested.scope.turn_id.as_ref()?);
    let submitted = commit.iter().find_map(|event| match &event.fact {
        Fact::TurnSubmitted(fact) if event.scope.turn_id.as_ref() == Some(turn_id) => Some(fact),
        _ => None,
    })?;
    if submitted.input_sequence.is_some() {
        return None;
    }
    let active = Active::of(state, thread_id, turn_id)?;
    let agent = agents.get(&active.agent)?;
    let mut transcript = Transcript::new(turn_id.clone());
    transcript.extend(commit);
    let report = factum_agent::at_once(agent, &submitted.input, &submitted.options, transcript)?;
    let runner = Runner { thread_id: thread_id.clone(), turn_id: turn_id.clone(), attempt: active.attempt };
    Some((agent, runner, report))
}

/// What the session's state knows of a turn at work.
struct Active {
    attempt: u32,
    agent: String,
    submitted_sequence: u64,
    started_sequence: u64,
}

impl Active {
    fn of(state: &SessionState, thread_id: &ThreadId, turn_id: &TurnId) -> Option<Self> {
        let turn = state.thread(thread_id)?.active.as_deref().filter(|turn| turn.turn_id == *turn_id)?;
        Some(Self {
            attempt: turn.attempt,
            agent: turn.agent.clone(),
            submitted_sequence: turn.submitted_sequence,
            started_sequence: turn.started_sequence,
        })
    }
}

/// What the facts say of a turn.
struct Facts {
    transcript: Transcript,
    submitted: Option<(Vec<Part>, Metadata)>,
    /// The fact that says its input in full, until that is added.
    said_in: Option<u64>,
    /// The context it was submitted in, which everything it leads to belongs to.
    trace: Trace,
}

impl Facts {
    fn new(turn_id: &TurnId) -> Self {
        Self { transcript: Transcript::new(turn_id.clone()), submitted: None, said_in: None, trace: Trace::default() }
    }

    /// Adds events of the session; those of other turns do not count.
    fn add(&mut self, events: &[Event]) {
        let submitted = events.iter().find_map(|event| match &event.fact {
            Fact::TurnSubmitted(fact) if event.scope.turn_id.as_ref() == Some(self.transcript.turn_id()) => {
                Some((fact, &event.trace))
            }
            _ => None,
        });
        if let Some((fact, trace)) = submitted {
            self.submitted = Some((fact.input.clone(), fact.options.clone()));
            self.said_in = fact.input_sequence;
            self.trace = trace.clone();
        }
        self.add_input(events);
        self.transcript.extend(events);
    }

    /// Its input, where the fact that says it in full is among these.
    fn add_input(&mut self, events: &[Event]) {
        let Some(sequence) = self.said_in else { return };
        let Some(event) = events.iter().find(|event| event.sequence == sequence) else { return };
        if let (Fact::TurnSubmitted(fact), Some((input, _))) = (&event.fact, &mut self.submitted) {
            input.clone_from(&fact.input);
            self.said_in = None;
        }
    }

    /// The turn, unless a fact that says what it was given was not among them.
    fn into_turn(self, active: Active, thread_id: &ThreadId, turn_id: &TurnId) -> Option<Box<Turn>> {
        let (input, options) = self.submitted.filter(|_| self.said_in.is_none())?;
        let runner = Runner { thread_id: thread_id.clone(), turn_id: turn_id.clone(), attempt: active.attempt };
        let Facts { transcript, trace, .. } = self;
        Some(Box::new(Turn { runner, agent: active.agent, input, options, transcript, trace, opened: false }))
    }
}
