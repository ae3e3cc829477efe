//! How a decision becomes a durable fact: the one write path of everything that is hosted.
//!
//! ```text
//!   lock ─ decide ─ number ─ encode ─ apply ─ hand to the store ─ unlock        never waits
//!                                                 │
//!        durable: publish to subscribers, keep a snapshot, start effects, answer the caller
//!        refused: the state is ahead of the log, so it is dropped and loaded again
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use factum_engine::{Context, Decision, IndexChange};
use factum_model::events::CommandAccepted;
use factum_model::id::{EventId, IdSource};
use factum_model::{Encoder, Event, NewEvent, Refusal, Scope, Timestamp, Trace};
use factum_store::{AppendError, Commit, Receipt, Snapshot};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::aggregate::{Aggregate, AtOnce};
use crate::cell::{Cell, Live};
use crate::error::append_refusal;
use crate::hub::Published;
use crate::idempotency::Held;
use crate::peers::Joining;
use crate::runtime::Runtime;
use crate::workers::News;

/// On whose behalf something is decided.
pub(crate) struct Actor<'a> {
    pub(crate) principal: &'a str,
    pub(crate) trace: &'a Trace,
    /// The remote channel it came through.
    pub(crate) through: Option<&'a Joining>,
}

/// A command with idempotency keys: what has to be remembered of it, and what nobody else may be in the middle of.
#[derive(Default)]
pub(crate) struct Accept {
    pub(crate) command: &'static str,
    pub(crate) keys: Vec<String>,
    pub(crate) params_digest: String,
    /// Whoever waits for these locks has to find what was written under them. So every commit of the command keeps them until
    /// it is settled, also where nobody waits for the answer any more.
    pub(crate) held: Option<Arc<Held>>,
}

impl Accept {
    /// The facts that let a repeat be answered with `result`, one for each key.
    pub(crate) fn facts(&self, scope: &Scope, principal: &str, result: &Value) -> Vec<NewEvent> {
        let fact = |key: &String| CommandAccepted {
            command: self.command.to_owned(),
            principal: principal.to_owned(),
            idempotency_key: key.clone(),
            params_digest: self.params_digest.clone(),
            result: result.clone(),
        };
        self.keys.iter().map(|key| NewEvent::new(scope.clone(), fact(key))).collect()
    }
}

/// A decision on its way to the disk.
pub(crate) struct Pending<T> {
    pub(crate) output: T,
    pub(crate) events: Arc<Vec<Event>>,
    settled: Settled,
}

enum Settled {
    /// Nothing was written; what was looked at has to be durable before anyone hears of it.
    AtSequence(u64),
    ByStore(oneshot::Receiver<Result<Receipt, AppendError>>),
}

impl<T> Pending<T> {
    /// Waits until it is durable.
    pub(crate) async fn durable<S: Aggregate>(self, cell: &Cell<S>) -> Result<(T, Arc<Vec<Event>>), Refusal> {
        match self.settled {
            Settled::AtSequence(sequence) => wait_for(cell, sequence).await?,
            Settled::ByStore(receiver) => {
                receiver.await.unwrap_or(Err(AppendError::Closed)).map_err(|error| append_refusal(&error))?;
            }
        }
        Ok((self.output, self.events))
    }
}

/// Waits until `sequence` is durable, or until it is clear that it will never be.
pub(crate) async fn wait_for<S: Aggregate>(cell: &Cell<S>, sequence: u64) -> Result<(), Refusal> {
    let broken = || cell.broken.load(Ordering::Acquire);
    cell.hub.wait_until(|| cell.hub.durable() >= sequence || broken()).await;
    if cell.hub.durable() < sequence {
        return Err(Refusal::unavailable("a write before this read failed; try again"));
    }
    Ok(())
}

impl Runtime {
    /// Decides under the lock and hands the facts to the store.
    pub(crate) fn decide<S: Aggregate, T: Serialize>(
        &self,
        cell: &Arc<Cell<S>>,
        live: &mut Live<S>,
        actor: &Actor<'_>,
        accept: &Accept,
        decide: impl FnOnce(&S, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<Pending<T>, Refusal> {
        let Some(state) = live.state.as_deref_mut() else {
            return Err(Refusal::internal("something was decided on before it was loaded"));
        };
        let clock = self.now();
        let now = state.updated_at().map_or(clock, |updated_at| clock.max(updated_at));
        live.used_at = now;
        let mut ids = self.0.sources.ids.source(now);
        let mut context = Context {
            now,
            ids: &mut *ids,
            caller: actor.principal,
            account: &cell.account,
            through: actor.through.map(Joining::through),
            limits: &self.0.limits,
            prelude: accept.keys.len() as u64,
            opening: &|agent| self.0.agents.get(agent).map(|agent| agent.opening()),
        };
        let Decision { mut events, output } = decide(state, &mut context)?;
        if let (Some(joining), Some(session_id)) = (actor.through, S::session_id(&cell.id)) {
            joining.join(session_id, state.sequence(), &mut events)?;
        }
        if !accept.keys.is_empty() {
            let accepted = accepted(cell, actor, accept, &output)?;
            events.splice(0..0, accepted);
        }
        if events.is_empty() {
            let settled = Settled::AtSequence(state.sequence());
            return Ok(Pending { output, events: Arc::default(), settled });
        }
        let expected = state.sequence();
        state.name_owners(&mut events);
        let mut events = self.number(events, expected, now, actor.trace, &mut *ids);
        let index = state.apply_commit(&mut events, |state, events| {
            self.at_once(cell, state, events, now, actor.trace, &mut *ids).unwrap_or_default()
        });
        let records = encode(&events).inspect_err(|_| {
            // The state has what the log will never have.
            cell.broken.store(true, Ordering::Release);
        })?;
        let snapshot = self.due_snapshot(live);
        let events = Arc::new(events);
        let (stream, partition) = (cell.stream.clone(), cell.partition.clone());
        let commit = Commit { stream, partition, expected, records, index: to_store(&index) };
        let receiver = self.hand_over(cell, commit, &index, snapshot, &events, accept.held.clone());
        Ok(Pending { output, events, settled: Settled::ByStore(receiver) })
    }

    /// What follows from facts that are applied, to go into their commit. Where that is refused it is left to whoever would
    /// do it behind the commit, and hears of it.
    fn at_once<S: Aggregate>(
        &self,
        cell: &Arc<Cell<S>>,
        state: &S,
        events: &[Event],
        now: Timestamp,
        trace: &Trace,
        ids: &mut dyn IdSource,
    ) -> Option<Vec<Event>> {
        let AtOnce { principal, decide } = S::at_once(self, state, events)?;
        let mut context = Context {
            now,
            ids: &mut *ids,
            caller: &principal,
            account: &cell.account,
            through: None,
            limits: &self.0.limits,
            prelude: 0,
            opening: &|agent| self.0.agents.get(agent).map(|agent| agent.opening()),
        };
        let mut events = decide(state, &mut context).ok()?.events;
        state.name_owners(&mut events);
        Some(self.number(events, state.sequence(), now, trace, ids))
    }

    pub(crate) fn number(
        &self,
        events: Vec<NewEvent>,
        expected: u64,
        now: Timestamp,
        trace: &Trace,
        ids: &mut dyn IdSource,
    ) -> Vec<Event> {
        let number = |(event, sequence): (NewEvent, u64)| Event {
            event_id: EventId::from_uuid(ids.next_uuid()),
            timestamp: now,
            sequence,
            schema_version: self.0.schema_version.clone(),
            runtime_id: self.0.runtime_id.clone(),
            scope: event.scope,
            trace: trace.clone(),
            fact: event.fact,
            refs: event.refs,
        };
        events.into_iter().zip(expected + 1..).map(number).collect()
    }

    /// The state as a snapshot, when enough has happened since the last one. It is kept only once it is durable.
    fn due_snapshot<S: Aggregate>(&self, live: &mut Live<S>) -> Option<Snapshot> {
        let state = live.state.as_deref()?;
        if state.sequence() < live.snapshot_sequence + state.snapshot_events(&self.0.shell) {
            return None;
        }
        live.snapshot_sequence = state.sequence();
        snapshot_of(state)
    }

    fn hand_over<S: Aggregate>(
        &self,
        cell: &Arc<Cell<S>>,
        commit: Commit,
        index: &[IndexChange],
        snapshot: Option<Snapshot>,
        events: &Arc<Vec<Event>>,
        held: Option<Arc<Held>>,
    ) -> oneshot::Receiver<Result<Receipt, AppendError>> {
        let (sender, receiver) = oneshot::channel();
        let timers = index.iter().any(is_timer);
        let news = News::of(index);
        let records = commit.records.clone();
        cell.in_flight.fetch_add(1, Ordering::AcqRel);
        let (runtime, cell, events) = (self.clone(), cell.clone(), events.clone());
        let done = move |outcome: Result<Receipt, AppendError>| {
            match &outcome {
                Ok(receipt) => {
                    let published = records.into_iter().zip(receipt.first_sequence..);
                    cell.hub.publish(
                        receipt.last_sequence,
                        published.map(|(json, sequence)| Published::new(sequence, json)),
                        &events,
                    );
                    if let Some(snapshot) = snapshot {
                        runtime.0.store.put_snapshot(cell.stream.clone(), snapshot);
                    }
                    if timers {
                        runtime.0.timers_changed.notify_one();
                    }
                    if let Some(news) = news {
                        runtime.0.workers.committed(*news);
                    }
                    S::committed(&runtime, &cell, &events);
                }
                Err(error) => {
                    tracing::warn!(stream = %cell.stream, %error, "a commit was refused");
                    cell.broken.store(true, Ordering::Release);
                }
            }
            // Whoever waits for the last commit to settle must hear of it after it is counted as settled.
            let last = cell.in_flight.fetch_sub(1, Ordering::AcqRel) == 1;
            if last || outcome.is_err() {
                cell.hub.wake();
            }
            // Now the rows of its keys can be found, or never will be.
            drop(held);
            drop(sender.send(outcome));
        };
        self.0.store.append(commit, Box::new(done));
        receiver
    }
}

/// The facts that let a repeat of the command be answered. They stand in front, so that the last sequence is the command's.
fn accepted<S: Aggregate>(
    cell: &Cell<S>,
    actor: &Actor<'_>,
    accept: &Accept,
    output: &impl Serialize,
) -> Result<Vec<NewEvent>, Refusal> {
    let result = serde_json::to_value(output).map_err(|error| Refusal::internal(error.to_string()))?;
    Ok(accept.facts(&S::scope(&cell.id), actor.principal, &result))
}

/// The events of a commit as they are stored: pieces of one buffer.
fn encode(events: &[Event]) -> Result<Vec<Bytes>, Refusal> {
    let mut encoder = Encoder::with_room_for(events.len() + 1);
    let mut ends = Vec::with_capacity(events.len());
    for event in events {
        encoder.put(event).map_err(|error| Refusal::internal(error.to_string()))?;
        ends.push(encoder.end());
    }
    let buffer = Bytes::from(encoder.into_bytes());
    let starts = std::iter::once(0).chain(ends.iter().copied());
    Ok(starts.zip(&ends).map(|(start, end)| buffer.slice(start..*end)).collect())
}

pub(crate) fn snapshot_of<S: Aggregate>(state: &S) -> Option<Snapshot> {
    let bytes = serde_json::to_vec(state).ok()?;
    Some(Snapshot { sequence: state.sequence(), bytes: bytes.into() })
}

/// The changes as the store keeps them: pieces of one buffer, so that another thread lets go of one thing, not of many.
pub(crate) fn to_store(changes: &[IndexChange]) -> Vec<factum_store::IndexChange> {
    let parts = |change: &IndexChange| match change {
        IndexChange::Put { key, value } => (key.len(), value.len()),
        IndexChange::Delete { key } => (key.len(), 0),
    };
    let bytes = changes.iter().map(parts).map(|(key, value)| key + value).sum();
    let mut buffer = BytesMut::with_capacity(bytes);
    for change in changes {
        match change {
            IndexChange::Put { key, value } => {
                buffer.extend_from_slice(key);
                buffer.extend_from_slice(value);
            }
            IndexChange::Delete { key } => buffer.extend_from_slice(key),
        }
    }
    let mut rest = buffer.freeze();
    let stored = |change: &IndexChange| {
        let (key, value) = parts(change);
        let (key, value) = (rest.split_to(key), rest.split_to(value));
        match change {
            IndexChange::Put { .. } => factum_store::IndexChange::Put { key, value },
            IndexChange::Delete { .. } => factum_store::IndexChange::Delete { key },
        }
    };
    changes.iter().map(stored).collect()
}

fn is_timer(change: &IndexChange) -> bool {
    matches!(change, IndexChange::Put { key, .. } if key.starts_with(b"timer\0"))
}
