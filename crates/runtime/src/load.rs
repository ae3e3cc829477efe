//! How an aggregate comes into memory: the newest snapshot, then the events behind it, then the repairs a crash asks for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use factum_engine::{Context, Decision, IndexChange};
use factum_model::{Event, NewEvent, Refusal, Trace};
use factum_store::{AppendError, ReadLimit, Receipt};
use serde::Serialize;
use tokio::sync::oneshot;

use crate::aggregate::Aggregate;
use crate::cell::Cell;
use crate::commit::{Accept, Actor, Pending, wait_for};
use crate::error::{append_refusal, read_refusal};
use crate::loading::Loading;
use crate::runtime::Runtime;

/// How many events are folded at a time.
const FOLD_PAGE_EVENTS: usize = 1_000;

/// Who repairs what a crash left.
const RECOVERY: &str = "runtime://recovery";

impl Runtime {
    /// The cell of something that exists in this account.
    pub(crate) async fn find<S: Aggregate>(&self, account: &Arc<str>, id: &S::Id) -> Result<Arc<Cell<S>>, Refusal> {
        let stream = S::stream(account, id);
        if let Some(cell) = S::cells(self).get(&stream) {
            return Ok(cell);
        }
        // Boxed: the rare way must not make the future of every command as large as itself.
        Box::pin(self.find_stored(account, id, &stream)).await
    }

    async fn find_stored<S: Aggregate>(
        &self,
        account: &Arc<str>,
        id: &S::Id,
        stream: &str,
    ) -> Result<Arc<Cell<S>>, Refusal> {
        let head = self.0.store.head(stream).await.map_err(|error| read_refusal(&error))?;
        let head = head.ok_or_else(Refusal::not_found)?;
        let cell = Cell::new(account.clone(), id.clone(), None, self.now());
        let cell = S::cells(self).get_or_insert(cell);
        cell.hub.set_durable(head.sequence);
        Ok(cell)
    }

    /// Whether something is there. A cell that somebody is about to begin in, and may be refused in, is not it yet.
    pub(crate) async fn is_there<S: Aggregate>(&self, account: &Arc<str>, id: &S::Id) -> Result<bool, Refusal> {
        let stream = S::stream(account, id);
        if let Some(cell) = S::cells(self).get(&stream) {
            let live = cell.live.lock();
            if !live.retired {
                // What is not loaded came from the store.
                return Ok(live.state.as_deref().is_none_or(S::exists));
            }
        }
        Ok(self.0.store.head(&stream).await.map_err(|error| read_refusal(&error))?.is_some())
    }

    /// Decides on something that exists and waits until the facts are durable.
    pub(crate) async fn execute<S: Aggregate, T: Serialize>(
        &self,
        account: &Arc<str>,
        id: &S::Id,
        actor: &Actor<'_>,
        accept: &Accept,
        decide: impl FnOnce(&S, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<(T, Arc<Vec<Event>>), Refusal> {
        let mut decide = Some(decide);
        loop {
            let cell = self.find::<S>(account, id).await?;
            self.ensure_loaded(&cell).await?;
            let Some(pending) = self.try_decide(&cell, actor, accept, &mut decide) else { continue };
            return match pending {
                Ok(pending) => pending.durable(&cell).await,
                Err(refusal) => Err(refused_by_what_lasts(&cell, refusal).await),
            };
        }
    }

    /// The first commit of something. Two callers with the same id meet in the same cell, and the second decides on what the
    /// first one made there.
    pub(crate) async fn begin<S: Aggregate, T: Serialize>(
        &self,
        account: &Arc<str>,
        id: &S::Id,
        actor: &Actor<'_>,
        accept: &Accept,
        decide: impl FnOnce(&S, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<T, Refusal> {
        let mut decide = Some(decide);
        loop {
            let cell = self.new_cell::<S>(account, id);
            let Some(pending) = self.try_begin(&cell, actor, accept, &mut decide) else { continue };
            return match pending {
                Ok(pending) => pending.durable(&cell).await.map(|(output, _)| output),
                Err(refusal) => Err(refused_by_what_lasts(&cell, refusal).await),
            };
        }
    }

    /// The cell of something that may not exist yet.
    pub(crate) fn new_cell<S: Aggregate>(&self, account: &Arc<str>, id: &S::Id) -> Arc<Cell<S>> {
        S::cells(self).get_or_insert(Cell::new(account.clone(), id.clone(), Some(S::default()), self.now()))
    }

    /// Decides if the cell is still in use; `None` asks the caller to look it up again. A refusal that leaves nothing takes
    /// the cell out under the same lock, so that nobody can decide on it in between.
    pub(crate) fn try_begin<S: Aggregate, T: Serialize, F>(
        &self,
        cell: &Arc<Cell<S>>,
        actor: &Actor<'_>,
        accept: &Accept,
        decide: &mut Option<F>,
    ) -> Option<Result<Pending<T>, Refusal>>
    where
        F: FnOnce(&S, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    {
        let mut live = cell.live.lock();
        if live.retired {
            return None;
        }
        let pending = self.decide(cell, &mut live, actor, accept, decide.take()?);
        if pending.is_err() && live.state.as_deref().is_some_and(|state| !state.exists()) {
            live.retired = true;
            S::cells(self).remove(cell);
        }
        Some(pending)
    }

    /// Decides if the cell is still in use and loaded; `None` asks the caller to look it up again.
    fn try_decide<S: Aggregate, T: Serialize, F>(
        &self,
        cell: &Arc<Cell<S>>,
        actor: &Actor<'_>,
        accept: &Accept,
        decide: &mut Option<F>,
    ) -> Option<Result<Pending<T>, Refusal>>
    where
        F: FnOnce(&S, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    {
        let mut live = cell.live.lock();
        if live.retired || live.state.is_none() || cell.broken.load(Ordering::Acquire) {
            return None;
        }
        let decide = decide.take()?;
        Some(self.decide(cell, &mut live, actor, accept, decide))
    }

    /// Looks at a state as it is, durable or not. What is seen is no answer for anybody.
    pub(crate) async fn peek<S: Aggregate, T>(
        &self,
        account: &Arc<str>,
        id: &S::Id,
        look: impl Fn(&S) -> T,
    ) -> Result<(T, Arc<Cell<S>>), Refusal> {
        loop {
            let cell = self.find::<S>(account, id).await?;
            self.ensure_loaded(&cell).await?;
            let seen = {
                let mut live = cell.live.lock();
                live.used_at = self.now();
                live.state.as_deref().filter(|_| !live.retired).map(&look)
            };
            if let Some(seen) = seen {
                return Ok((seen, cell));
            }
        }
    }

    /// Looks at a state; the answer is given once what it shows is durable.
    pub(crate) async fn look<S: Aggregate, T>(
        &self,
        account: &Arc<str>,
        id: &S::Id,
        look: impl Fn(&S) -> Result<T, Refusal>,
    ) -> Result<(T, Arc<Cell<S>>), Refusal> {
        loop {
            let cell = self.find::<S>(account, id).await?;
            self.ensure_loaded(&cell).await?;
            let seen = {
                let mut live = cell.live.lock();
                live.used_at = self.now();
                let broken = live.retired || cell.broken.load(Ordering::Acquire);
                live.state.as_deref().filter(|_| !broken).map(|state| (look(state), state.sequence()))
            };
            if let Some((seen, sequence)) = seen {
                // A refusal says something about the state as well.
                wait_for(&cell, sequence).await?;
                return Ok((seen?, cell));
            }
        }
    }

    /// Brings the state into memory, once, and carries on what a crash left unfinished.
    pub(crate) async fn ensure_loaded<S: Aggregate>(&self, cell: &Arc<Cell<S>>) -> Result<(), Refusal> {
        if cell.is_ready() {
            return Ok(());
        }
        let loading = Loading::of(cell, |load| {
            let runtime = self.clone();
            self.0.tokio.spawn(async move {
                let outcome = runtime.load(load.cell()).await;
                load.ended(outcome);
            });
        });
        loading.outcome().await
    }

    async fn load<S: Aggregate>(&self, cell: &Arc<Cell<S>>) -> Result<(), Refusal> {
        if cell.is_ready() {
            return Ok(());
        }
        if cell.broken.load(Ordering::Acquire) {
            // Nothing new is decided while `broken` is set, so what is in flight runs out.
            cell.hub.wait_until(|| cell.in_flight.load(Ordering::Acquire) == 0).await;
            cell.live.lock().state = None;
            cell.broken.store(false, Ordering::Release);
        }
        let (state, snapshot_sequence) = self.fold::<S>(&cell.stream, u64::MAX).await?;
        if !state.exists() {
            self.retire(cell);
            return Err(Refusal::not_found());
        }
        cell.hub.set_durable(state.sequence());
        let recover = state.recover();
        let repair = {
            let mut live = cell.live.lock();
            live.snapshot_sequence = snapshot_sequence;
            live.state = Some(Box::new(state));
            let actor = Actor { principal: RECOVERY, trace: &Trace::default(), through: None };
            recover.map(|recover| self.decide(cell, &mut live, &actor, &Accept::default(), recover))
        };
        if let Some(repair) = repair {
            repair?.durable(cell).await?;
        }
        self.came_to_rest(cell);
        Ok(())
    }

    /// The state of a stream as of a sequence, and the sequence of the snapshot it was folded from.
    pub(crate) async fn fold<S: Aggregate>(&self, stream: &str, as_of: u64) -> Result<(S, u64), Refusal> {
        let snapshot = self.0.store.snapshot(stream).await.map_err(|error| read_refusal(&error))?;
        // A snapshot of an older version that no longer parses is no loss: the events are.
        let usable = snapshot.filter(|snapshot| snapshot.sequence <= as_of);
        let mut state: S = usable.and_then(|snapshot| serde_json::from_slice(&snapshot.bytes).ok()).unwrap_or_default();
        let snapshot_sequence = state.sequence();
        while state.sequence() < as_of {
            let from = state.sequence() + 1;
            let wanted = usize::try_from(as_of - state.sequence()).unwrap_or(usize::MAX).min(FOLD_PAGE_EVENTS);
            let records = self.0.store.read(stream, from, ReadLimit::records(wanted)).await;
            let records = records.map_err(|error| read_refusal(&error))?;
            if records.is_empty() {
                break;
            }
            for record in records {
                let event = Event::decode(&record.bytes)
                    .map_err(|error| Refusal::internal(format!("event {} does not parse: {error}", record.sequence)))?;
                state.apply(&event);
            }
        }
        Ok((state, snapshot_sequence))
    }

    pub(crate) fn retire<S: Aggregate>(&self, cell: &Arc<Cell<S>>) {
        cell.live.lock().retired = true;
        S::cells(self).remove(cell);
    }

    /// Appends to the runtime's own stream what `build` makes of its current sequence. Nothing to write is fine. Its lock goes
    /// with the commit, as those of the keys do: the next one has to know where this one ended.
    pub(crate) async fn append_own(
        &self,
        trace: &Trace,
        accept: &Accept,
        build: impl FnOnce(u64) -> Result<Vec<NewEvent>, Refusal>,
        index: impl FnOnce(&[Event]) -> Vec<IndexChange>,
    ) -> Result<u64, Refusal> {
        let mut sequence = self.0.own_stream.clone().lock_owned().await;
        let events = build(*sequence)?;
        if events.is_empty() {
            return Ok(*sequence);
        }
        let now = self.now();
        let mut ids = self.0.sources.ids.source(now);
        let numbered = self.number(events, *sequence, now, trace, &mut *ids);
        let mut records = Vec::with_capacity(numbered.len());
        for event in &numbered {
            records.push(event.encode().map_err(|error| Refusal::internal(error.to_string()))?.into());
        }
        let commit = factum_store::Commit {
            stream: factum_engine::access::RUNTIME_STREAM.into(),
            partition: factum_engine::access::RUNTIME_PARTITION.into(),
            expected: *sequence,
            records,
            index: crate::commit::to_store(&index(&numbered)),
        };
        let (sender, receiver) = oneshot::channel();
        let held = accept.held.clone();
        let done = move |outcome: Result<Receipt, AppendError>| {
            if let Ok(receipt) = &outcome {
                *sequence = receipt.last_sequence;
            }
            drop((sequence, held));
            drop(sender.send(outcome));
        };
        self.0.store.append(commit, Box::new(done));
        let receipt = receiver.await.unwrap_or(Err(AppendError::Closed));
        receipt.map(|receipt| receipt.last_sequence).map_err(|error| append_refusal(&error))
    }
}

/// A refusal says something about the state as well, so it is told when what it was decided on is durable: whoever asks why
/// finds the reason, and a crash cannot take it back.
async fn refused_by_what_lasts<S: Aggregate>(cell: &Cell<S>, refusal: Refusal) -> Refusal {
    let sequence = cell.live.lock().state.as_deref().map_or(0, S::sequence);
    wait_for(cell, sequence).await.err().unwrap_or(refusal)
}
