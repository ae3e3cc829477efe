//! Sessions with a past: well-formed turns, decided by the engine and written to the store without an agent in between.
//!
//! What results is what a runtime would have written for the same turns, down to the index entries and the snapshot, only
//! many thousand times faster.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use factum_engine::session::{SessionState, apply, apply_commit, decide_report, submit_turn};
use factum_engine::{Context, Decision, Limits, no_opening};
use factum_model::commands::SubmitTurn;
use factum_model::id::{EventId, IdSource, RuntimeId, SessionId};
use factum_model::report::{ModelAnswer, ModelIntent, Report, Runner, TurnReport};
use factum_model::value::Effect;
use factum_model::{Event, NewEvent, Refusal, SCHEMA_VERSION, Trace};
use factum_runtime::Sources;
use factum_store::{Commit, EmbeddedStore, Snapshot, Store};
use tokio::sync::Semaphore;

use super::commits::submit;

/// Commits on their way to the disk at once.
const IN_FLIGHT_MAX: u32 = 4_096;
/// How far behind its end a session's snapshot is: the middle of what a runtime leaves, and the same for every size.
const EVENTS_BEHIND_SNAPSHOT: u64 = 50;
const PRINCIPAL: &str = "user://bench";

/// How the events of a turn are put into commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grain {
    /// As a runtime does: one for each thing that happens.
    Step,
    /// All together, where only their number matters.
    Turn,
}

/// Writes sessions into a store.
pub(super) struct Author {
    store: Arc<EmbeddedStore>,
    account: Arc<str>,
    grain: Grain,
    sources: Sources,
    limits: Limits,
    runtime_id: RuntimeId,
    command: SubmitTurn,
    in_flight: Arc<Semaphore>,
    refused: Arc<Mutex<Option<String>>>,
}

/// What was written.
pub(super) struct Written {
    pub(super) session_id: SessionId,
    pub(super) events: u64,
    /// The size of the state as JSON.
    pub(super) snapshot_bytes: usize,
}

/// A session that is being written.
struct Draft {
    session_id: SessionId,
    stream: Arc<str>,
    /// As the commits so far left it.
    committed: SessionState,
    /// With the events that wait for their commit.
    ahead: SessionState,
    waiting: Vec<Event>,
}

impl Author {
    pub(super) fn new(store: Arc<EmbeddedStore>, account: &str, grain: Grain) -> Result<Self> {
        let sources = Sources::default();
        let uuid = sources.ids.source(sources.clock.now()).next_uuid();
        Ok(Self {
            store,
            account: account.into(),
            grain,
            sources,
            limits: Limits::default(),
            runtime_id: RuntimeId::from_uuid(uuid),
            command: submit(None)?,
            in_flight: Arc::new(Semaphore::new(IN_FLIGHT_MAX as usize)),
            refused: Arc::default(),
        })
    }

    /// A session of whole turns, at rest, with at least so many events. Durable when this returns.
    pub(super) async fn write(&self, events: u64) -> Result<Written> {
        let session_id = SessionId::from_uuid(self.ids().next_uuid());
        let stream = format!("session/{}/{session_id}", self.account).into();
        let (committed, ahead) = (SessionState::default(), SessionState::default());
        let mut draft = Draft { session_id, stream, committed, ahead, waiting: Vec::new() };
        let mut snapshot = None;
        while draft.ahead.sequence < events {
            self.turn(&mut draft).await?;
            if snapshot.is_none() && draft.ahead.sequence + EVENTS_BEHIND_SNAPSHOT >= events {
                snapshot = Some((draft.ahead.sequence, Bytes::from(serde_json::to_vec(&draft.ahead)?)));
            }
        }
        self.durable().await?;
        let (sequence, bytes) = snapshot.context("a session without events")?;
        let snapshot_bytes = bytes.len();
        self.store.put_snapshot(draft.stream, Snapshot { sequence, bytes });
        Ok(Written { session_id: draft.session_id, events: draft.ahead.sequence, snapshot_bytes })
    }

    /// Waits for everything that is under way.
    async fn durable(&self) -> Result<()> {
        drop(self.in_flight.acquire_many(IN_FLIGHT_MAX).await?);
        match &*self.refused.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(reason) => bail!("the store refused a commit: {reason}"),
            None => Ok(()),
        }
    }

    /// One turn: asked, answered, over.
    async fn turn(&self, draft: &mut Draft) -> Result<()> {
        let session_id = draft.session_id.clone();
        self.decide(draft, |state, context| submit_turn(state, &session_id, "demo", &self.command, context)).await?;
        let (provider, model) = ("script".to_owned(), "demo".to_owned());
        self.report(draft, Report::ModelRequested(ModelIntent { provider, model, effect: Effect::Pure })).await?;
        let open = draft.ahead.threads.first().and_then(|thread| thread.active.as_ref()?.model_request.clone());
        let open = open.context("the model was not asked")?;
        let text = "The second one: its owner is away and the certificate runs out tonight.".to_owned();
        let answer = ModelAnswer { stop_reason: "end_turn".into(), text: Some(text.clone()), ..ModelAnswer::default() };
        let (request_id, step_id) = (open.request_id, open.step_id);
        self.report(draft, Report::ModelCompleted { request_id, step_id, answer }).await?;
        let outcome = TurnReport::Completed { stop_reason: "end_turn".into(), preview: Some(text) };
        self.report(draft, Report::TurnFinished { outcome }).await?;
        if self.grain == Grain::Turn {
            self.commit(draft).await?;
        }
        Ok(())
    }

    async fn report(&self, draft: &mut Draft, report: Report) -> Result<()> {
        let thread = draft.ahead.threads.first().context("a session without a thread")?;
        let turn = thread.active.as_ref().context("no turn is running")?;
        let (turn_id, attempt) = (turn.turn_id.clone(), turn.attempt);
        let runner = Runner { thread_id: thread.thread_id.clone(), turn_id, attempt };
        self.decide(draft, |state, context| decide_report(state, &runner, report, context)).await
    }

    async fn decide<T>(
        &self,
        draft: &mut Draft,
        decide: impl FnOnce(&SessionState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<()> {
        self.add(draft, decide)?;
        if self.grain == Grain::Step { self.commit(draft).await } else { Ok(()) }
    }

    fn add<T>(
        &self,
        draft: &mut Draft,
        decide: impl FnOnce(&SessionState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<()> {
        let mut ids = self.ids();
        let mut context = Context {
            now: self.sources.clock.now(),
            ids: &mut *ids,
            caller: PRINCIPAL,
            account: &self.account,
            through: None,
            limits: &self.limits,
            prelude: 0,
            opening: &no_opening,
        };
        let decided = decide(&draft.ahead, &mut context).map_err(|refusal| anyhow::anyhow!("{refusal}"))?;
        let now = context.now;
        for event in decided.events {
            let event = self.numbered(event, draft.ahead.sequence + 1, now, &mut *ids);
            apply(&mut draft.ahead, &event);
            draft.waiting.push(event);
        }
        Ok(())
    }

    fn numbered(&self, event: NewEvent, sequence: u64, now: jiff::Timestamp, ids: &mut dyn IdSource) -> Event {
        Event {
            event_id: EventId::from_uuid(ids.next_uuid()),
            timestamp: now,
            sequence,
            schema_version: SCHEMA_VERSION.into(),
            runtime_id: self.runtime_id.clone(),
            scope: event.scope,
            trace: Trace::default(),
            fact: event.fact,
            refs: event.refs,
        }
    }

    async fn commit(&self, draft: &mut Draft) -> Result<()> {
        let events = std::mem::take(&mut draft.waiting);
        let expected = draft.committed.sequence;
        let index = apply_commit(&mut draft.committed, &events).into_iter().map(to_store).collect();
        let records = events.iter().map(|event| event.encode().map(Bytes::from)).collect::<Result<_, _>>()?;
        let commit = Commit { stream: draft.stream.clone(), partition: self.account.clone(), expected, records, index };
        let permit = self.in_flight.clone().acquire_owned().await?;
        let refused = self.refused.clone();
        let done = move |outcome: Result<_, factum_store::AppendError>| {
            if let Err(error) = outcome {
                refused.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error.to_string());
            }
            drop(permit);
        };
        self.store.append(commit, Box::new(done));
        Ok(())
    }

    fn ids(&self) -> Box<dyn IdSource + Send> {
        self.sources.ids.source(self.sources.clock.now())
    }
}

fn to_store(change: factum_engine::IndexChange) -> factum_store::IndexChange {
    match change {
        factum_engine::IndexChange::Put { key, value } => {
            factum_store::IndexChange::Put { key: key.into(), value: value.into() }
        }
        factum_engine::IndexChange::Delete { key } => factum_store::IndexChange::Delete { key: key.into() },
    }
}

#[cfg(test)]
mod tests {
    use factum_store::Options;

    use super::*;

    #[tokio::test]
    async fn what_is_written_folds_to_its_snapshot_and_rests() {
        for grain in [Grain::Step, Grain::Turn] {
            let dir = tempfile::tempdir().unwrap();
            let (store, _) = EmbeddedStore::open(dir.path(), Options::tiny()).unwrap();
            let store = Arc::new(store);
            let written = Author::new(store.clone(), "dev", grain).unwrap().write(100).await.unwrap();
            let stream = format!("session/dev/{}", written.session_id);
            let records = store.read(&stream, 1, factum_store::ReadLimit::records(1_000)).await.unwrap();
            assert_eq!(records.len() as u64, written.events, "{grain:?}");
            let kept = store.snapshot(&stream).await.unwrap().unwrap();
            let mut state = SessionState::default();
            for record in &records {
                apply(&mut state, &Event::decode(&record.bytes).unwrap());
                if state.sequence == kept.sequence {
                    assert_eq!(serde_json::to_vec(&state).unwrap(), kept.bytes, "{grain:?}");
                }
            }
            assert!(!state.unfinished());
            assert!(written.events - kept.sequence <= EVENTS_BEHIND_SNAPSHOT);
        }
    }
}
