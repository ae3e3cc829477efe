//! How a session comes into memory: the newest snapshot, then the events behind it, then the repairs a crash asks for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use factum_engine::session::{SessionState, apply, recover};
use factum_engine::{Context, Decision, IndexChange};
use factum_model::id::SessionId;
use factum_model::{Event, NewEvent, Refusal, Trace};
use factum_store::ReadLimit;
use serde::Serialize;

use crate::cell::{Cell, stream_of};
use crate::commit::{Accept, Actor, Pending};
use crate::error::{append_refusal, read_refusal};
use crate::runtime::Runtime;

/// How many events are folded at a time.
const FOLD_PAGE_EVENTS: usize = 1_000;

/// Who repairs a session after a crash.
const RECOVERY: &str = "runtime://recovery";

impl Runtime {
    /// The cell of a session that exists in this account.
    pub(crate) async fn find(&self, account: &Arc<str>, session_id: &SessionId) -> Result<Arc<Cell>, Refusal> {
        let stream = stream_of(account, session_id);
        if let Some(cell) = self.0.sessions.get(&stream) {
            return Ok(cell);
        }
        // Boxed, like `load` below: the rare way must not make the future of every command as large as itself.
        Box::pin(self.find_stored(account, session_id, &stream)).await
    }

    async fn find_stored(
        &self,
        account: &Arc<str>,
        session_id: &SessionId,
        stream: &str,
    ) -> Result<Arc<Cell>, Refusal> {
        let head = self.0.store.head(stream).await.map_err(|error| read_refusal(&error))?;
        let head = head.ok_or_else(Refusal::not_found)?;
        let cell = Cell::new(account.clone(), session_id.clone(), None, self.now());
        let cell = self.0.sessions.get_or_insert(cell);
        cell.hub.set_durable(head.sequence);
        Ok(cell)
    }

    /// Decides on a session that exists and waits until the facts are durable.
    pub(crate) async fn execute<T: Serialize>(
        &self,
        account: &Arc<str>,
        session_id: &SessionId,
        actor: &Actor<'_>,
        accept: &Accept,
        decide: impl FnOnce(&SessionState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<(T, Arc<Vec<Event>>), Refusal> {
        let mut decide = Some(decide);
        loop {
            let cell = self.find(account, session_id).await?;
            self.ensure_loaded(&cell).await?;
            let Some(decide) = self.try_decide(&cell, actor, accept, &mut decide) else { continue };
            return decide?.durable(&cell).await;
        }
    }

    /// Decides if the cell is still the session's and loaded; `None` asks the caller to look it up again.
    fn try_decide<T: Serialize, F>(
        &self,
        cell: &Arc<Cell>,
        actor: &Actor<'_>,
        accept: &Accept,
        decide: &mut Option<F>,
    ) -> Option<Result<Pending<T>, Refusal>>
    where
        F: FnOnce(&SessionState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    {
        let mut live = cell.live.lock();
        if live.retired || live.state.is_none() || cell.broken.load(Ordering::Acquire) {
            return None;
        }
        let decide = decide.take()?;
        Some(self.decide(cell, &mut live, actor, accept, decide))
    }

    /// Looks at a session's state; the answer is given once what it shows is durable.
    pub(crate) async fn look<T>(
        &self,
        account: &Arc<str>,
        session_id: &SessionId,
        look: impl Fn(&SessionState) -> Result<T, Refusal>,
    ) -> Result<(T, Arc<Cell>), Refusal> {
        loop {
            let cell = self.find(account, session_id).await?;
            self.ensure_loaded(&cell).await?;
            let seen = {
                let mut live = cell.live.lock();
                live.used_at = self.now();
                let broken = live.retired || cell.broken.load(Ordering::Acquire);
                live.state.as_deref().filter(|_| !broken).map(|state| (look(state), state.sequence))
            };
            if let Some((seen, sequence)) = seen {
                let seen = seen?;
                crate::commit::wait_for(&cell, sequence).await?;
                return Ok((seen, cell));
            }
        }
    }

    /// Brings the state into memory, once, and carries on what a crash left unfinished.
    pub(crate) async fn ensure_loaded(&self, cell: &Arc<Cell>) -> Result<(), Refusal> {
        if is_ready(cell) {
            return Ok(());
        }
        Box::pin(self.load(cell)).await
    }

    async fn load(&self, cell: &Arc<Cell>) -> Result<(), Refusal> {
        let _guard = cell.loading.lock().await;
        if is_ready(cell) {
            return Ok(());
        }
        if cell.broken.load(Ordering::Acquire) {
            // Nothing new is decided while `broken` is set, so what is in flight runs out.
            cell.hub.wait_until(|| cell.in_flight.load(Ordering::Acquire) == 0).await;
            cell.live.lock().state = None;
            cell.broken.store(false, Ordering::Release);
        }
        let (state, snapshot_sequence) = self.fold(&cell.stream, u64::MAX).await?;
        if state.shell.is_none() {
            self.retire(cell);
            return Err(Refusal::not_found());
        }
        cell.hub.set_durable(state.sequence);
        let unfinished = state.unfinished();
        let repair = {
            let mut live = cell.live.lock();
            live.snapshot_sequence = snapshot_sequence;
            live.state = Some(Box::new(state));
            let actor = Actor { principal: RECOVERY, trace: &Trace::default() };
            unfinished.then(|| self.decide(cell, &mut live, &actor, &Accept::default(), recover))
        };
        if let Some(repair) = repair {
            repair?.durable(cell).await?;
        }
        Ok(())
    }

    /// The state of a stream as of a sequence, and the sequence of the snapshot it was folded from.
    pub(crate) async fn fold(&self, stream: &str, as_of: u64) -> Result<(SessionState, u64), Refusal> {
        let snapshot = self.0.store.snapshot(stream).await.map_err(|error| read_refusal(&error))?;
        // A snapshot of an older version that no longer parses is no loss: the events are.
        let usable = snapshot.filter(|snapshot| snapshot.sequence <= as_of);
        let mut state: SessionState =
            usable.and_then(|snapshot| serde_json::from_slice(&snapshot.bytes).ok()).unwrap_or_default();
        let snapshot_sequence = state.sequence;
        while state.sequence < as_of {
            let from = state.sequence + 1;
            let wanted = usize::try_from(as_of - state.sequence).unwrap_or(usize::MAX).min(FOLD_PAGE_EVENTS);
            let records = self.0.store.read(stream, from, ReadLimit::records(wanted)).await;
            let records = records.map_err(|error| read_refusal(&error))?;
            if records.is_empty() {
                break;
            }
            for record in records {
                let event = Event::decode(&record.bytes)
                    .map_err(|error| Refusal::internal(format!("event {} does not parse: {error}", record.sequence)))?;
                apply(&mut state, &event);
            }
        }
        Ok((state, snapshot_sequence))
    }

    pub(crate) fn retire(&self, cell: &Arc<Cell>) {
        cell.live.lock().retired = true;
        self.0.sessions.remove(cell);
    }

    /// Appends to the runtime's own stream what `build` makes of its current sequence. Nothing to write is fine.
    pub(crate) async fn append_own(
        &self,
        trace: &Trace,
        build: impl FnOnce(u64) -> Result<Vec<NewEvent>, Refusal>,
        index: impl FnOnce(&[Event]) -> Vec<IndexChange>,
    ) -> Result<u64, Refusal> {
        let mut sequence = self.0.own_stream.lock().await;
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
            index: index(&numbered).into_iter().map(crate::commit::to_store).collect(),
        };
        let receipt = factum_store::append_and_wait(&*self.0.store, commit).await;
        let receipt = receipt.map_err(|error| append_refusal(&error))?;
        *sequence = receipt.last_sequence;
        Ok(*sequence)
    }
}

fn is_ready(cell: &Cell) -> bool {
    !cell.broken.load(Ordering::Acquire) && {
        let live = cell.live.lock();
        live.state.is_some() || live.retired
    }
}
